"""Goose since 1.10: `~/.local/share/goose/sessions/sessions.db`, messages as in its older files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources import goose
from hindsight_daemon.sources.fields import string
from hindsight_daemon.sources.port import (
    Parser,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import (
    ROW_ID,
    json_value,
    keys_of,
    marks_by,
    named_row,
    tables_score,
)

_TABLES = {"sessions": "id working_dir", "messages": "session_id role content_json"}
_SESSION = ("working_dir", "description", "parent_session_id")
_MESSAGE = ("message_id", "role", "content_json", "created_timestamp", "metadata_json")


class GooseTableParser(goose.GooseParser):
    """Reads one session."""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a record; the first one may name the session's caller."""
        self._state.parent = string(record.get("parent_session_id")) or self._state.parent
        self._state.is_sidechain = bool(self._state.parent)
        yield from super().record(record)


class GooseDatabase:
    """The Goose family, in its database."""

    name = f"{goose.AGENT}-db"
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        return tables_score(head, _TABLES)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folder of the older sessions, where the database lies as well."""
        return goose.SOURCE.roots(env, home)

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "sessions.db"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark sessions by their own time, number and places of messages, which never change."""
        rows = marks_by(tables, "sessions", "id", "updated_at")
        messages = marks_by(tables, "messages", "session_id", ROW_ID)
        keys = keys_of(tables, "sessions", "id", "1", ("created_at", "id"))
        return [
            StoredSession(key=key, mark=f"{rows.get(key)} {messages.get(key)}")
            for key in map(str, keys)
        ]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - messages are stored whole
        """Yield the session and its messages in the shape of the older files."""
        session = named_row(tables, "sessions", _SESSION, "id = ?", key)
        yield StoredRecord(number=0, fields={**session, "id": key})
        order = ("created_timestamp", "id")
        listed = keys_of(tables, "messages", ROW_ID, "session_id = ?", order, key)
        for number, row_id in enumerate(listed, 1):
            row = named_row(tables, "messages", _MESSAGE, "rowid = ?", row_id)
            fields = {
                "id": string(row.get("message_id")),
                "role": string(row.get("role")) or "(none)",
                "created": row.get("created_timestamp"),
                "content": json_value(row.get("content_json")),
                "metadata": json_value(row.get("metadata_json")),
            }
            yield StoredRecord(number=number, fields=fields)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return GooseTableParser(context)


SOURCE = GooseDatabase()
