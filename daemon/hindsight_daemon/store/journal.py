"""The SQLite file that every write reaches first, and the one thread that writes it.

Owns connections, group commit and the file's modes; what is written is `journal_write`'s, what is
read `journal_read`'s. Everything queued while a commit runs goes into the next transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hindsight_daemon.errors import HindsightError, StorageFailed, StoreCorrupt
from hindsight_daemon.store.failures import storage_errors, translated
from hindsight_daemon.store.journal_schema import check_version, migrate

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
Then = Callable[[Any], None]

_CACHE_KIB = 32 * 1024
_GROUP_LIMIT = 512
_BUSY_TIMEOUT_S = 5.0


class _Pending:
    """A queued job with what to do on the event loop once it is durable."""

    __slots__ = ("future", "job", "loop", "then")

    def __init__(self, job: Job, then: Then | None) -> None:
        self.job = job
        self.then = then
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open the journal file with the settings that durability needs; autocommit mode."""
    if read_only:
        # Without its side files a WAL database that nobody else has open is a plain file.
        alone = not path.with_name(path.name + "-wal").exists()
        mode = "immutable=1" if alone and not os.access(path.parent, os.W_OK) else "mode=ro"
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only = ON")
        return connection
    connection = sqlite3.connect(
        path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return connection


class Journal:
    """The open journal: `run` writes on the writer thread, `read` answers on the calling thread."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._queue: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._writer: sqlite3.Connection | None = None
        self._closed = False
        self.was_closed = False
        """Whether the process that had it open before closed it."""
        with storage_errors(f"journal `{path}`"):
            if read_only:
                self.reader = connect(path, read_only=True)
                check_version(self.reader, str(path))
                return
            self._create_private(path)
            self._writer = connect(path, read_only=False)
            try:
                migrate(self._writer, str(path))
                self._check_after_crash(self._writer)
                self.reader = connect(path, read_only=False)
                self.reader.execute("PRAGMA query_only = ON")
            except BaseException:
                self._writer.close()
                raise
        self._thread = threading.Thread(target=self._write_loop, name="journal", daemon=True)
        self._thread.start()

    def _check_after_crash(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("DELETE FROM note WHERE name = 'closed'").rowcount
        self.was_closed = found > 0
        if not self.was_closed:
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if said != "ok":
                raise StoreCorrupt(f"journal is damaged: {said.splitlines()[-1]}")

    @staticmethod
    def _create_private(path: Path) -> None:
        # SQLite gives its side files the mode of the database.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    async def run(self, job: Callable[[sqlite3.Connection], T], then: Then | None = None) -> T:
        """Run `job` inside a durable transaction and return what it returned.

        `then` is called with that result on the event loop, in commit order, before anybody who
        waits is woken; it is called even if the caller was cancelled meanwhile.
        """
        if self._closed or self._thread is None:
            raise StorageFailed("the store is closed or open for reading only")
        pending = _Pending(job, then)
        self._queue.put(pending)
        result: T = await pending.future
        return result

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query; meant for look-ups of microseconds."""
        with storage_errors("journal"):
            return self.reader.execute(sql, values).fetchall()

    def close(self) -> None:
        """Finish what is queued, then release the file."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self.reader.close()
        if self._writer is not None:
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("INSERT OR REPLACE INTO note VALUES ('closed', '1')")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._writer.close()

    def _write_loop(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            group, stop = [first], False
            while len(group) < _GROUP_LIMIT:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    stop = True
                    break
                group.append(more)
            self._commit_group(group)
            if stop:
                return

    def _commit_group(self, group: list[_Pending]) -> None:
        outcomes: list[tuple[_Pending, Any, HindsightError | None]] = []
        assert self._writer is not None
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for pending in group:
                outcomes.append(self._run_one(self._writer, pending))
            self._writer.execute("COMMIT")
        except (sqlite3.Error, OSError) as exc:
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
            error = translated(exc, f"journal `{self.path}`")
            outcomes = [(pending, None, error) for pending in group]
        for loop in {pending.loop for pending in group}:
            mine = [outcome for outcome in outcomes if outcome[0].loop is loop]
            with contextlib.suppress(RuntimeError):  # the loop is closed, nobody waits any more
                loop.call_soon_threadsafe(_deliver, mine)

    @staticmethod
    def _run_one(
        connection: sqlite3.Connection, pending: _Pending
    ) -> tuple[_Pending, Any, HindsightError | None]:
        # A batch that cannot be written must not take its neighbours in the transaction down.
        connection.execute("SAVEPOINT one")
        try:
            result = pending.job(connection)
        except (HindsightError, UnicodeEncodeError, ValueError, TypeError) as exc:
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            error = translated(exc, "journal")
            error.__cause__ = exc
            return pending, None, error
        connection.execute("RELEASE one")
        return pending, result, None


def _deliver(outcomes: list[tuple[_Pending, Any, HindsightError | None]]) -> None:
    for pending, result, error in outcomes:
        if error is None and pending.then is not None:
            pending.then(result)
    for pending, result, error in outcomes:
        if pending.future.done():
            continue
        if error is not None:
            pending.future.set_exception(error)
        else:
            pending.future.set_result(result)
