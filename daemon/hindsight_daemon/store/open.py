"""Opens the store: checks and repairs what a crash may have left, then puts the parts together."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_daemon.clock import Clock
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.errors import NotFound, StorageFailed, StoreCorrupt
from hindsight_daemon.paths import Paths, ensure_private_dir
from hindsight_daemon.store.bm25 import TermStatistics
from hindsight_daemon.store.failures import storage_errors
from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.journal_read import JournalReads
from hindsight_daemon.store.outbox import Table, decode_row
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import Store, StoreProblem
from hindsight_daemon.store.selfcheck import find_bad_manifests, repair_manifests, set_aside

if TYPE_CHECKING:
    from hindsight_daemon.store.lance import Lance


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
    journal = await asyncio.to_thread(_open_journal, paths.journal_file, read_only, stamp, problems)
    try:
        return await _assemble(
            uri, local, settings, clock, journal, problems, stamp, read_only=read_only
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
    problems: list[StoreProblem],
    stamp: str,
    *,
    read_only: bool,
) -> Store:
    reads = JournalReads(journal)
    marks = reads.fold_marks()
    if local is not None:
        for table in _damaged_tables(local, stamp, problems, read_only=read_only):
            marks[table] = 0
    statistics = TermStatistics()
    overlay = Overlay(statistics)
    # The outbox is read before the tables are opened: a daemon that folds meanwhile then leaves
    # rows in both places rather than in none.
    next_seq = await asyncio.to_thread(_load_outbox, journal, marks, overlay)
    replay = dict.fromkeys(Table, next_seq - 1)
    await asyncio.to_thread(importlib.import_module, "hindsight_daemon.store.lance")
    from hindsight_daemon.store.lance import Lance as Engine
    from hindsight_daemon.store.lance_store import LanceStore, Parts

    location = uri if local is None else str(local)
    lance: Lance = await Engine.connect(location, local, settings, read_only=read_only)
    for table in Table:
        await lance.open(table)
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
        replay_through=replay,
        problems=problems,
    )
    store = LanceStore(parts)
    if not read_only:
        store.start()
    return store


def _open_journal(path: Path, read_only: bool, stamp: str, problems: list[StoreProblem]) -> Journal:
    try:
        return Journal(path, read_only=read_only)
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
        return Journal(path, read_only=False)


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


def _load_outbox(journal: Journal, marks: dict[Table, int], overlay: Overlay) -> int:
    rows = journal.read("SELECT seq, tbl, op, id, body, vector FROM outbox ORDER BY seq")
    overlay.apply(decode_row(*row) for row in rows if row[0] > marks.get(Table(row[1]), 0))
    highest = [*marks.values(), *(row[0] for row in rows[-1:])]
    rev = journal.read("SELECT MAX(rev) FROM key")[0][0]
    return int(max(rev or 0, *highest, 0)) + 1
