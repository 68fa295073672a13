"""Read access to the live SQLite database of another program, without ever hindering it.

Opened read-only as it lies there, so that its write-ahead log is seen; never as immutable, never
a copy, and no statement stays open between two calls. The one place that turns errors of SQLite
into ours.

Trade-off: reading a database in WAL mode that nobody has open leaves an empty log and its index
beside it. SQLite allows no other way without `immutable`; the next writer clears them away.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Any

from hindsight_daemon.errors import BadInput, Busy, HindsightError, PermissionProblem
from hindsight_daemon.ingest.reader import MAX_DOCUMENT_BYTES
from hindsight_daemon.sources.port import DATABASE_HEAD, SqlValue

BUSY_TIMEOUT_S = 2.0
QUERY_TIMEOUT_S = 30.0
_STEPS_BETWEEN_LOOKS = 100_000
_MAX_TABLES = 200
_PRIMARY_CODE = 0xFF
_LOCKED = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


class OpenDatabase:
    """A database open for reading (a `Tables`); use as a context manager.

    `lost_rows` counts the rows that `row` could not give. A `connection` that is given instead
    is closed with it. Raises as `Tables` says, on opening
    also `PermissionProblem`.
    """

    def __init__(
        self,
        path: Path,
        label: str,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        connection: sqlite3.Connection | None = None,
    ) -> None:
        self.label = label
        self.lost_rows = 0
        self._columns: dict[str, frozenset[str]] = {}
        self._deadline = 0.0
        try:
            self._connection = connection or sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as exc:
            raise self._translated(exc) from exc
        self._connection.text_factory = _decoded
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DOCUMENT_BYTES)
        self._connection.set_progress_handler(self._is_late, _STEPS_BETWEEN_LOOKS)
        try:
            # Neither may what the schema of a stranger's file calls have effects.
            self.rows("PRAGMA trusted_schema = OFF")
            self.rows("PRAGMA query_only = ON")
        except HindsightError:
            self._connection.close()
            raise

    def __enter__(self) -> OpenDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def head(self) -> str:
        """Describe the tables, for `Source.score`."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT ?"
        tables = [str(name) for (name,) in self.rows(query, _MAX_TABLES)]
        lines = [f"{table}: {' '.join(sorted(self.columns(table)))}\n" for table in tables]
        return DATABASE_HEAD + "".join(lines)

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns, none if there is no such table."""
        if table not in self._columns:
            found = self.rows("SELECT name FROM pragma_table_info(?)", table)
            self._columns[table] = frozenset(str(name) for (name,) in found)
        return self._columns[table]

    def rows(self, query: str, *values: SqlValue) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        try:
            return self._fetch(query, values)
        except (sqlite3.Error, UnicodeError) as exc:
            raise self._translated(exc) from exc

    def row(self, query: str, *values: SqlValue) -> tuple[Any, ...] | None:
        """Return the first row; one that is damaged or too big is counted and counts as absent."""
        try:
            found = self._fetch(query, values)
        except (sqlite3.Error, UnicodeError) as exc:
            if _is_locked(exc):
                raise self._translated(exc) from exc
            self.lost_rows += 1
            return None
        return found[0] if found else None

    def _fetch(self, query: str, values: tuple[SqlValue, ...]) -> list[tuple[Any, ...]]:
        self._deadline = time.monotonic() + QUERY_TIMEOUT_S
        return self._connection.execute(query, values).fetchall()

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _translated(self, exc: Exception) -> HindsightError:
        if _is_locked(exc):
            return Busy(
                f"`{self.label}` is locked by the program that writes it",
                hint="try again when the agent is idle",
            )
        if _code(exc) == sqlite3.SQLITE_CANTOPEN:
            return PermissionProblem(
                f"database `{self.label}` cannot be opened for reading",
                hint="its folder has to be writable for SQLite's shared memory, or copy it to one",
            )
        return BadInput(f"`{self.label}` is a SQLite database that cannot be read: {exc}")


def _code(exc: Exception) -> int:
    code = getattr(exc, "sqlite_errorcode", None)
    return code & _PRIMARY_CODE if isinstance(code, int) else -1


def _is_locked(exc: Exception) -> bool:
    return _code(exc) in _LOCKED


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
