"""Checks weight files against their pinned SHA-256, once for each state of a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from hindsight_daemon.errors import EmbedderUnavailable

_LFS_POINTER = b"version https://git-lfs"
_MEMORY = "verified.json"


def is_pinned_file(path: Path) -> bool:
    """Tell whether a file is there and is more than a Git LFS pointer."""
    try:
        if path.stat().st_size < 1024:
            return False
        with path.open("rb") as file:
            return not file.read(len(_LFS_POINTER)).startswith(_LFS_POINTER)
    except OSError:
        return False


def _state(path: Path) -> str:
    info = path.stat()
    return f"{info.st_size}:{info.st_mtime_ns}:{info.st_ino}"


def _known(models_dir: Path) -> dict[str, str]:
    try:
        found = json.loads((models_dir / _MEMORY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def verify_pinned(path: Path, sha256: str, models_dir: Path) -> None:
    """Raise `EmbedderUnavailable` if the file is not the pinned one.

    Hashing 70 MB takes a moment, so the result is remembered with size, time and inode.
    """
    try:
        state = f"{sha256}:{_state(path)}"
        known = _known(models_dir)
        if known.get(str(path)) == state:
            return
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise EmbedderUnavailable(f"cannot read `{path}`: {exc.strerror}") from exc
    if found != sha256:
        raise EmbedderUnavailable(
            f"`{path}` is not the file that was pinned (sha256 {found[:12]}…)",
            hint="reinstall the package that carries it",
        )
    _remember(models_dir, {**known, str(path): state})


def _remember(models_dir: Path, known: dict[str, str]) -> None:
    # Losing this file costs one more hash, so a failure to write it is no failure.
    with contextlib.suppress(OSError):
        models_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = models_dir / f".{_MEMORY}.{os.getpid()}"
        temporary.write_text(json.dumps(known), "utf-8")
        temporary.replace(models_dir / _MEMORY)
