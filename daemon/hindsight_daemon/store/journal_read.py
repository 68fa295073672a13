"""Look-ups in the journal: the catalog of memories and keys, sessions, checkpoints, history.

Runs on the event loop: every query here uses an index and takes microseconds, except the counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from hindsight_daemon.errors import AmbiguousId, NotFound
from hindsight_daemon.model import (
    Checkpoint,
    Held,
    HistoryEntry,
    SessionState,
    Tombstone,
    WorkingState,
)
from hindsight_daemon.store.failures import storage_errors
from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.journal_write import compact_id
from hindsight_daemon.store.outbox import Table, from_micros, micros
from hindsight_daemon.store.port import RecallRecord, SearchFilter
from hindsight_daemon.store.where import conditions

SHORT_ID_MINIMUM = 8
_BATCH = 500

_checkpoint = msgspec.msgpack.Decoder(Checkpoint).decode
_session = msgspec.msgpack.Decoder(SessionState).decode
_recall = msgspec.msgpack.Decoder(RecallRecord).decode
_held = msgspec.msgpack.Decoder(Held).decode
_working = msgspec.msgpack.Decoder(WorkingState).decode
_tombstone = msgspec.msgpack.Decoder(Tombstone).decode


class KeyState(msgspec.Struct, frozen=True):
    """What the catalog knows of a key: model of its vector, digest of its text, revision."""

    embedder: str
    digest: bytes
    rev: int


def shared_prefix(left: str, right: str) -> int:
    """Return how many leading characters two texts share."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _chunks(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[i : i + _BATCH] for i in range(0, len(values), _BATCH))


class JournalReads:
    """Typed queries on the journal's reading connection."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read = journal.read

    def resolve(self, prefix: str) -> str:
        """Return the one id with this prefix; `NotFound` or `AmbiguousId`."""
        wanted = prefix.strip().lower()
        if not wanted:
            raise NotFound("an empty id names no memory")
        rows = self._read(
            "SELECT id FROM memory WHERE id >= ? AND id < ? ORDER BY id LIMIT 3",
            wanted,
            wanted + "\U0010ffff",
        )
        if not rows:
            raise NotFound(f"no memory has the id `{prefix}`", id=prefix)
        if len(rows) > 1 and rows[0][0] != wanted:
            examples = [str(row[0]) for row in rows]
            raise AmbiguousId(f"the id `{prefix}` fits several memories", ids=examples)
        return str(rows[0][0])

    def short_id(self, memory_id: str) -> str:
        """Return the shortest prefix, at least 8 characters, that no other memory has."""
        below = self._read("SELECT MAX(id) FROM memory WHERE id < ?", memory_id)[0][0] or ""
        above = self._read("SELECT MIN(id) FROM memory WHERE id > ?", memory_id)[0][0] or ""
        shared = max(shared_prefix(memory_id, below), shared_prefix(memory_id, above))
        return memory_id[: max(SHORT_ID_MINIMUM, shared + 1)]

    def existing(self, ids: Sequence[str]) -> set[str]:
        """Return which of these memory ids exist."""
        found: set[str] = set()
        for part in _chunks(ids):
            found.update(
                row[0]
                for row in self._read(f"SELECT id FROM memory WHERE id IN ({_marks(part)})", *part)
            )
        return found

    def list_ids(
        self, where: SearchFilter, projects: Iterable[str], limit: int, before_id: str
    ) -> list[str]:
        """Return ids of matching memories, newest first by id."""
        values: list[object] = []

        def bound(value: str | datetime) -> str:
            values.append(micros(value) if isinstance(value, datetime) else value)
            return "?"

        parts = conditions(where, projects, bound)
        if before_id:
            parts.append(f"id < {bound(before_id)}")
        sql = f"SELECT id FROM memory WHERE {' AND '.join(parts)} ORDER BY id DESC LIMIT ?"
        return [row[0] for row in self._read(sql, *values, limit)]

    def ids_of_session(self, session_id: str, kinds: Sequence[str]) -> list[str]:
        """Return ids of the memories of these kinds (none: all) that came from a session."""
        sql = "SELECT id FROM memory WHERE session_id = ?"
        if kinds:
            sql += f" AND kind IN ({_marks(kinds)})"
        return [row[0] for row in self._read(f"{sql} ORDER BY id", session_id, *kinds)]

    def same_content(self, content_hash: str, project: str) -> str | None:
        """Return the newest live memory with this content in this project."""
        if not content_hash:
            return None
        rows = self._read(
            "SELECT id FROM memory WHERE content_hash = ? AND project = ?"
            " AND status NOT IN ('superseded', 'contradicted', 'archived')"
            " AND content_hash <> '' ORDER BY id DESC LIMIT 1",
            content_hash,
            project,
        )
        return rows[0][0] if rows else None

    def with_content(self, content_hashes: Sequence[str]) -> list[str]:
        """Return ids of all memories with one of these content hashes."""
        wanted = [digest for digest in dict.fromkeys(content_hashes) if digest]
        found: list[str] = []
        for part in _chunks(wanted):
            sql = f"content_hash IN ({_marks(part)}) AND content_hash <> ''"
            found += [row[0] for row in self._read(f"SELECT id FROM memory WHERE {sql}", *part)]
        return sorted(found)

    def key_ids_of(self, memory_ids: Sequence[str]) -> list[str]:
        """Return ids of all keys of these memories."""
        found: list[str] = []
        for part in _chunks(memory_ids):
            sql = f"SELECT id FROM key WHERE memory_id IN ({_marks(part)})"
            found.extend(row[0] for row in self._read(sql, *part))
        return found

    def key_states(self, key_ids: Sequence[str]) -> dict[str, KeyState]:
        """Return what the catalog knows of these keys."""
        found: dict[str, KeyState] = {}
        for part in _chunks(key_ids):
            sql = f"SELECT id, embedder, digest, rev FROM key WHERE id IN ({_marks(part)})"
            for key_id, embedder, digest, rev in self._read(sql, *part):
                found[key_id] = KeyState(embedder, digest, rev)
        return found

    def keys_pending(self, embedder: str, limit: int) -> list[str]:
        """Return ids of keys with no vector of this embedder: distilled first, newest first."""
        names = ["", *(row[0] for row in self._read("SELECT name FROM embedder"))]
        found: list[tuple[int, int, str]] = []
        for name in dict.fromkeys(names):
            if name != embedder:
                found += self._read(
                    "SELECT is_turn, -created_at, id FROM key WHERE embedder = ?"
                    " ORDER BY is_turn, created_at DESC LIMIT ?",
                    name,
                    limit,
                )
        return [key_id for _, _, key_id in sorted(found)[:limit]]

    def dimensions(self) -> dict[str, int]:
        """Return the vector length of every embedder that was ever used."""
        return {str(name): int(size) for name, size in self._read("SELECT * FROM embedder")}

    def projects(self) -> set[str]:
        """Return every project that memories or keys were ever written with."""
        return {row[0] for row in self._read("SELECT name FROM project")}

    def known_events(self, event_ids: Sequence[str]) -> set[str]:
        """Return which of these event ids are stored."""
        by_digest = {compact_id(event_id): event_id for event_id in event_ids}
        digests = list(by_digest)
        found: set[str] = set()
        for i in range(0, len(digests), _BATCH):
            part = digests[i : i + _BATCH]
            sql = f"SELECT id FROM event_seen WHERE id IN ({_marks(part)})"
            found.update(by_digest[row[0]] for row in self._read(sql, *part))
        return found

    def answered(self, request_key: str) -> str | None:
        """Return the stored response of a request."""
        rows = self._read("SELECT response FROM request WHERE key = ?", request_key)
        return rows[0][0] if rows else None

    def sessions(self, *, unconsolidated: bool) -> list[SessionState]:
        """Return sessions, newest activity first."""
        only = "WHERE open_events > 0" if unconsolidated else ""
        sql = f"SELECT body FROM session {only} ORDER BY last_at DESC, session_id"
        return [_session(row[0]) for row in self._read(sql)]

    def session(self, session_id: str) -> SessionState | None:
        """Return one session."""
        rows = self._read("SELECT body FROM session WHERE session_id = ?", session_id)
        return _session(rows[0][0]) if rows else None

    def checkpoint(self, path: str) -> Checkpoint | None:
        """Return one checkpoint."""
        rows = self._read("SELECT body FROM checkpoint WHERE path = ?", path)
        return _checkpoint(rows[0][0]) if rows else None

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints by path."""
        rows = self._read("SELECT body FROM checkpoint ORDER BY path")
        return [_checkpoint(row[0]) for row in rows]

    def tombstones(self) -> list[Tombstone]:
        """Return all tombstones, oldest first."""
        rows = self._read("SELECT body FROM tombstone ORDER BY since, id")
        return [_tombstone(row[0]) for row in rows]

    def held(self, state: str | None) -> list[Held]:
        """Return what is or was held, oldest first."""
        if not _has_held(self._journal.reader):
            return []
        only, values = ("WHERE state = ?", [state]) if state else ("", [])
        rows = self._read(f"SELECT body FROM held {only} ORDER BY since, id", *values)
        return [_held(row[0]) for row in rows]

    def history(self, memory_id: str) -> list[HistoryEntry]:
        """Return the changes of a memory, oldest first."""
        rows = self._read(
            "SELECT at, actor, action, memory_id, reason, before, after FROM history"
            " WHERE memory_id = ? ORDER BY n",
            memory_id,
        )
        return [
            HistoryEntry(
                at=from_micros(row[0]),
                actor=row[1],
                action=row[2],
                memory_id=row[3],
                reason=row[4],
                before=row[5],
                after=row[6],
            )
            for row in rows
        ]

    def recalls(self, limit: int, session_id: str) -> list[RecallRecord]:
        """Return those of a session, or all, among the newest `limit`."""
        rows = self._read("SELECT body FROM recall ORDER BY at DESC LIMIT ?", limit)
        found = (_recall(row[0]) for row in rows)
        return [one for one in found if not session_id or one.session_id == session_id]

    def recall_record(self, recall_id: str) -> RecallRecord | None:
        """Return what a recall returned."""
        rows = self._read("SELECT body FROM recall WHERE recall_id = ?", recall_id)
        return _recall(rows[0][0]) if rows else None

    def working(self, session_id: str) -> list[WorkingState]:
        """Return live states, of one session or of all, what was changed last first."""
        only, values = ("WHERE session_id = ?", (session_id,)) if session_id else ("", ())
        sql = f"SELECT body FROM working {only} ORDER BY updated_at DESC, session_id"
        return [_working(row[0]) for row in self._read(sql, *values)]

    def progress(self, prefix: str) -> dict[str, str]:
        """Return notes of background work by name."""
        sql = "SELECT name, value FROM progress WHERE name >= ? AND name < ? ORDER BY name"
        return dict(self._read(sql, prefix, prefix + "\U0010ffff"))

    def fold_marks(self) -> dict[Table, int]:
        """Return, per table, the last outbox row known to be folded and synced."""
        return {Table(t): seq for t, seq in self._read("SELECT tbl, seq FROM fold_mark")}


class CatalogCounts(msgspec.Struct, frozen=True):
    """Counts over the whole journal."""

    memories_by: dict[str, dict[str, int]]
    embedders: dict[str, int]
    sources: dict[str, int]
    sessions: int
    tombstones: int
    held: int
    memories: int
    keys: int


def count_catalog(connection: sqlite3.Connection) -> CatalogCounts:
    """Count everything; some 20 ms per 100,000 memories, so not for the event loop."""
    by: dict[str, dict[str, int]] = {"layer": {}, "kind": {}, "status": {}}
    with storage_errors("journal"):
        ask = connection.execute
        total = 0
        for layer, kind, status, n in ask(
            "SELECT layer, kind, status, COUNT(*) FROM memory GROUP BY 1, 2, 3"
        ).fetchall():
            for name, value in (("layer", layer), ("kind", kind), ("status", status)):
                by[name][value] = by[name].get(value, 0) + n
            total += n
        embedders = dict(ask("SELECT embedder, COUNT(*) FROM key GROUP BY 1").fetchall())
        return CatalogCounts(
            memories_by=by,
            embedders=embedders,
            sources=dict(ask("SELECT agent, n FROM event_count").fetchall()),
            sessions=int(ask("SELECT COUNT(*) FROM session").fetchone()[0]),
            tombstones=int(ask("SELECT COUNT(*) FROM tombstone").fetchone()[0]),
            held=_count_held(connection),
            memories=total,
            keys=sum(embedders.values()),
        )


def _has_held(connection: sqlite3.Connection) -> bool:
    # Opened for reading only, a journal of an earlier version stays as it is.
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'held'"
    return connection.execute(sql).fetchone() is not None


def _count_held(connection: sqlite3.Connection) -> int:
    if not _has_held(connection):
        return 0
    row = connection.execute("SELECT COUNT(*) FROM held WHERE state = 'held'").fetchone()
    return int(row[0])
