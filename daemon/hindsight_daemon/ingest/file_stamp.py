"""What makes two looks at a transcript differ; what lies beside it and belongs to it counts.

That is a database's write-ahead log, and the messages of a session whose file only names it.
Looks at names and `stat` only.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

_LOG = "-wal"
_DATABASE_SUFFIXES = frozenset((".db", ".vscdb", ".sqlite", ".sqlite3"))


class FileStamp(NamedTuple):
    """State of a file; of several `size` is the sum and `mtime_ns` the latest."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def stamp_of(path: Path) -> FileStamp:
    """Return the state of a transcript now; raises `OSError` if it is not there."""
    info = os.stat(path)  # noqa: PTH116 - one system call, called very often
    stamp = FileStamp(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)
    if path.suffix == ".json" and path.parent.parent.name == "session":
        return _with_messages(stamp, path)
    if path.suffix not in _DATABASE_SUFFIXES:
        return stamp
    try:
        log = os.stat(f"{path}{_LOG}")  # noqa: PTH116
    except OSError:
        return stamp
    # An empty log holds nothing; opening a database to read it may leave one behind.
    if not log.st_size:
        return stamp
    return stamp._replace(
        size=stamp.size + log.st_size, mtime_ns=max(stamp.mtime_ns, log.st_mtime_ns)
    )


def transcript_behind(path: Path) -> Path:
    """Return the file that a change of `path` is about: for a write-ahead log its database."""
    return path.with_name(path.name.removesuffix(_LOG)) if path.name.endswith(_LOG) else path


def _with_messages(stamp: FileStamp, path: Path) -> FileStamp:
    """Let the messages in `storage/message/<session>/` count, and that parts were added.

    A part that is rewritten in its place moves nothing; its message follows when it is done.
    """
    storage = path.parent.parent.parent
    size, latest = stamp.size, stamp.mtime_ns
    try:
        with os.scandir(storage / "message" / path.stem) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                size, latest = size + info.st_size, max(latest, info.st_mtime_ns)
                parts = storage / "part" / entry.name.removesuffix(".json")
                with contextlib.suppress(OSError):
                    latest = max(latest, os.stat(parts).st_mtime_ns)  # noqa: PTH116
    except OSError:
        pass
    return stamp._replace(size=size, mtime_ns=latest)
