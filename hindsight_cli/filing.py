"""Writes files of the user whole or not at all: temporary, fsync, rename, fsync of the folder."""

from __future__ import annotations

import os
from pathlib import Path

from hindsight_cli.documents import InstalledFile
from hindsight_daemon.errors import OutputFailed


def replace_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Put `text` at `path`; an existing file keeps its mode. Raises `OutputFailed`."""
    target = path.resolve() if path.is_symlink() else path
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            mode = target.stat().st_mode & 0o777
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as exc:
        temporary.unlink(missing_ok=True)
        raise OutputFailed(f"cannot write `{path}`: {exc.strerror}") from exc


def install_file(path: Path, text: str, *, dry_run: bool) -> InstalledFile:
    """Write a generated file unless it is there already; says what was, or would be, done."""
    try:
        same = path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        same = False
    if same:
        return InstalledFile(path=str(path), state="unchanged")
    if dry_run:
        return InstalledFile(path=str(path), state="planned")
    replace_file(path, text, 0o644)
    return InstalledFile(path=str(path), state="written")
