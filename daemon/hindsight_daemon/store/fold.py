"""The writer task: moves committed rows from the journal into the LanceDB tables.

The only place that writes tables, so commits, compaction and index builds never conflict. A
failure is counted and retried with growing pauses; the rows stay readable in the overlay.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.store.fold_plan import plan_fold
from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import OutboxRow, Table
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import StoreProblem
from hindsight_daemon.store.reconcile import reconcile
from hindsight_daemon.store.upkeep import Upkeep

log = logging.getLogger(__name__)

INTERVAL_S = 0.3
ROWS_AT_ONCE = 64
PAUSE_PER_ROUND = 4.0
"""Rounds of a lasting burst take a fifth of the time: fewer, larger ones cost less together."""
PAUSE_LIMIT_S = 3.0
ROUND_ROWS = 4_000
ROUND_BYTES = 12 * 1024 * 1024
KEPT_ROWS = 2_000
"""Folded rows that stay in the journal, to replay if the newest table version is lost."""
FAILURES_BEFORE_SIFTING = 2
_BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 15.0, 60.0)


class Folder:
    """Folds the overlay into the tables, by itself once `start`ed or on `flush`."""

    def __init__(
        self,
        journal: Journal,
        lance: Lance,
        overlay: Overlay,
        upkeep: Upkeep,
        replay_through: dict[Table, int],
    ) -> None:
        self._journal = journal
        self._lance = lance
        self._overlay = overlay
        self._upkeep = upkeep
        self._replay_through = replay_through
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._full = asyncio.Event()
        self._urgent = asyncio.Event()
        self._drained = asyncio.Event()
        self._round_starts: deque[int] = deque(maxlen=2)
        self._task: asyncio.Task[None] | None = None
        self.rounds = 0
        self.failures = 0
        self.last_failure = ""
        self._failures_in_row = 0
        self.left_out: list[StoreProblem] = []

    def start(self) -> None:
        """Start the writer task."""
        self._task = asyncio.create_task(self._loop(), name="store-fold")
        if self._overlay.pending():
            self.notify()

    def notify(self) -> None:
        """Say that there are new rows in the overlay."""
        self._wake.set()
        if self._overlay.pending() >= ROWS_AT_ONCE:
            self._full.set()

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed."""
        return self._failures_in_row > 0

    async def drained(self) -> None:
        """Wait until the next round has ended, well or not."""
        self._drained.clear()
        self._urgent.set()
        self.notify()
        await self._drained.wait()

    async def flush(self) -> None:
        """Fold everything that is pending now; raises the first failure."""
        async with self._lock:
            await self._fold_all()

    async def _fold_all(self) -> None:
        while self._overlay.pending():
            try:
                await self._round()
            except HindsightError as exc:
                self._note_failure(exc)
                raise

    async def maintain(self, *, force: bool) -> bool:
        """Look at all tables and do what the policy says; return whether anything was done."""
        async with self._lock:
            return await self._upkeep.run(force=force)

    async def reconcile(self) -> list[StoreProblem]:
        """Bring tables and catalog together if they differ; nothing is folded meanwhile."""
        async with self._lock:
            await self._fold_all()
            problems: list[StoreProblem] = []
            for table in Table:
                problems += await reconcile(table, self._journal, self._lance, self._overlay)
            return problems

    async def stop(self) -> None:
        """End the writer task after a last try to fold what is pending."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        with contextlib.suppress(HindsightError):  # the next open replays what stays in the journal
            await self.flush()

    async def _loop(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time() - INTERVAL_S
        pause_s = INTERVAL_S
        while True:
            await self._wait_for_work()
            # A burst is folded at once, single writes wait for company; one round an interval.
            if not self._full.is_set():
                await _wait(self._full, INTERVAL_S)
            if (rest := pause_s - (loop.time() - last)) > 0:
                await _wait(self._urgent, rest)
            self._urgent.clear()
            self._wake.clear()
            self._full.clear()
            async with self._lock:
                started = loop.time()
                await self._try(self._round)
                await self._upkeep_if_due()
            last = loop.time()
            pause_s = min(PAUSE_LIMIT_S, max(INTERVAL_S, PAUSE_PER_ROUND * (last - started)))
            if self._failures_in_row:
                await asyncio.sleep(_BACKOFF_S[min(self._failures_in_row, len(_BACKOFF_S)) - 1])
                self._wake.set()
            elif self._overlay.pending():
                self.notify()

    async def _wait_for_work(self) -> None:
        while not self._wake.is_set():
            if not await _wait(self._wake, self._upkeep.idle_wait_s()):
                async with self._lock:
                    await self._upkeep_if_due()

    async def _upkeep_if_due(self) -> None:
        if self._upkeep.is_due():
            try:
                await self._upkeep.run(force=False)
            except HindsightError as exc:
                self._note_failure(exc, is_fold=False)

    async def _try(self, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
        except HindsightError as exc:
            self._note_failure(exc)
        finally:
            self._drained.set()

    def _note_failure(self, exc: HindsightError, *, is_fold: bool = True) -> None:
        self.failures += 1
        if is_fold:
            self._failures_in_row += 1
        self.last_failure = exc.message
        log.warning("fold failed: %s", exc.message)

    async def _round(self) -> None:
        # A table operation goes on in its thread when its task is cancelled, and the fold at
        # closing would meet it and write the same rows again; so a round is ended, never cut.
        round_ = asyncio.ensure_future(self._fold_tables())
        try:
            await asyncio.shield(round_)
        except asyncio.CancelledError:
            await asyncio.wait([round_])
            raise

    async def _fold_tables(self) -> None:
        marks: dict[Table, int] = {}
        starts: list[int] = []
        failure: HindsightError | None = None
        for table in Table:
            rows = self._overlay.first(table, ROUND_ROWS, ROUND_BYTES)
            if not rows:
                continue
            try:
                marks[table] = await self._fold(table, rows)
                starts.append(rows[0].seq)
            except HindsightError as exc:  # the other tables need not wait for this one
                failure = failure or exc
        if marks:
            await self._mark(marks, min(starts))
        if failure is not None:
            raise failure
        self._failures_in_row = 0

    async def _fold(self, table: Table, rows: list[OutboxRow]) -> int:
        """Write the first of a table's pending rows; return the number of the last of them."""
        done = self._replay_through.get(table, 0)
        is_replay = rows[0].seq <= done
        if is_replay:
            rows = [row for row in rows if row.seq <= done]
        through = rows[-1].seq
        if self._failures_in_row >= FAILURES_BEFORE_SIFTING:
            rows = await self._sifted(table, rows)
        if rows:
            plan = plan_fold(rows, is_replay=is_replay)
            # Whatever goes wrong from here on, the table may hold some of these rows.
            self._replay_through[table] = max(through, done)
            await self._lance.write(table, add=plan.add, upsert=plan.upsert, remove=plan.remove)
            await self._lance.sync(table)
            self._upkeep.note_fold(table)
        return through

    async def _sifted(self, table: Table, rows: list[OutboxRow]) -> list[OutboxRow]:
        # A row with a value of the wrong type must not keep all others out for ever.
        bad = await self._lance.unfoldable(table, rows)
        for row in rows:
            if row.seq in bad:
                what = f"row `{row.id}` cannot be stored and was left out: {bad[row.seq]}"
                log.error("%s: %s", table.label, what)
                self.left_out.append(StoreProblem(where=table.label, what=what, severity="error"))
        return [row for row in rows if row.seq not in bad]

    async def _mark(self, marks: dict[Table, int], start: int) -> None:
        self.rounds += 1
        self._round_starts.append(start)
        waiting = [self._overlay.oldest(table) for table in Table if table not in marks]
        floor = min(*marks.values(), *self._round_starts, *(seq - 1 for seq in waiting if seq))
        floor -= KEPT_ROWS

        def job(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO fold_mark VALUES (?, ?)", marks.items())
            db.execute("DELETE FROM outbox WHERE seq <= ?", (floor,))

        def then(_: None) -> None:
            for table, seq in marks.items():
                self._overlay.drop_through(table, seq)

        await self._journal.run(job, then)


async def _wait(event: asyncio.Event, timeout_s: float | None) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return False
    return True
