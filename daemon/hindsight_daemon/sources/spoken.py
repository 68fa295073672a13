"""Events of transcripts that hold little more than who said what: roles, speakers, tools.

For the generic sources only: plain lines, chat messages, Markdown.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hindsight_daemon.model import Event, EventKind, Origin, Role, ToolUse
from hindsight_daemon.sources.fields import MESSAGE_CHARS, RESULT_CHARS, bounded
from hindsight_daemon.sources.identity import derived_id, sequence_number
from hindsight_daemon.sources.port import RawLine, TranscriptContext
from hindsight_daemon.sources.tools import MAX_OPEN_CALLS, OpenCall, read_call

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "person", "customer", "用户", "我", "人类", "问"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "agent", "model", "bot", "gpt", "claude", "chatgpt", "助手", "答"),
        "assistant",
    ),
    **dict.fromkeys(("tool", "function", "observation", "tool_result", "function_result"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}


def role_of(name: str) -> Role | None:
    """Return the role that a role or speaker name stands for, None for a person's name."""
    return _ROLES.get(name.strip().lower())


def kind_of(role: Role) -> EventKind:
    """Return the kind of a plain text said in a role."""
    if role == "user":
        return "prompt"
    return "tool_result" if role == "tool" else "text"


class Conversation:
    """Makes the events of one conversation; remembers its open tool calls."""

    def __init__(self, agent: str, context: TranscriptContext, session: str) -> None:
        self.agent = agent
        self.session = session
        self.calls: dict[str, OpenCall] = {}
        self._context = context

    def event(
        self,
        line: RawLine,
        index: int,
        ordinal: str,
        kind: EventKind,
        role: Role,
        text: str,
        *,
        ts: datetime | None = None,
        **fields: Any,
    ) -> Event:
        """Make an event; `ordinal` is its own id in the record, or its place."""
        limit = RESULT_CHARS if kind == "tool_result" else MESSAGE_CHARS
        return Event(
            id=derived_id(self.agent, self._context.project, self.session, ordinal, kind, text),
            agent=self.agent,
            session_id=self.session,
            seq=sequence_number(line, index),
            kind=kind,
            role=role,
            text=bounded(text, limit),
            ts=ts,
            origin=Origin(
                path=self._context.path,
                line=line.number,
                byte_start=line.byte_start,
                byte_end=line.byte_end,
                sha256=line.sha256,
            ),
            **fields,
        )

    def call(
        self,
        line: RawLine,
        index: int,
        ordinal: str,
        name: str,
        call_id: str,
        arguments: Any,
        **fields: Any,
    ) -> Event:
        """Make a tool call and remember it for its result."""
        use, opened = read_call(name, call_id, arguments)
        self.calls[call_id] = opened
        if len(self.calls) > MAX_OPEN_CALLS:
            self.calls.pop(next(iter(self.calls)))
        return self.event(
            line,
            index,
            f"{ordinal}|{call_id}|{use.arguments}",
            "tool_call",
            "assistant",
            "",
            tool=use,
            files=opened.files,
            **fields,
        )

    def result(
        self,
        line: RawLine,
        index: int,
        ordinal: str,
        call_id: str,
        text: str,
        *,
        name: str = "",
        exit_code: int | None = None,
        is_error: bool | None = None,
        **fields: Any,
    ) -> Event:
        """Make a tool result with the name and command of its call."""
        call = self.calls.pop(call_id, None) or OpenCall(name=name)
        if is_error is None and exit_code is not None:
            is_error = exit_code != 0
        tool = ToolUse(
            name=call.name or name,
            category=call.category,
            call_id=call_id,
            command=call.command,
            exit_code=exit_code,
            is_error=is_error,
        )
        return self.event(
            line,
            index,
            f"{ordinal}|{call_id}",
            "tool_result",
            "tool",
            text,
            tool=tool,
            files=call.files,
            **fields,
        )
