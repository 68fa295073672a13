"""The one seam where errors of SQLite, LanceDB and the file system become ours.

Used by the modules of this package only; imports no engine.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from hindsight_daemon.errors import BadInput, DiskFull, HindsightError, StorageFailed, StoreCorrupt

_NO_SPACE_WORDS = ("no space left on device", "disk is full", "disk full", "os error 28", "quota")
_CORRUPT_WORDS = ("malformed", "not a database", "file is encrypted", "disk image")


def is_no_space(exc: BaseException) -> bool:
    """Tell whether an exception, or one that caused it, means that the disk is full."""
    seen: BaseException | None = exc
    while seen is not None:
        if isinstance(seen, DiskFull):
            return True
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if getattr(seen, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        if any(word in str(seen).lower() for word in _NO_SPACE_WORDS):
            return True
        seen = seen.__cause__
    return False


def is_corrupt(exc: sqlite3.Error) -> bool:
    """Tell whether SQLite says that the file itself is damaged."""
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return True
    return any(word in str(exc).lower() for word in _CORRUPT_WORDS)


def translated(exc: BaseException, what: str) -> HindsightError:
    """Return our error for one of SQLite, LanceDB or the operating system.

    `what` names the thing and the deed, such as "journal commit".
    """
    if isinstance(exc, HindsightError):
        return exc
    if is_no_space(exc):
        return DiskFull(f"{what}: no space left on the disk")
    if isinstance(exc, sqlite3.DatabaseError) and is_corrupt(exc):
        return StoreCorrupt(f"{what}: {_first_line(exc)}")
    if isinstance(exc, UnicodeEncodeError):
        return BadInput(f"{what}: text holds a lone surrogate, which is not valid Unicode")
    return StorageFailed(f"{what}: {_first_line(exc)}")


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Translate what SQLite and the file system raise inside the block."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeEncodeError) as exc:
        raise translated(exc, what) from exc


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Translate what LanceDB and Arrow raise inside the block, panics of the engine included."""
    try:
        yield
    except (RuntimeError, ValueError, OSError, KeyError, TypeError, NotImplementedError) as exc:
        raise translated(exc, what) from exc
    except BaseException as exc:
        # A panic in Rust reaches us as a class that pyo3 does not export; it is an engine failure
        # like others (FTS merges have panicked), and must not end the daemon.
        if type(exc).__name__ != "PanicException":
            raise
        raise StorageFailed(f"{what}: the engine panicked: {_first_line(exc)}") from exc


def _first_line(exc: BaseException) -> str:
    text = str(exc).strip().splitlines()
    return f"{text[0][:300]}" if text else type(exc).__name__
