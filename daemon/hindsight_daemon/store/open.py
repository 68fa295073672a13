"""Opens the store: checks and repairs what a crash may have left, then puts the parts together."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hindsight_daemon.clock import Clock
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.errors import NotFound, StorageFailed, StoreCorrupt
from hindsight_daemon.paths import Paths, ensure_private_dir
from hindsight_daemon.store.bm25 import TermStatistics
from hindsight_daemon.store.failures import storage_errors
from hindsight_daemon.store.journal import Journal, connect
from hindsight_daemon.store.journal_read import JournalReads
from hindsight_daemon.store.outbox import OutboxRow, Table, decode_row
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import Store, StoreProblem
from hindsight_daemon.store.selfcheck import find_bad_manifests, repair_manifests, set_aside

if TYPE_CHECKING:
    from hindsight_daemon.store.lance import Lance

_CATALOG_NOTE = "catalog"


def local_folder(uri: str) -> Path | None:
    """Return the folder of a store location, or None for one that is remote."""
    return None if "://" in uri else Path(uri).expanduser().absolute()


async def open_store(
    paths: Paths, settings: StoreSettings, clock: Clock, *, read_only: bool = False
) -> Store:
    """Open the store of this installation, creating it unless `read_only`.

    The caller holds the daemon's lock, except for `read_only`, which works beside a daemon that
    hangs. Loads the engine in a worker thread, which takes seconds the first time. Raises
    `StoreTooNew`, `StorageFailed`; damage is repaired where it can be and told by `check`.
    """
    uri = settings.uri or str(paths.store_dir)
    local = local_folder(uri)
    stamp = clock.now().strftime("%Y%m%dT%H%M%SZ")
    problems: list[StoreProblem] = []
    if read_only and not paths.journal_file.exists():
        raise NotFound("there is no store yet", hint="`hindsight remember` or `ingest` creates it")
    if not read_only:
        ensure_private_dir(paths.data_dir)
        if local is not None:
            ensure_private_dir(local)
    journal, damaged = await asyncio.to_thread(
        _open_journal, paths.journal_file, read_only, stamp, problems
    )
    try:
        return await _assemble(
            uri, local, settings, clock, journal, damaged, problems, stamp, read_only=read_only
        )
    except BaseException:
        journal.close()
        raise


async def _assemble(
    uri: str,
    local: Path | None,
    settings: StoreSettings,
    clock: Clock,
    journal: Journal,
    damaged: Path | None,
    problems: list[StoreProblem],
    stamp: str,
    *,
    read_only: bool,
) -> Store:
    await asyncio.to_thread(importlib.import_module, "hindsight_daemon.store.lance")
    from hindsight_daemon.store.lance import Lance
    from hindsight_daemon.store.lance_store import LanceStore, Parts
    from hindsight_daemon.store.rebuild import salvage

    has_catalog = bool(journal.read("SELECT 1 FROM note WHERE name = ?", _CATALOG_NOTE))
    if damaged is not None:
        copied = await asyncio.to_thread(_salvage_into, salvage, damaged, journal.path)
        problems.append(copied)
    marks = JournalReads(journal).fold_marks()
    if local is not None:
        for table in _damaged_tables(local, stamp, problems, read_only=read_only):
            marks[table] = 0
    statistics = TermStatistics()
    overlay = Overlay(statistics)
    # The outbox is read before the tables are opened: a daemon that folds meanwhile then leaves
    # rows in both places rather than in none.
    rows = await asyncio.to_thread(_load_outbox, journal, marks)
    overlay.apply(rows)
    next_seq = _next_seq(journal, marks)
    location = uri if local is None else str(local)
    lance = await Lance.connect(location, local, settings, read_only=read_only)
    for table in Table:
        await lance.open(table, is_synced=journal.was_closed)
    if not has_catalog and not read_only:
        await _write_catalog(journal, lance, rows, problems)
    parts = Parts(
        uri=location,
        local=local,
        settings=settings,
        clock=clock,
        journal=journal,
        lance=lance,
        overlay=overlay,
        statistics=statistics,
        next_seq=next_seq,
        replay_through=dict.fromkeys(Table, next_seq - 1),
        problems=problems,
    )
    store = LanceStore(parts)
    if not read_only:
        store.start()
    return store


def _open_journal(
    path: Path, read_only: bool, stamp: str, problems: list[StoreProblem]
) -> tuple[Journal, Path | None]:
    try:
        return Journal(path, read_only=read_only), None
    except StoreCorrupt as exc:
        if read_only:
            raise
        with storage_errors(f"journal `{path}`"):
            kept = set_aside(path, stamp)
            for suffix in ("-wal", "-shm"):
                side = path.with_name(path.name + suffix)
                if side.exists():
                    side.rename(kept.with_name(kept.name + suffix))
        what = f"{exc.message}; the file is kept as `{kept.name}` and a new one was begun"
        problems.append(StoreProblem(where="journal", what=what, severity="repaired"))
        return Journal(path, read_only=False), kept


def _salvage_into(salvage: Any, damaged: Path, path: Path) -> StoreProblem:
    with (
        storage_errors(f"journal `{path}`"),
        contextlib.closing(connect(path, read_only=False)) as db,
    ):
        db.execute("BEGIN IMMEDIATE")
        copied: dict[str, int] = salvage(damaged, db)
        db.execute("COMMIT")
    told = ", ".join(f"{count} of {name}" for name, count in copied.items() if count)
    what = f"rows read back from the damaged file: {told or 'none'}"
    return StoreProblem(where="journal", what=what, severity="warning")


async def _write_catalog(
    journal: Journal, lance: Lance, rows: list[OutboxRow], problems: list[StoreProblem]
) -> None:
    from hindsight_daemon.store.rebuild import catalog_from_outbox, catalog_from_tables

    with (
        storage_errors(f"journal `{journal.path}`"),
        contextlib.closing(connect(journal.path, read_only=False)) as db,
    ):
        db.execute("BEGIN IMMEDIATE")
        await catalog_from_tables(db, lance)
        catalog_from_outbox(db, rows)
        db.execute("INSERT INTO note VALUES (?, '1')", (_CATALOG_NOTE,))
        found = db.execute("SELECT COUNT(*) FROM memory").fetchone()[0]
        db.execute("COMMIT")
    if found:
        what = f"the catalog was built anew from the tables: {found} memories"
        problems.append(StoreProblem(where="journal", what=what, severity="repaired"))


def _damaged_tables(
    local: Path, stamp: str, problems: list[StoreProblem], *, read_only: bool
) -> list[Table]:
    damaged: list[Table] = []
    for table in Table:
        folder = local / f"{table.label}.lance"
        with storage_errors(f"table `{table.label}`"):
            found = find_bad_manifests(folder) if read_only else repair_manifests(folder, stamp)
        problems.extend(found)
        if found:
            damaged.append(table)
    if damaged and read_only:
        raise StorageFailed(
            f"{problems[-1].where}: {problems[-1].what}", hint="starting the daemon repairs it"
        )
    return damaged


def _load_outbox(journal: Journal, marks: dict[Table, int]) -> list[OutboxRow]:
    rows = journal.read("SELECT seq, tbl, op, id, body, vector FROM outbox ORDER BY seq")
    pending = (row for row in rows if row[0] > marks.get(Table(row[1]), 0))
    found: list[OutboxRow] = []
    for row in pending:
        # Only a salvaged journal can hold a body that is no record.
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            found.append(decode_row(*row))
    return found


def _next_seq(journal: Journal, marks: dict[Table, int]) -> int:
    last = journal.read("SELECT MAX(seq) FROM outbox")[0][0]
    rev = journal.read("SELECT MAX(rev) FROM key")[0][0]
    return int(max(last or 0, rev or 0, *marks.values(), 0)) + 1
