"""Continue sessions: `~/.continue/sessions/<session>.json`, one document each.

Only the session itself has a folder; messages have no times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    folder_of_uri,
    mapping,
    sequence,
    string,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "continue"
_FINAL = frozenset(("done", "errored", "canceled"))


class ContinueParser(BlockDocumentParser):
    """Reads one session."""

    agent = AGENT

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole session."""
        session = mapping(value)
        self._state.session = string(session.get("sessionId"))
        self._state.cwd = folder_of_uri(string(session.get("workspaceDirectory")))
        self._state.model = string(session.get("chatModelTitle"))
        for number, item in enumerate(map(mapping, sequence(session.get("history"))), 1):
            self.at(number)
            yield from self._item(item, f"message {number}")

    def _item(self, item: dict[str, Any], native: str) -> Iterator[Event]:
        message = mapping(item.get("message"))
        role, content = string(message.get("role")), message.get("content")
        if role == "user":
            yield from self.user_message(content, native=native)
        elif role == "thinking":
            yield from self.said("reasoning", "assistant", content_text(content), native=native)
        elif role == "assistant":
            calls = message.get("toolCalls")
            states = [mapping(one) for one in sequence(item.get("toolCallStates"))]
            if not calls:
                calls = [state.get("toolCall") for state in states]
            yield from self.assistant_message(content, tool_calls=calls, native=native)
            for state in states:
                yield from self._state_of_call(state, native)
        elif role == "tool":
            call_id = string(message.get("toolCallId"))
            if call_id in self._state.calls:
                yield from self.outcome(call_id, content_text(content), None, native=native)
        elif role != "system":
            self.count(f"role {role or '(none)'}")
        if summary := string(item.get("conversationSummary")):
            yield from self.event("compaction", "system", summary, native=native, is_synthetic=True)

    def _state_of_call(self, state: dict[str, Any], native: str) -> Iterator[Event]:
        status = string(state.get("status"))
        if status not in _FINAL:
            return
        outputs = [mapping(one) for one in sequence(state.get("output"))]
        texts = [first_string(one, "content", "description") for one in outputs]
        call_id = string(state.get("toolCallId"))
        call_id = call_id or string(mapping(state.get("toolCall")).get("id"))
        yield from self.outcome(
            call_id,
            "\n".join(text for text in texts if text),
            status != "done",
            status=INTERRUPTED if status == "canceled" else "",
            native=native,
        )


class ContinueDev:
    """The Continue family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept a session with its history of messages."""
        if has(head, "sessionId", "workspaceDirectory", "history"):
            return FULL
        is_own = has(head, "history[].message", "history[].contextItems")
        return FULL if is_own or ("/.continue/" in path and has(head, "history[].message")) else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` below `$CONTINUE_GLOBAL_DIR` or `~/.continue`."""
        base = env.get("CONTINUE_GLOBAL_DIR", "")
        return [(Path(base) if base else home / ".continue") / "sessions"]

    def matches(self, path: Path) -> bool:
        """Accept sessions, not their index."""
        is_session = path.suffix == ".json" and path.name != "sessions.json"
        return is_session and path.parent.name == "sessions"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return ContinueParser(context)


SOURCE = ContinueDev()
