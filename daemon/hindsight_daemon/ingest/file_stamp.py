"""What makes two looks at a transcript differ; a database counts with its write-ahead log.

Looks at names and `stat` only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_LOG = "-wal"
_DATABASE_SUFFIXES = frozenset((".db", ".vscdb", ".sqlite", ".sqlite3"))


class FileStamp(NamedTuple):
    """State of a file; of a database `size` is the sum and `mtime_ns` the later of both files."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def stamp_of(path: Path) -> FileStamp:
    """Return the state of a transcript now; raises `OSError` if it is not there."""
    info = os.stat(path)  # noqa: PTH116 - one system call, called very often
    stamp = FileStamp(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)
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
