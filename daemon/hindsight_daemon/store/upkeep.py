"""Maintenance carried out: gathers statistics, asks the policy, does the chores, counts failures.

Runs inside the writer task only.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from datetime import timedelta

from hindsight_daemon.clock import Clock
from hindsight_daemon.errors import DiskFull, HindsightError
from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.maintenance import (
    IDLE_S,
    KEEP_VERSIONS_WASTEFUL,
    Chore,
    TableHealth,
    decide,
)
from hindsight_daemon.store.outbox import Table, micros
from hindsight_daemon.store.schema import BITMAP, BTREE, FULL_TEXT, vector_column
from hindsight_daemon.store.sweep import folder_bytes

log = logging.getLogger(__name__)

FOLDS_BETWEEN_LOOKS = 12
LEFTOVERS_WAIT_S = 1.25 * KEEP_VERSIONS_WASTEFUL.total_seconds()
REQUESTS_KEPT = timedelta(days=7)
RECALLS_KEPT = timedelta(days=90)


class Upkeep:
    """Keeps the tables fast and small."""

    def __init__(self, journal: Journal, lance: Lance, clock: Clock) -> None:
        self._journal = journal
        self._lance = lance
        self._clock = clock
        self._folds: dict[Table, int] = {}
        self._folds_since_look = 0
        self._last_fold = time.monotonic()
        self._compacted: dict[Table, float] = {}
        self._leftovers: dict[Table, float] = {}
        self._failed: dict[Table, int] = {}
        self.runs = 0
        self.failures = 0
        self.last_failure = ""

    def note_fold(self, table: Table) -> None:
        """Count a commit to a table."""
        self._folds[table] = self._folds.get(table, 0) + 1
        self._folds_since_look += 1
        self._last_fold = time.monotonic()

    def is_due(self) -> bool:
        """Tell whether it is time to look at the tables."""
        wait_s = self.idle_wait_s()
        return wait_s == 0.0 or self._folds_since_look >= FOLDS_BETWEEN_LOOKS

    def idle_wait_s(self) -> float | None:
        """Return after how much silence to look, None if there is nothing to look at."""
        moments = [self._last_fold + IDLE_S] if self._folds_since_look else []
        moments += list(self._leftovers.values())
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    async def run(self, *, force: bool) -> bool:
        """Do what the policy says; a failed chore is counted and does not stop the others."""
        self._folds_since_look = 0
        now = time.monotonic()
        late = {table for table, due in self._leftovers.items() if due <= now}
        for table in late:
            del self._leftovers[table]
        idle_s = time.monotonic() - self._last_fold
        health = [await self._health(table, has_leftovers=table in late) for table in Table]
        chores = decide(health, idle_s=idle_s, force=force)
        for chore in chores:
            await self._do(chore)
        if force or idle_s >= IDLE_S:
            await self._prune_journal()
        return bool(chores)

    async def _do(self, chore: Chore) -> None:
        table = Table[chore.table.upper()]
        log.info("%s %s %s: %s", chore.do, chore.table, chore.column, chore.why)
        try:
            if chore.do == "compact":
                await self._lance.optimize(table, chore.keep_versions_for)
                self._compacted[table] = time.monotonic()
                if self._folds.pop(table, 0):
                    self._leftovers[table] = self._compacted[table] + LEFTOVERS_WAIT_S
            else:
                await self._lance.create_index(table, chore.column)
                if chore.column.startswith("vector_"):
                    await self._note_training(chore.column)
            await self._lance.sync(table)
        except HindsightError as exc:
            self.failures += 1
            # Without room nothing can be rebuilt, so a full disk does not count towards that.
            if not isinstance(exc, DiskFull):
                self._failed[table] = self._failed.get(table, 0) + 1
            self.last_failure = exc.message
            log.warning("%s", exc.message)
            return
        self.runs += 1
        if chore.do == "compact":
            self._failed.pop(table, None)

    async def _health(self, table: Table, *, has_leftovers: bool) -> TableHealth:
        rows, fragments = await self._lance.shape(table)
        indices = await self._lance.indices(table)
        live, disk = rows, 0
        if self._lance.is_local:
            live = await self._lance.live_bytes(table)
            disk, _ = await asyncio.to_thread(folder_bytes, self._lance.folder(table))
        wanted = [*BTREE[table], *BITMAP[table], *([FULL_TEXT] if table is Table.KEYS else [])]
        now = time.monotonic()
        return TableHealth(
            table=table.label,
            rows=rows,
            fragments=fragments,
            folds=self._folds.get(table, 0),
            wanted=tuple(wanted),
            indexed=tuple(index.column for index in indices),
            unindexed_rows=max((index.unindexed for index in indices), default=0),
            vectors=self._vectors() if table is Table.KEYS else {},
            trained=self._trained() if table is Table.KEYS else {},
            live_bytes=live,
            disk_bytes=disk,
            since_compaction_s=now - self._compacted.get(table, float("-inf")),
            has_leftovers=has_leftovers,
            failures=self._failed.get(table, 0),
        )

    def _vectors(self) -> dict[str, int]:
        present = set(self._lance.vector_columns())
        rows = self._journal.read("SELECT embedder, COUNT(*) FROM key GROUP BY 1")
        counts = {vector_column(name): int(n) for name, n in rows if name}
        return {column: n for column, n in counts.items() if column in present}

    def _trained(self) -> dict[str, int]:
        rows = self._journal.read("SELECT name, value FROM note WHERE name >= 'trained:'")
        return {
            name.removeprefix("trained:"): int(value)
            for name, value in rows
            if name.startswith("trained:")
        }

    async def _note_training(self, column: str) -> None:
        note = (f"trained:{column}", str(self._vectors().get(column, 0)))
        await self._journal.run(
            lambda db: db.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", note).rowcount
        )

    async def _prune_journal(self) -> None:
        now = self._clock.now()

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM request WHERE at < ?", (micros(now - REQUESTS_KEPT),))
            db.execute("DELETE FROM recall WHERE at < ?", (micros(now - RECALLS_KEPT),))

        await self._journal.run(job)
