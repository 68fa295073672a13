"""Writes that wait for a daemon: one file each, durable before the command says so.

Public. The name orders the files by time and is the request key, so that a write which was
carried out just before a crash is not carried out twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hindsight_daemon.clock import new_id
from hindsight_daemon.errors import OutputFailed
from hindsight_daemon.paths import Paths, ensure_private_dir

_SUFFIX = ".call.json"


class SpooledCall(Struct):
    """A method with its parameters, to be carried out later."""

    method: str
    params: dict[str, Any]
    client: str = "spool"


def put(paths: Paths, call: SpooledCall, at: datetime) -> str:
    """Keep a call for the next daemon; returns its request key."""
    ensure_private_dir(paths.state_dir)
    folder = ensure_private_dir(paths.spool_dir)
    key = new_id(at)
    call.params["request_key"] = key
    temporary, final = folder / f"{key}.tmp", folder / f"{key}{_SUFFIX}"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(call))
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(final)
        _sync_folder(folder)
    except OSError as exc:
        temporary.unlink(missing_ok=True)
        raise OutputFailed(f"cannot keep the write in `{folder}`: {exc.strerror}") from exc
    return key


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def waiting(paths: Paths) -> Iterator[tuple[Path, SpooledCall | None]]:
    """Yield spooled calls oldest first; None for a file that cannot be read as one."""
    try:
        files = sorted(paths.spool_dir.glob(f"*{_SUFFIX}"))
    except OSError:
        return
    for file in files:
        try:
            yield file, msgspec.json.decode(file.read_bytes(), type=SpooledCall)
        except (OSError, msgspec.MsgspecError):
            yield file, None


def set_aside(file: Path) -> None:
    """Keep a call that cannot be carried out, out of the way and under another name."""
    file.rename(file.with_suffix(".failed"))
