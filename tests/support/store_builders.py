"""Records for store tests with everything that a test does not care about filled in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_daemon.clock import id_from
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.model import Event, HistoryEntry, Key, Memory, SessionState, Tombstone
from hindsight_daemon.paths import Paths, resolve_paths
from hindsight_daemon.store.port import SearchFilter

T0 = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
MODEL = "test-model@1"
SETTINGS = StoreSettings(reserve_bytes=0)


class FixedClock:
    """A clock that tests move by hand."""

    def __init__(self, at: datetime = T0) -> None:
        self.at = at

    def now(self) -> datetime:
        """Return the moment it is set to."""
        return self.at


def test_paths() -> Paths:
    """Return the locations below the test's own HINDSIGHT_HOME."""
    return resolve_paths()


test_paths.__test__ = False  # type: ignore[attr-defined]


def at(minutes: float) -> datetime:
    """Return a moment some minutes after the fixed beginning."""
    return T0 + timedelta(minutes=minutes)


def memory_id(number: int) -> str:
    """Return the id of the numbered memory; later numbers are newer."""
    return id_from(at(number), f"memory {number}")


def a_memory(number: int, text: str = "", **fields: Any) -> Memory:
    """Return a memory that was created `number` minutes after the beginning."""
    values: dict[str, Any] = {
        "id": memory_id(number),
        "layer": "semantic",
        "kind": "lesson",
        "text": text or f"memory number {number}",
        "created_at": at(number),
        "updated_at": at(number),
        "project": "/home/dev/app",
        "agent": "claude-code",
        "session_id": "s1",
        "content_hash": f"hash-{number}",
    }
    return Memory(**{**values, **fields})


def a_key(memory: Memory, terms: str = "", part: str = "text", **fields: Any) -> Key:
    """Return a key of a memory with the memory's own filter columns."""
    values: dict[str, Any] = {
        "id": id_from(memory.created_at, f"key {memory.id} {part}"),
        "memory_id": memory.id,
        "key_kind": "text",
        "text": memory.text,
        "terms": terms or memory.text,
        "created_at": memory.created_at,
        "kind": memory.kind,
        "layer": memory.layer,
        "project": memory.project,
        "session_id": memory.session_id,
        "agent": memory.agent,
        "agent_role": memory.agent_role,
        "task_type": memory.task_type,
        "scope": memory.scope,
        "status": memory.status,
        "expires_at": memory.expires_at,
    }
    if fields.get("vector") is not None:
        values["embedder"] = MODEL
    return Key(**{**values, **fields})


def an_event(number: int, session_id: str = "s1", **fields: Any) -> Event:
    """Return the numbered event of a session."""
    values: dict[str, Any] = {
        "id": f"claude-code:{session_id}:{number}",
        "agent": "claude-code",
        "session_id": session_id,
        "seq": number,
        "role": "user",
        "kind": "prompt",
        "text": f"event {number}",
        "ts": at(number),
    }
    return Event(**{**values, **fields})


def a_session(session_id: str, **fields: Any) -> SessionState:
    """Return a session's state."""
    return SessionState(**{"session_id": session_id, "agent": "claude-code", **fields})


def a_tombstone(number: int, **fields: Any) -> Tombstone:
    """Return the numbered tombstone."""
    values: dict[str, Any] = {
        "id": id_from(at(number), f"tombstone {number}"),
        "normalized_text": f"forgotten {number}",
        "memory_id": memory_id(number),
        "since": at(number),
    }
    return Tombstone(**{**values, **fields})


def a_change(memory: Memory, minutes: float, action: str = "added") -> HistoryEntry:
    """Return a history line about a memory."""
    return HistoryEntry(at=at(minutes), actor="user", action=action, memory_id=memory.id)


def everything(**fields: Any) -> SearchFilter:
    """Return a filter that lets everything through, narrowed by `fields`."""
    return SearchFilter(**{"now": at(10_000), **fields})
