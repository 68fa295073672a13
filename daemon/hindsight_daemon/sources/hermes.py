"""Hermes: `~/.hermes/state.db`, tables `sessions` and `messages` in the form of OpenAI's chats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import content_text, moment, string
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

AGENT = "hermes"
_TABLES = {
    "sessions": "id started_at",
    "messages": "id session_id role content tool_calls tool_call_id",
}
_MESSAGE = (
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "reasoning",
    "finish_reason",
)


class HermesParser(BlockParser):
    """Reads one session."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the session's row or of one message."""
        if record.get("type") == "session":
            self._state.session = string(record.get("id"))
            self._state.parent = string(record.get("parent_session_id"))
            self._state.model = string(record.get("model"))
            self._state.cwd = string(record.get("cwd"))
            return
        self._ts = moment(record.get("timestamp"))
        role, native = string(record.get("role")), string(record.get("row"))
        content = _content(record.get("content"))
        if role == "user":
            yield from self.user_message(content, native=native)
        elif role == "assistant":
            thought = string(record.get("reasoning"))
            yield from self.said("reasoning", "assistant", thought, native=native)
            calls = json_value(record.get("tool_calls"))
            ends = record.get("finish_reason") in (None, "stop", "end_turn")
            yield from self.assistant_message(content, tool_calls=calls, ends=ends, native=native)
        elif role == "tool":
            call_id, name = string(record.get("tool_call_id")), string(record.get("tool_name"))
            yield from self.outcome(call_id, content_text(content), None, name=name, native=native)
        elif role != "system":
            self.count(f"role {role or '(none)'}")


def _content(value: Any) -> Any:
    """Decode content that is a list of parts as JSON text; plain text stays as it is."""
    text = string(value)
    decoded = json_value(text) if text.startswith("[{") else None
    return decoded if isinstance(decoded, list) else text


class Hermes:
    """The Hermes family."""

    name = AGENT
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        return tables_score(head, _TABLES)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `$HERMES_HOME` or `~/.hermes`."""
        return [Path(env["HERMES_HOME"]) if env.get("HERMES_HOME") else home / ".hermes"]

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "state.db"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark sessions by number and places of their messages, which never change."""
        messages = marks_by(tables, "messages", "session_id", ROW_ID)
        keys = keys_of(tables, "sessions", "id", "1", ("started_at", "id"))
        return [StoredSession(key=key, mark=str(messages.get(key))) for key in map(str, keys)]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - messages are stored whole
        """Yield the session's row and its messages."""
        wanted = ("parent_session_id", "model", "cwd")
        session = named_row(tables, "sessions", wanted, "id = ?", key)
        yield StoredRecord(number=0, fields={**session, "type": "session", "id": key})
        order = ("timestamp", "id")
        listed = keys_of(tables, "messages", "id", "session_id = ?", order, key)
        for number, row_id in enumerate(listed, 1):
            row = named_row(tables, "messages", _MESSAGE, "id = ?", row_id)
            yield StoredRecord(number=number, fields={**row, "row": str(row_id)})

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return HermesParser(context)


SOURCE = Hermes()
