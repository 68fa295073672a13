"""Whether tables and catalog agree, by reading every id; and how they are made to.

The catalog is the truth about which memories exist, for it was synced before anybody was told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import Table
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import StoreProblem

_CATALOGS = {Table.MEMORIES: "memory", Table.KEYS: "key"}
_EXAMPLES = 3
_WAITS = (
    "SELECT 1 FROM outbox WHERE tbl = ?1 AND id = ?2"
    " AND seq > COALESCE((SELECT seq FROM fold_mark WHERE tbl = ?1), 0) LIMIT 1"
)
"""Whether a row waits to be folded. A commit is in the catalog a moment before the overlay shows
it; whoever looks in that moment would take the row for lost."""


class Difference(msgspec.Struct, frozen=True):
    """Ids that the table lacks, that it should not hold, and that it holds twice."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()


async def compare(table: Table, journal: Journal, lance: Lance, overlay: Overlay) -> Difference:
    """Read all ids of a table; those with a change still in the overlay are not judged.

    Tables without a catalog are read as well, for damage only shows when rows are read.
    """
    catalog = _CATALOGS.get(table)
    before = {row[0] for row in journal.read(f"SELECT id FROM {catalog}")} if catalog else set()
    stored: set[str] = set()
    doubled: list[str] = []
    async for batch in lance.batches(table, ["id"]):
        if catalog:
            for row_id in batch.column("id").to_pylist():
                if row_id in stored:
                    doubled.append(row_id)
                stored.add(row_id)
    if not catalog:
        return Difference()
    # What was written or removed while we read is in neither or both of the two looks.
    after = {row[0] for row in journal.read(f"SELECT id FROM {catalog}")}
    missing = [i for i in (before & after) - stored if overlay.row(table, i) is None]
    extra = [i for i in stored - before - after if overlay.row(table, i) is None]
    return Difference(tuple(sorted(missing)), tuple(sorted(extra)), tuple(sorted(doubled)))


async def differences(
    table: Table, journal: Journal, lance: Lance, overlay: Overlay
) -> list[StoreProblem]:
    """Return what is wrong with a table's rows without touching them."""
    found = await compare(table, journal, lance, overlay)
    missing = [i for i in found.missing if not journal.read(_WAITS, int(table), i)]
    return [
        _problem(table, ids, what, "error")
        for ids, what in (
            (missing, "are missing from the table"),
            (found.extra, "should be gone from the table"),
            (found.doubled, "occur more than once"),
        )
        if ids
    ]


async def reconcile(
    table: Table, journal: Journal, lance: Lance, overlay: Overlay
) -> list[StoreProblem]:
    """Remove rows that should be gone, and catalog entries whose rows are lost.

    Must run inside the writer task, with nothing pending.
    """
    found = await compare(table, journal, lance, overlay)
    problems: list[StoreProblem] = []
    if found.extra:
        await lance.write(table, remove=found.extra)
        await lance.sync(table)
        problems.append(_problem(table, found.extra, "were removed once more", "repaired"))
    if found.missing:
        lost = await journal.run(lambda db: _drop_lost(db, table, found.missing))
        if lost:
            problems.append(_problem(table, lost, "are lost", "error"))
    if found.doubled:
        problems.append(_problem(table, found.doubled, "occur more than once", "error"))
    return problems


def _drop_lost(db: sqlite3.Connection, table: Table, ids: Sequence[str]) -> list[str]:
    """Take ids without a row out of the catalog, but for those that only wait to be folded."""
    # Inside a transaction of the writer, so that no commit comes between look and deed.
    lost = [i for i in ids if not db.execute(_WAITS, (int(table), i)).fetchone()]
    db.executemany(f"DELETE FROM {_CATALOGS[table]} WHERE id = ?", ((i,) for i in lost))
    return lost


def _problem(table: Table, ids: Sequence[str], what: str, severity: str) -> StoreProblem:
    examples = ", ".join(ids[:_EXAMPLES])
    text = f"{len(ids)} rows {what}, such as {examples}"
    return msgspec.convert(
        {"where": table.label, "what": text, "severity": severity}, type=StoreProblem
    )
