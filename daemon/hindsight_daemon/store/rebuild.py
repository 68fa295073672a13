"""A new journal's catalog from what the tables hold, and from what a damaged journal still gives.

Runs once, at open, after a journal had to be set aside. The tables are the source for memories,
keys, event ids and tombstones; the damaged file for whatever of its own it can still be read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hindsight_daemon.model import Key, Memory, SessionState, Tombstone
from hindsight_daemon.store.journal_write import (
    UPSERT_KEY,
    UPSERT_MEMORY,
    catalog_values,
    compact_id,
    key_values,
)
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import OutboxRow, Table, encode, micros

SALVAGED = (
    "outbox",
    "history",
    "checkpoint",
    "session",
    "tombstone",
    "held",
    "request",
    "recall",
    "embedder",
    "working",
    "progress",
)
"""Tables of a damaged journal that are copied as far as they can be read."""


def salvage(damaged: Path, db: sqlite3.Connection) -> dict[str, int]:
    """Copy readable rows of a damaged journal into a new one; return how many of each table."""
    copied: dict[str, int] = {}
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(damaged)) as old:
        for table in SALVAGED:
            copied[table] = 0
            # Rows come until the first damaged page; a table without any is left as it is.
            with contextlib.suppress(sqlite3.DatabaseError):
                for row in old.execute(f"SELECT * FROM {table}"):
                    marks = ", ".join("?" * len(row))
                    db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
                    copied[table] += 1
    return copied


async def catalog_from_tables(db: sqlite3.Connection, lance: Lance) -> None:
    """Write catalog rows for everything that the tables hold."""
    for memory in await lance.records_where(Table.MEMORIES, ""):
        _catalog(db, memory)
    names: set[str] = set()
    for key in await lance.records_where(Table.KEYS, ""):
        _catalog(db, key)
        names.add(key.embedder)
    for name, dimension in (await lance.dimensions(sorted(names - {""}))).items():
        db.execute("INSERT OR IGNORE INTO embedder VALUES (?, ?)", (name, dimension))
    for tombstone in await lance.records_where(Table.TOMBSTONES, ""):
        _catalog(db, tombstone)
    async for batch in lance.batches(Table.TOOL_CALLS, ["id"]):
        ids = [(compact_id(i),) for i in batch.column("id").to_pylist()]
        db.executemany("INSERT OR IGNORE INTO call_seen VALUES (?)", ids)
    await _events(db, lance)


async def _events(db: sqlite3.Connection, lance: Lance) -> None:
    counts: dict[str, int] = {}
    sessions: dict[str, dict[str, Any]] = {}
    columns = ["id", "agent", "session_id", "parent_session_id", "cwd", "ts"]
    async for batch in lance.batches(Table.EVENTS, columns):
        for row in batch.to_pylist():
            db.execute("INSERT OR IGNORE INTO event_seen VALUES (?)", (compact_id(row["id"]),))
            counts[row["agent"]] = counts.get(row["agent"], 0) + 1
            _count_event(sessions.setdefault(row["session_id"], {"events": 0}), row)
    db.executemany("INSERT OR REPLACE INTO event_count VALUES (?, ?)", counts.items())
    for session_id, facts in sessions.items():
        # Nothing says how far it was consolidated; doing it again upserts the same ids.
        state = SessionState(session_id=session_id, **facts)
        last = micros(state.last_at) if state.last_at else 0
        row = (session_id, last, state.events, encode(state))
        db.execute("INSERT OR IGNORE INTO session VALUES (?, ?, ?, ?)", row)


def _count_event(facts: dict[str, Any], row: dict[str, Any]) -> None:
    facts["events"] += 1
    for name in ("agent", "parent_session_id", "cwd"):
        facts[name] = facts.get(name) or row[name] or ""
    at: datetime | None = row["ts"]
    if at is not None:
        facts["first_at"] = min(at, facts.get("first_at") or at)
        facts["last_at"] = max(at, facts.get("last_at") or at)


def catalog_from_outbox(db: sqlite3.Connection, rows: Iterable[OutboxRow]) -> None:
    """Write catalog rows for salvaged changes that the tables may not hold yet."""
    removals = {
        Table.MEMORIES: "DELETE FROM memory WHERE id = ?",
        Table.KEYS: "DELETE FROM key WHERE id = ?",
        Table.TOMBSTONES: "DELETE FROM tombstone WHERE id = ?",
    }
    for row in rows:
        if row.record is None:
            if row.table in removals:
                db.execute(removals[row.table], (row.id,))
        elif isinstance(row.record, Tombstone):
            vector = None if row.vector is None else tuple(row.vector.tolist())
            _catalog(db, msgspec.structs.replace(row.record, vector=vector))
        elif isinstance(row.record, Memory | Key):
            _catalog(db, row.record)
        elif row.table is Table.EVENTS:
            db.execute("INSERT OR IGNORE INTO event_seen VALUES (?)", (compact_id(row.id),))
        else:
            db.execute("INSERT OR IGNORE INTO call_seen VALUES (?)", (compact_id(row.id),))


def _catalog(db: sqlite3.Connection, record: Memory | Key | Tombstone) -> None:
    if isinstance(record, Memory):
        db.execute(UPSERT_MEMORY, catalog_values(record))
    elif isinstance(record, Key):
        db.execute(UPSERT_KEY, key_values(record, 0))
    else:
        row = (record.id, micros(record.since), encode(record))
        db.execute("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)", row)
        return
    db.execute("INSERT OR IGNORE INTO project VALUES (?)", (record.project,))
