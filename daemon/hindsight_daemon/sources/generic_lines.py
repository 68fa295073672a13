"""The form anybody can pipe in: JSON Lines, one message a line.

`{"id"?, "session"?, "ts"?, "role"?, "speaker"?, "text"|"content", "tool"?, …}`. `id` comes back as
`external_id`. `tool` is a name, or an object with `name`, `call_id`, `input`, `output`,
`exit_code`, `is_error`. A line without role whose speaker is a person's name is plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from hindsight_daemon.model import Event, Role
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    integer,
    mapping,
    moment,
    string,
)
from hindsight_daemon.sources.identity import fallback_session
from hindsight_daemon.sources.json_text import decode_object, head_lines
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.spoken import Conversation, kind_of, role_of
from hindsight_daemon.sources.tools import OpenCall

_TEXT = ("text", "content", "message")
_TIME = ("ts", "timestamp", "time", "created_at")
_SESSION = ("session", "session_id", "sessionId", "conversation_id")
_MAX_SESSIONS = 64


class _State(msgspec.Struct, omit_defaults=True):
    fallback: str = ""
    calls: dict[str, dict[str, OpenCall]] = {}


class GenericParser:
    """Reads one transcript in the generic form."""

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context
        self._state = _State()
        if context.state:
            self._state = msgspec.json.decode(context.state, type=_State)

    def state(self) -> str:
        """Return what a new parser needs to go on from here, as JSON text."""
        self._state.calls = {name: calls for name, calls in self._state.calls.items() if calls}
        return msgspec.json.encode(self._state).decode("utf-8")

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of one line."""
        if not line.text or line.text.isspace():
            return
        try:
            record = decode_object(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        if not self._state.fallback:
            self._state.fallback = fallback_session(self._context, line.text)
        text = next((found for name in _TEXT if (found := content_text(record.get(name)))), "")
        if not text.strip() and not record.get("tool"):
            reason = "no text: one of `text` or `content` is needed"
            self.skipped.append(Skipped(line=line.number, reason=reason))
            return
        yield from self._message(line, record, text.strip())

    def _message(self, line: RawLine, record: dict[str, Any], text: str) -> Iterator[Event]:
        session = self._context.session_id or self._session(record) or self._state.fallback
        talk = Conversation(string(record.get("agent")) or "generic", self._context, session)
        talk.calls = self._state.calls.pop(session, {})
        self._state.calls[session] = talk.calls
        if len(self._state.calls) > _MAX_SESSIONS:
            self._state.calls.pop(next(iter(self._state.calls)))
        native = record.get("id")
        external_id = str(native) if isinstance(native, str | int) else ""
        named = first_string(record, "speaker", "name", "author")
        shared: dict[str, Any] = {
            "ts": next((t for name in _TIME if (t := moment(record.get(name)))), None),
            "external_id": external_id,
            "speaker": named,
            "cwd": string(record.get("cwd")),
            "git_branch": string(record.get("git_branch")),
            "model": string(record.get("model")),
        }
        ordinal = f"#{external_id}" if external_id else str(line.number)
        role = role_of(string(record.get("role"))) or role_of(named)
        tool = record.get("tool")
        if tool or role == "tool":
            yield from self._tool(line, talk, ordinal, record, text, role, shared)
            return
        # A person's name says nothing of who gives tasks to whom: plain text, no prompt.
        kind = kind_of(role) if role else "text"
        yield talk.event(
            line,
            0,
            ordinal,
            kind,
            role or "user",
            text,
            is_synthetic=role == "system" or record.get("synthetic") is True,
            ends_turn=record.get("ends_turn") is True,
            **shared,
        )

    def _tool(
        self,
        line: RawLine,
        talk: Conversation,
        ordinal: str,
        record: dict[str, Any],
        text: str,
        role: Role | None,
        shared: dict[str, Any],
    ) -> Iterator[Event]:
        tool = record.get("tool")
        fields = {**record, **mapping(tool)}
        name = string(tool) or first_string(fields, "name", "tool_name") or "tool"
        call_id = first_string(fields, "call_id", "tool_call_id") or name
        given = fields.get("input", fields.get("arguments", fields.get("command")))
        output = content_text(fields.get("output", fields.get("result")))
        code = integer(fields.get("exit_code"))
        is_result = role == "tool" or bool(output) or code is not None
        index = 0
        if given is not None or not is_result:
            arguments = text if given is None else given
            yield talk.call(line, index, ordinal, name, call_id, arguments, **shared)
            index = 1
        if is_result:
            yield talk.result(
                line,
                index,
                ordinal,
                call_id,
                output or text,
                name=name,
                exit_code=code,
                is_error=flag(fields.get("is_error")),
                **shared,
            )

    def _session(self, record: dict[str, Any]) -> str:
        for name in _SESSION:
            value = record.get(name)
            if isinstance(value, str | int) and str(value):
                return str(value)
        return ""


class GenericLines:
    """Our own JSON Lines form."""

    name = "generic"
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Rate a beginning by the share of lines with a text and nothing of other families."""
        good = bad = 0
        for text in head_lines(head, 32):
            try:
                record = decode_object(text)
            except ValueError:
                bad += 1
                continue
            has_text = any(isinstance(record.get(name), str) for name in _TEXT)
            named = {"role", "speaker", "session", "ts", "id", "tool", "name", "author"}
            if "type" in record and not {"role", "speaker"} & record.keys():
                bad += 1  # typed records belong to some agent's own format
                continue
            is_plain = isinstance(record.get("text"), str)
            if is_plain or ((has_text or record.get("tool")) and named & record.keys()):
                good += 1
            else:
                bad += 1
        return 0.85 * good / (good + bad) if good else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Nobody keeps these by default."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept JSON Lines."""
        return path.suffix in (".jsonl", ".ndjson")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return GenericParser(context)


SOURCE = GenericLines()
