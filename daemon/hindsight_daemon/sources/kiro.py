"""Kiro CLI and its forerunner Amazon Q: `data.sqlite3`, one JSON document a conversation.

`conversations_v2(key, conversation_id, value, …)`; before it `conversations(key, value)`, with the
working folder as key. The database also holds credentials; no other table is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import (
    compact,
    first_string,
    integer,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.port import (
    Parser,
    Skipped,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import json_value, tables_score
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "kiro"
_NOW, _BEFORE = "conversations_v2", "conversations"


class KiroParser(BlockParser):
    """Reads one conversation."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the conversation's frame or of one exchange."""
        if record.get("type") == "session":
            self._state.session = string(record.get("id"))
            self._state.cwd = string(record.get("cwd"))
            return
        if record.get("type") == "damaged":
            self.skipped.append(Skipped(line=self._line.number, reason="damaged conversation"))
            return
        exchange = record.get("exchange")
        pair = sequence(exchange)
        user = mapping(pair[0] if pair else mapping(exchange).get("user"))
        answer = mapping(pair[1] if len(pair) > 1 else mapping(exchange).get("assistant"))
        said = mapping(answer.get("Response")) or mapping(answer.get("ToolUse"))
        metadata = mapping(mapping(exchange).get("request_metadata"))
        place = string(said.get("message_id")) or string(user.get("timestamp"))
        native = place or f"exchange {self._line.number}"
        environment = mapping(mapping(user.get("env_context")).get("env_state"))
        cwd = string(environment.get("current_working_directory"))
        self._state.cwd = cwd or self._state.cwd
        self._ts = moment(user.get("timestamp"))
        yield from self._asked(mapping(user.get("content")), native)
        self._ts = moment(metadata.get("stream_end_timestamp_ms")) or self._ts
        uses = sequence(said.get("tool_uses"))
        ends = "Response" in answer
        text = string(said.get("content"))
        yield from self.said("text", "assistant", text, native=native, ends_turn=ends)
        for use in map(mapping, uses):
            name, call_id = string(use.get("name")), string(use.get("id"))
            yield from self.call(name, call_id, use.get("args"), native=native)
        for kind in answer.keys() - {"Response", "ToolUse"}:
            self.count(f"answer {kind}")

    def _asked(self, content: dict[str, Any], native: str) -> Iterator[Event]:
        for kind, value in content.items():
            inner = mapping(value)
            if kind == "CancelledToolUses":
                yield from self.event("interrupt", "user", "", native=native, ends_turn=True)
            elif kind not in ("Prompt", "ToolUseResults"):
                self.count(f"content {kind}")
            status = INTERRUPTED if kind == "CancelledToolUses" else ""
            for result in map(mapping, sequence(inner.get("tool_use_results"))):
                yield from self._result(result, native, status)
            yield from self.said("prompt", "user", string(inner.get("prompt")), native=native)

    def _result(self, result: dict[str, Any], native: str, status: str) -> Iterator[Event]:
        texts, exit_code = [], None
        for part in map(mapping, sequence(result.get("content"))):
            data = mapping(part.get("Json"))
            exit_code = integer(data.get("exit_status", data.get("exit_code")))
            output = [string(data.get(name)) for name in ("stdout", "stderr")]
            text = "\n".join(filter(None, output)) or first_string(part, "Text")
            texts.append(text or (compact(data) if data and exit_code is None else ""))
        yield from self.outcome(
            string(result.get("tool_use_id")),
            "\n".join(filter(None, texts)),
            string(result.get("status")).lower() == "error" or None,
            native=native,
            exit_code=exit_code,
            status=status,
        )


class Kiro:
    """The Kiro CLI family."""

    name = AGENT
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        now = tables_score(head, {_NOW: "key conversation_id value"})
        return now or tables_score(head, {_BEFORE: "key value"}) * 0.9

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the data folders of Kiro CLI and Amazon Q."""
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local/share"
        bases = (data, home / "Library/Application Support")
        return [base / name for base in bases for name in ("kiro-cli", "amazon-q")]

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "data.sqlite3"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark conversations by time and size; the key names the table and the row."""
        found = []
        if "value" in tables.columns(_BEFORE):
            query = f"SELECT rowid, LENGTH(value) FROM {_BEFORE} ORDER BY rowid"
            found += [StoredSession(key=f"1 {row}", mark=f"{n}") for row, n in tables.rows(query)]
        if {"value", "updated_at"} <= tables.columns(_NOW):
            query = f"SELECT rowid, updated_at, LENGTH(value) FROM {_NOW} ORDER BY updated_at"
            found += [
                StoredSession(key=f"2 {row}", mark=f"{at} {n}") for row, at, n in tables.rows(query)
            ]
        return found

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - exchanges are stored whole
        """Yield the frame of a conversation and its exchanges."""
        table, _, row_id = key.partition(" ")
        name = _BEFORE if table == "1" else _NOW
        found = tables.row(f"SELECT key, value FROM {name} WHERE rowid = ?", integer(row_id))
        if found is None:
            return
        cwd, document = string(found[0]), mapping(json_value(found[1]))
        session = string(document.get("conversation_id")) or f"{name} {row_id}"
        yield StoredRecord(number=0, fields={"type": "session", "id": session, "cwd": cwd})
        if not document:
            yield StoredRecord(number=1, fields={"type": "damaged"})
        for number, exchange in enumerate(sequence(document.get("history")), 1):
            yield StoredRecord(number=number, fields={"exchange": exchange})

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one conversation."""
        return KiroParser(context)


SOURCE = Kiro()
