"""Builds small transcript databases as agents keep them, row by row.

Connections are in WAL mode where the agent's are, and are left open by tests that need the log.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hindsight_daemon.ingest.batch import TranscriptBatch
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Checkpoint, Event

OPENCODE_TABLES = (
    "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, revert TEXT,"
    " title TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER)",
    "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,"
    " time_updated INTEGER, data TEXT)",
    "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,"
    " time_created INTEGER, time_updated INTEGER, data TEXT)",
)
START_MS = 1_790_000_000_000


def database(path: Path, statements: Iterable[str], *, wal: bool = False) -> sqlite3.Connection:
    """Create a database with these statements and return the writer's connection."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    for statement in statements:
        connection.execute(statement)
    return connection


def put(connection: sqlite3.Connection, table: str, **columns: Any) -> None:
    """Insert a row or replace the one with its key; lists and objects become JSON."""
    values = [json.dumps(v) if isinstance(v, dict | list) else v for v in columns.values()]
    names = ", ".join(columns)
    marks = ", ".join("?" for _ in columns)
    connection.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", values)


class OpenCodeWriter:
    """Writes sessions as OpenCode does; every row gets a later time than the one before."""

    def __init__(self, path: Path, *, wal: bool = False) -> None:
        self.path = path
        self.connection = database(path, OPENCODE_TABLES, wal=wal)
        self._now = START_MS

    def tick(self) -> int:
        """Return a later time in Unix milliseconds."""
        self._now += 1000
        return self._now

    def session(self, key: str, directory: str = "/work/shop", **columns: Any) -> None:
        """Write a session's row."""
        now = self.tick()
        times = {"time_created": now, "time_updated": now}
        put(self.connection, "session", id=key, directory=directory, **{**times, **columns})

    def message(self, session: str, key: str, role: str, **data: Any) -> None:
        """Write a message's row."""
        now = self.tick()
        former = "SELECT time_created FROM message WHERE id = ?"
        row = self.connection.execute(former, (key,)).fetchone()
        created = row[0] if row else now
        put(
            self.connection,
            "message",
            id=key,
            session_id=session,
            time_created=created,
            time_updated=now,
            data={"role": role, "time": {"created": created}, **data},
        )

    def part(self, session: str, message: str, key: str, **data: Any) -> None:
        """Write a part's row."""
        now = self.tick()
        put(
            self.connection,
            "part",
            id=key,
            message_id=message,
            session_id=session,
            time_created=now,
            time_updated=now,
            data=data,
        )

    def prompt(self, session: str, key: str, text: str) -> None:
        """Write what a person asks."""
        self.message(session, key, "user")
        self.part(session, key, f"prt_{key}", type="text", text=text)

    def answer(self, session: str, key: str, text: str) -> None:
        """Write a whole answer."""
        self.message(session, key, "assistant", modelID="m-1")
        self.part(session, key, f"prt_{key}", type="text", text=text, time={"start": 1, "end": 2})
        done = {"created": self._now, "completed": self.tick()}
        self.message(session, key, "assistant", modelID="m-1", finish="stop", time=done)


class Follower:
    """Reads a transcript again and again from its checkpoint and keeps what was new."""

    def __init__(self, path: Path, *, final: bool = False) -> None:
        self.path = path
        self.final = final
        self.checkpoint: Checkpoint | None = None
        self.events: dict[str, Event] = {}

    def read(self) -> list[Event]:
        """Return the events of one reading that were not there before."""
        return [event for batch in self.batches() for event in self._take(batch)]

    def batches(self) -> list[TranscriptBatch]:
        """Return the batches of one reading and move the checkpoint on."""
        found = list(read_transcript(self.path, checkpoint=self.checkpoint, final=self.final))
        if found:
            self.checkpoint = found[-1].checkpoint
        return found

    def _take(self, batch: TranscriptBatch) -> list[Event]:
        fresh = [event for event in batch.events if event.id not in self.events]
        self.events.update({event.id: event for event in fresh})
        return fresh
