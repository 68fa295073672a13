"""Warp: `warp.sqlite`, of whose conversations only what was asked is kept there as text.

Tables `agent_conversations` and `ai_queries`; answers are not stored in a readable form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import mapping, moment, sequence, string
from hindsight_daemon.sources.log_parser import LogParser
from hindsight_daemon.sources.port import (
    Parser,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import (
    json_value,
    keys_of,
    marks_by,
    named_row,
    tables_score,
)

AGENT = "warp"
_TABLES = {"ai_queries": "exchange_id conversation_id start_ts input"}
_QUERY = ("exchange_id", "start_ts", "input", "working_directory", "model_id")


class WarpParser(LogParser):
    """Reads one conversation."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the prompt of one exchange."""
        self._state.session = string(record.get("session"))
        self._state.cwd = string(record.get("working_directory")) or self._state.cwd
        self._ts = moment(record.get("start_ts"))
        native = string(record.get("exchange_id"))
        for item in sequence(record.get("input")):
            text = string(mapping(mapping(item).get("Query")).get("text"))
            yield from self.said("prompt", "user", text, native=native)


class Warp:
    """The Warp family."""

    name = AGENT
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        return tables_score(head, _TABLES)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the state folder on Linux and the group container on macOS."""
        state = Path(env["XDG_STATE_HOME"]) if env.get("XDG_STATE_HOME") else home / ".local/state"
        group = home / "Library/Group Containers/2BBY89MBSN.dev.warp/Library/Application Support"
        return [state / "warp-terminal", group / "dev.warp.Warp-Stable"]

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "warp.sqlite"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark conversations by number and last time of their exchanges."""
        marks = marks_by(tables, "ai_queries", "conversation_id", "start_ts")
        return [
            StoredSession(key=key, mark=mark)
            for key, mark in sorted(marks.items(), key=lambda one: one[1].partition(":")[2])
        ]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - queries are stored whole
        """Yield the exchanges of a conversation."""
        order = ("start_ts", "exchange_id")
        listed = keys_of(tables, "ai_queries", "exchange_id", "conversation_id = ?", order, key)
        for number, exchange_id in enumerate(listed, 1):
            row = named_row(tables, "ai_queries", _QUERY, "exchange_id = ?", exchange_id)
            given = json_value(row.get("input"))
            yield StoredRecord(number=number, fields={**row, "session": key, "input": given})

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one conversation."""
        return WarpParser(context)


SOURCE = Warp()
