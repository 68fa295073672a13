"""What one WriteBatch does inside the journal's transaction.

Runs on the journal's writer thread only. Returns the outbox rows that were written, so that the
event loop can show them to readers as soon as the transaction is durable.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from hindsight_daemon.model import Key, Memory
from hindsight_daemon.store import judge_rows
from hindsight_daemon.store.outbox import Floats, Op, OutboxRow, Row, Table, encode, micros
from hindsight_daemon.store.port import WriteBatch

_MEMORY_COLUMNS = 13
UPSERT_MEMORY = f"INSERT OR REPLACE INTO memory VALUES ({', '.join('?' * _MEMORY_COLUMNS)})"

UPSERT_KEY = "INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?, ?, ?)"


class KeyVectors(msgspec.Struct, frozen=True):
    """A vector for a key of the batch.

    With `only_rev` it was read from the table for a key that is written again with unchanged
    text; it counts only if nobody changed that key since.
    """

    vector: Floats
    embedder: str
    only_rev: int | None = None


class KeyFill(msgspec.Struct, frozen=True):
    """A vector for an existing key, whose row is `key` as of revision `rev`."""

    key: Key
    vector: Floats
    rev: int


def compact_id(text: str) -> bytes:
    """Return 16 bytes that stand for an id; a collision among 10^12 ids has odds of 10^-15."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def text_digest(key: Key) -> bytes:
    """Return 8 bytes that change when the text that was embedded changes."""
    return hashlib.blake2b(key.text.encode("utf-8"), digest_size=8).digest()


class BatchWriter:
    """Writes batches into the journal, numbering outbox rows upwards."""

    def __init__(self, next_seq: int) -> None:
        self._next_seq = next_seq

    def write(
        self,
        db: sqlite3.Connection,
        batch: WriteBatch,
        vectors: dict[str, KeyVectors],
        now: datetime,
    ) -> list[OutboxRow]:
        """Write a batch; returns its outbox rows. `vectors` are those of keys, by key id."""
        rows: list[OutboxRow] = []
        self._remove(db, batch, rows)
        self._memories(db, batch.memories, rows)
        self._keys(db, batch.keys, vectors, rows)
        self._events(db, batch, rows)
        self._tool_calls(db, batch, rows)
        self._tombstones(db, batch, vectors, rows)
        self._bookkeeping(db, batch, micros(now))
        judge_rows.write(db, batch, now)
        self._store_outbox(db, rows, micros(now))
        return rows

    def fill(
        self, db: sqlite3.Connection, fills: Sequence[KeyFill], embedder: str, now: datetime
    ) -> list[OutboxRow]:
        """Set vectors of keys (one at least) that are still what they were when they were read."""
        rows: list[OutboxRow] = []
        self._know_embedder(db, embedder, fills[0].vector)
        for fill in fills:
            changed = db.execute(
                "UPDATE key SET embedder = ?, rev = ? WHERE id = ? AND rev = ?",
                (embedder, self._next_seq, fill.key.id, fill.rev),
            ).rowcount
            if changed:
                key = msgspec.structs.replace(fill.key, embedder=embedder, vector=None)
                self._append(rows, Table.KEYS, Op.PUT, key.id, key, fill.vector)
        self._store_outbox(db, rows, micros(now))
        return rows

    def _append(
        self,
        rows: list[OutboxRow],
        table: Table,
        op: Op,
        row_id: str,
        record: Row | None = None,
        vector: Floats | None = None,
    ) -> None:
        rows.append(OutboxRow(self._next_seq, table, op, row_id, record, vector))
        self._next_seq += 1

    @staticmethod
    def _store_outbox(db: sqlite3.Connection, rows: Iterable[OutboxRow], now: int) -> None:
        db.executemany(
            "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    row.seq,
                    row.table,
                    row.op,
                    row.id,
                    now,
                    None if row.record is None else encode(row.record),
                    None if row.vector is None else row.vector.tobytes(),
                )
                for row in rows
            ),
        )

    def _remove(self, db: sqlite3.Connection, batch: WriteBatch, rows: list[OutboxRow]) -> None:
        written = {key.id for key in batch.keys}
        for memory_id in (*batch.removed, *batch.replace_keys_of):
            found = db.execute("SELECT id FROM key WHERE memory_id = ?", (memory_id,)).fetchall()
            for (key_id,) in found:
                if key_id not in written:
                    db.execute("DELETE FROM key WHERE id = ?", (key_id,))
                    self._append(rows, Table.KEYS, Op.REMOVE, key_id)
        for memory_id in batch.removed:
            if db.execute("DELETE FROM memory WHERE id = ?", (memory_id,)).rowcount:
                self._append(rows, Table.MEMORIES, Op.REMOVE, memory_id)

    def _memories(
        self, db: sqlite3.Connection, memories: Sequence[Memory], rows: list[OutboxRow]
    ) -> None:
        for memory in memories:
            op = _op(db, "SELECT 1 FROM memory WHERE id = ?", memory.id)
            db.execute(UPSERT_MEMORY, catalog_values(memory))
            self._append(rows, Table.MEMORIES, op, memory.id, memory)
        for name in {memory.project for memory in memories}:
            db.execute("INSERT OR IGNORE INTO project VALUES (?)", (name,))

    def _keys(
        self,
        db: sqlite3.Connection,
        keys: Sequence[Key],
        vectors: dict[str, KeyVectors],
        rows: list[OutboxRow],
    ) -> None:
        for key in keys:
            found = db.execute("SELECT rev FROM key WHERE id = ?", (key.id,)).fetchone()
            given = vectors.get(key.id)
            if given and given.only_rev is not None and (not found or found[0] != given.only_rev):
                given = None
            embedder = given.embedder if given else ""
            if given and given.only_rev is None:
                self._know_embedder(db, embedder, given.vector)
            row = msgspec.structs.replace(key, vector=None, embedder=embedder)
            db.execute(UPSERT_KEY, key_values(row, self._next_seq))
            op = Op.PUT if found else Op.ADD
            self._append(rows, Table.KEYS, op, key.id, row, given.vector if given else None)
        for name in {key.project for key in keys}:
            db.execute("INSERT OR IGNORE INTO project VALUES (?)", (name,))

    @staticmethod
    def _know_embedder(db: sqlite3.Connection, name: str, vector: Floats) -> None:
        db.execute("INSERT OR IGNORE INTO embedder VALUES (?, ?)", (name, len(vector)))

    def _events(self, db: sqlite3.Connection, batch: WriteBatch, rows: list[OutboxRow]) -> None:
        counts: dict[str, int] = {}
        for event in batch.events:
            seen = (compact_id(event.id),)
            if db.execute("INSERT OR IGNORE INTO event_seen VALUES (?)", seen).rowcount:
                self._append(rows, Table.EVENTS, Op.ADD, event.id, event)
                counts[event.agent] = counts.get(event.agent, 0) + 1
        for event in batch.grown:
            known = (compact_id(event.id),)
            if db.execute("SELECT 1 FROM event_seen WHERE id = ?", known).fetchone():
                self._append(rows, Table.EVENTS, Op.PUT, event.id, event)
        for event_id, agent in batch.dropped_events.items():
            self._append(rows, Table.EVENTS, Op.REMOVE, event_id)
            counts[agent] = counts.get(agent, 0) - 1
        db.executemany(
            "INSERT INTO event_count VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            counts.items(),
        )

    def _tool_calls(self, db: sqlite3.Connection, batch: WriteBatch, rows: list[OutboxRow]) -> None:
        for call in batch.tool_calls:
            seen = (compact_id(call.id),)
            is_new = db.execute("INSERT OR IGNORE INTO call_seen VALUES (?)", seen).rowcount
            self._append(rows, Table.TOOL_CALLS, Op.ADD if is_new else Op.PUT, call.id, call)

    def _tombstones(
        self,
        db: sqlite3.Connection,
        batch: WriteBatch,
        vectors: dict[str, KeyVectors],
        rows: list[OutboxRow],
    ) -> None:
        for tombstone_id in batch.lifted:
            if db.execute("DELETE FROM tombstone WHERE id = ?", (tombstone_id,)).rowcount:
                self._append(rows, Table.TOMBSTONES, Op.REMOVE, tombstone_id)
        for tombstone in batch.tombstones:
            op = _op(db, "SELECT 1 FROM tombstone WHERE id = ?", tombstone.id)
            db.execute(
                "INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)",
                (tombstone.id, micros(tombstone.since), encode(tombstone)),
            )
            given = vectors.get(tombstone.id)
            row = msgspec.structs.replace(tombstone, vector=None)
            vector = given.vector if given else None
            self._append(rows, Table.TOMBSTONES, op, tombstone.id, row, vector)

    @staticmethod
    def _bookkeeping(db: sqlite3.Connection, batch: WriteBatch, now: int) -> None:
        db.executemany(
            "INSERT INTO history (at, actor, action, memory_id, reason, before, after)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (micros(h.at), h.actor, h.action, h.memory_id, h.reason, h.before, h.after)
                for h in batch.history
            ),
        )
        db.executemany(
            "INSERT OR REPLACE INTO checkpoint VALUES (?, ?)",
            ((checkpoint.path, encode(checkpoint)) for checkpoint in batch.checkpoints),
        )
        for session in batch.sessions:
            last = session.last_at or session.last_seen_at or session.first_at
            db.execute(
                "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)",
                (
                    session.session_id,
                    micros(last) if last else 0,
                    session.events - session.consolidated_events,
                    encode(session),
                ),
            )
        db.executemany(
            "INSERT OR REPLACE INTO recall VALUES (?, ?, ?)",
            ((recall.recall_id, micros(recall.at), encode(recall)) for recall in batch.recalls),
        )
        db.executemany(
            "INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?)",
            ((held.id, held.state, micros(held.since), encode(held)) for held in batch.held),
        )
        for state in batch.working:
            row = (state.session_id, micros(state.updated_at), encode(state))
            db.execute("INSERT OR REPLACE INTO working VALUES (?, ?, ?)", row)
        gone = ((session_id,) for session_id in batch.working_gone)
        db.executemany("DELETE FROM working WHERE session_id = ?", gone)
        for name, value in batch.progress.items():
            if value:
                db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (name, value))
            else:
                db.execute("DELETE FROM progress WHERE name = ?", (name,))
        if batch.request_key:
            db.execute(
                "INSERT OR IGNORE INTO request VALUES (?, ?, ?)",
                (batch.request_key, batch.response, now),
            )


def _op(db: sqlite3.Connection, query: str, row_id: str) -> Op:
    return Op.PUT if db.execute(query, (row_id,)).fetchone() else Op.ADD


def catalog_values(memory: Memory) -> tuple[object, ...]:
    """Return the catalog row of a memory."""
    return (
        memory.id,
        memory.kind,
        memory.layer,
        memory.status,
        memory.project,
        memory.agent,
        memory.agent_role,
        memory.task_type,
        memory.session_id,
        memory.scope,
        memory.content_hash,
        micros(memory.valid_from or memory.created_at),
        None if memory.expires_at is None else micros(memory.expires_at),
    )


def key_values(key: Key, rev: int) -> tuple[object, ...]:
    """Return the catalog row of a key whose `embedder` names the model of its vector, if any."""
    return (
        key.id,
        key.memory_id,
        text_digest(key),
        key.embedder,
        key.kind == "turn",
        micros(key.created_at),
        rev,
    )
