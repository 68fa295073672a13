"""The tables of the journal and their numbered migrations; SQLite's `user_version` counts them.

Times are integers: microseconds since 1970 UTC. Bodies are MessagePack of the records of `model`.
"""

from __future__ import annotations

import sqlite3

from hindsight_daemon.errors import StoreTooNew

_FIRST = """
CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, op INTEGER NOT NULL, id TEXT NOT NULL,
  at INTEGER NOT NULL, body BLOB, vector BLOB);
CREATE TABLE fold_mark (tbl INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE request (key TEXT PRIMARY KEY, response TEXT NOT NULL, at INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE INDEX request_at ON request (at);
CREATE TABLE history (
  n INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
  memory_id TEXT NOT NULL, reason TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL);
CREATE INDEX history_memory ON history (memory_id, n);
CREATE TABLE checkpoint (path TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE session (
  session_id TEXT PRIMARY KEY, last_at INTEGER NOT NULL, open_events INTEGER NOT NULL,
  body BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX session_last ON session (last_at);
CREATE TABLE recall (recall_id TEXT PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL)
  WITHOUT ROWID;
CREATE INDEX recall_at ON recall (at);
CREATE TABLE event_seen (id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE call_seen (id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE event_count (agent TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tombstone (id TEXT PRIMARY KEY, since INTEGER NOT NULL, body BLOB NOT NULL)
  WITHOUT ROWID;
CREATE TABLE memory (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, layer TEXT NOT NULL, status TEXT NOT NULL,
  project TEXT NOT NULL, agent TEXT NOT NULL, agent_role TEXT NOT NULL, task_type TEXT NOT NULL,
  session_id TEXT NOT NULL, scope TEXT NOT NULL, content_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER) WITHOUT ROWID;
CREATE INDEX memory_content ON memory (content_hash, project) WHERE content_hash <> '';
CREATE INDEX memory_session ON memory (session_id, kind);
CREATE INDEX memory_project ON memory (project, id);
CREATE INDEX memory_groups ON memory (layer, kind, status);
CREATE INDEX memory_kind ON memory (kind, id);
CREATE TABLE key (
  id TEXT PRIMARY KEY, memory_id TEXT NOT NULL, digest BLOB NOT NULL, embedder TEXT NOT NULL,
  is_turn INTEGER NOT NULL, created_at INTEGER NOT NULL, rev INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX key_memory ON key (memory_id);
CREATE INDEX key_embedder ON key (embedder, is_turn, created_at DESC);
CREATE TABLE embedder (name TEXT PRIMARY KEY, dimension INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE project (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_HELD = """
CREATE TABLE held (id TEXT PRIMARY KEY, state TEXT NOT NULL, since INTEGER NOT NULL,
  body BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX held_state ON held (state, since);
"""

_LIVE_STATE = """
CREATE TABLE working (
  session_id TEXT PRIMARY KEY, updated_at INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE progress (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_JUDGE = """
CREATE TABLE judge_job (
  id TEXT PRIMARY KEY, session_id TEXT NOT NULL, digest TEXT NOT NULL, at INTEGER NOT NULL,
  attempts INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX judge_job_due ON judge_job (at);
CREATE TABLE judge_use (
  day TEXT NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL,
  failures INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
  PRIMARY KEY (day, purpose, model)) WITHOUT ROWID;
CREATE TABLE judge_answer (key TEXT PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL)
  WITHOUT ROWID;
CREATE INDEX judge_answer_at ON judge_answer (at);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _HELD, _LIVE_STATE, _JUDGE)
"""Script number n takes a journal from version n to n + 1."""


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring a journal up to date, each step in its own transaction; raises `StoreTooNew`."""
    version = check_version(connection, name)
    for number in range(version, len(MIGRATIONS)):
        connection.executescript(
            f"BEGIN IMMEDIATE;{MIGRATIONS[number]}PRAGMA user_version = {number + 1};COMMIT;"
        )


def check_version(connection: sqlite3.Connection, name: str) -> int:
    """Return the journal's version; raises `StoreTooNew` if it is beyond ours."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise StoreTooNew(
            f"journal `{name}` has version {version}, this program knows up to {len(MIGRATIONS)}"
        )
    return version
