"""Counts and self-checks of an open store: what `stats` and `check` answer.

Reads only. Counting runs in a worker thread on a connection of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.store.failures import storage_errors
from hindsight_daemon.store.journal import Journal, connect
from hindsight_daemon.store.journal_read import CatalogCounts, count_catalog
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import Table
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import StoreProblem, StoreStats, TableStats
from hindsight_daemon.store.reconcile import differences
from hindsight_daemon.store.selfcheck import find_bad_manifests
from hindsight_daemon.store.sweep import folder_bytes

if TYPE_CHECKING:
    from hindsight_daemon.store.fold import Folder
    from hindsight_daemon.store.upkeep import Upkeep


class StoreHealth:
    """Looks at a store from the outside."""

    def __init__(
        self, uri: str, local: Path | None, journal: Journal, lance: Lance, overlay: Overlay
    ) -> None:
        self._uri = uri
        self._local = local
        self._journal = journal
        self._lance = lance
        self._overlay = overlay
        self._counts: tuple[int, CatalogCounts] | None = None

    async def stats(self, folder: Folder, upkeep: Upkeep) -> StoreStats:
        """Return counts and health; a catalog that did not change is not counted again."""
        counts = await self._count()
        tables: dict[str, TableStats] = {}
        for table in Table:
            rows, fragments = await self._lance.shape(table)
            size, versions = await asyncio.to_thread(self._disk, table)
            tables[table.label] = TableStats(
                rows=rows, fragments=fragments, versions=versions, size_bytes=size
            )
        journal_bytes = await asyncio.to_thread(self._journal_bytes)
        return StoreStats(
            uri=self._uri,
            size_bytes=journal_bytes + sum(table.size_bytes for table in tables.values()),
            tables=tables,
            pending_fold=self._overlay.pending(),
            pending_vectors=counts.embedders.get("", 0),
            memories_by=counts.memories_by,
            events=sum(counts.sources.values()),
            sessions=counts.sessions,
            tombstones=counts.tombstones,
            held=counts.held,
            sources=counts.sources,
            maintenance_runs=upkeep.runs,
            maintenance_failures=upkeep.failures + folder.failures,
            last_failure=upkeep.last_failure or folder.last_failure,
            embedders={name: n for name, n in counts.embedders.items() if name},
        )

    async def _count(self) -> CatalogCounts:
        # Changes whenever another connection, the writer's, has committed.
        version = int(self._journal.read("PRAGMA data_version")[0][0])
        if self._counts is None or self._counts[0] != version:
            self._counts = (version, await asyncio.to_thread(self._count_now))
        return self._counts[1]

    def _count_now(self) -> CatalogCounts:
        with (
            storage_errors(f"journal `{self._journal.path}`"),
            contextlib.closing(connect(self._journal.path, read_only=True)) as connection,
        ):
            return count_catalog(connection)

    def _disk(self, table: Table) -> tuple[int, int]:
        return (0, 0) if self._local is None else folder_bytes(self._lance.folder(table))

    def _journal_bytes(self) -> int:
        path = self._journal.path
        sides = (path, path.with_name(path.name + "-wal"))
        return sum(side.stat().st_size for side in sides if side.exists())

    async def check(self) -> list[StoreProblem]:
        """Read every id of every table and compare with the catalog."""
        problems: list[StoreProblem] = []
        for table in Table:
            if self._local is not None:
                problems += await asyncio.to_thread(find_bad_manifests, self._lance.folder(table))
            try:
                problems += await differences(table, self._journal, self._lance, self._overlay)
            except HindsightError as exc:
                problems.append(StoreProblem(where=table.label, what=exc.message, severity="error"))
        problems += await asyncio.to_thread(self._check_journal)
        return problems

    def _check_journal(self) -> list[StoreProblem]:
        with (
            storage_errors(f"journal `{self._journal.path}`"),
            contextlib.closing(connect(self._journal.path, read_only=True)) as connection,
        ):
            said = connection.execute("PRAGMA quick_check(3)").fetchall()
        return [
            StoreProblem(where="journal", what=str(row[0]), severity="error")
            for row in said
            if row[0] != "ok"
        ]
