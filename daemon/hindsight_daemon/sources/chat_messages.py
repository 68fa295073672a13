"""Chat transcripts of the OpenAI, Anthropic and ShareGPT forms, as JSON or JSON Lines.

A document is one conversation or a list of them; a line is a conversation or one message of the
conversation that the file is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import (
    block_text,
    content_text,
    first_string,
    flag,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.identity import fallback_session
from hindsight_daemon.sources.json_text import decode_json, head_lines
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.spoken import Conversation, kind_of, role_of
from hindsight_daemon.sources.tools import OpenCall

AGENT = "chat"
_LISTS = ("messages", "conversations", "conversation", "chat_messages", "items", "history")
_ROLE = ("role", "from", "sender")
_TOOL_BLOCKS = ("tool_use", "tool_result", "thinking")
_TIME = ("ts", "timestamp", "created_at", "create_time", "time")


class _State(msgspec.Struct, omit_defaults=True):
    fallback: str = ""
    calls: dict[str, OpenCall] = {}
    ordinal: int = 0


class ChatParser:
    """Reads one chat transcript, whole or line by line."""

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context
        self._state = _State()
        if context.state:
            self._state = msgspec.json.decode(context.state, type=_State)
        self._index = 0

    def state(self) -> str:
        """Return what a new parser needs to go on from here, as JSON text."""
        return msgspec.json.encode(self._state).decode("utf-8")

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of one line or one document."""
        if not line.text or line.text.isspace():
            return
        try:
            value = decode_json(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        self._state.fallback = self._state.fallback or fallback_session(
            self._context, line.text[:4096]
        )
        self._index = 0
        if is_message(value):
            talk = Conversation(AGENT, self._context, self._session(value, ""))
            talk.calls = self._state.calls
            yield from self._message(line, talk, value, str(self._state.ordinal))
            self._state.ordinal += 1
            return
        found = False
        for number, (record, messages) in enumerate(conversations_in(value)):
            found = True
            place = f"-{line.number}.{number}" if line.number > 1 or number else ""
            talk = Conversation(AGENT, self._context, self._session(record, place))
            for ordinal, message in enumerate(messages):
                yield from self._message(line, talk, mapping(message), str(ordinal))
        if not found:
            reason = "neither a message nor a list of messages"
            self.skipped.append(Skipped(line=line.number, reason=reason))

    def _session(self, record: dict[str, Any], place: str) -> str:
        native = first_string(record, "session_id", "conversation_id", "session")
        if not is_message(record):
            native = native or first_string(record, "id", "uuid")
        return self._context.session_id or native or f"{self._state.fallback}{place}"

    def _next(self) -> int:
        self._index += 1
        return self._index - 1

    def _message(
        self, line: RawLine, talk: Conversation, message: dict[str, Any], ordinal: str
    ) -> Iterator[Event]:
        named = first_string(message, *_ROLE)
        role = role_of(named)
        if role is None:
            self.unknown[f"role {named}"] = self.unknown.get(f"role {named}", 0) + 1
            return
        native = first_string(message, "id", "uuid")
        shared: dict[str, Any] = {
            "ts": next((t for name in _TIME if (t := moment(message.get(name)))), None),
            "external_id": native,
            "model": string(message.get("model")),
            "speaker": string(message.get("name")) if role in ("user", "assistant") else "",
        }
        content = message.get("content", message.get("value", message.get("text")))
        if role == "tool":
            call_id = first_string(message, "tool_call_id", "name")
            text = content_text(content)
            name = string(message.get("name"))
            yield talk.result(line, self._next(), ordinal, call_id, text, name=name, **shared)
            return
        reasoning = string(message.get("reasoning_content"))
        if reasoning.strip():
            yield talk.event(
                line, self._next(), ordinal, "reasoning", "assistant", reasoning, **shared
            )
        spoken: list[str] = []
        for block in [*(content if isinstance(content, list) else [content]), None]:
            is_tool = string(mapping(block).get("type")) in _TOOL_BLOCKS
            if not is_tool and (text := block_text(block)):
                spoken.append(text)
            if (is_tool or block is None) and (said := "\n".join(spoken).strip()):
                spoken = []
                yield talk.event(
                    line,
                    self._next(),
                    ordinal,
                    kind_of(role),
                    role,
                    said,
                    is_synthetic=role == "system",
                    **shared,
                )
            if is_tool:
                yield from self._block(line, talk, mapping(block), ordinal, shared)
        calls = sequence(message.get("tool_calls"))
        if old := mapping(message.get("function_call")):
            calls = [{"id": string(old.get("name")), "function": old}]
        for call in map(mapping, calls):
            function = mapping(call.get("function")) or call
            name = string(function.get("name"))
            yield talk.call(
                line,
                self._next(),
                ordinal,
                name,
                string(call.get("id")) or name,
                function.get("arguments"),
                **shared,
            )

    def _block(
        self,
        line: RawLine,
        talk: Conversation,
        block: dict[str, Any],
        ordinal: str,
        shared: dict[str, Any],
    ) -> Iterator[Event]:
        kind = block["type"]
        if kind == "tool_use":
            call_id, name = string(block.get("id")), string(block.get("name"))
            yield talk.call(
                line, self._next(), ordinal, name, call_id, block.get("input"), **shared
            )
        elif kind == "tool_result":
            yield talk.result(
                line,
                self._next(),
                ordinal,
                string(block.get("tool_use_id")),
                content_text(block.get("content")),
                is_error=flag(block.get("is_error")),
                **shared,
            )
        elif text := string(block.get("thinking")).strip():
            yield talk.event(line, self._next(), ordinal, "reasoning", "assistant", text, **shared)


def is_message(value: Any) -> bool:
    """Tell whether a value is a single chat message."""
    if not isinstance(value, dict) or not first_string(value, *_ROLE):
        return False
    return not any(isinstance(value.get(name), list) for name in _LISTS)


def conversations_in(value: Any) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield each conversation of a value with the record that carries it."""
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(value.get(name), list) and any(map(is_message, value[name])):
                yield value, value[name]
                return
        if isinstance(value.get("mapping"), dict):
            yield value, _branch(value)
        return
    values = sequence(value)
    if any(map(is_message, values)):
        yield {}, values
        return
    for entry in values:
        yield from conversations_in(entry)


def _branch(record: dict[str, Any]) -> list[Any]:
    """Return the messages from the root to the current node of a ChatGPT export."""
    nodes = record["mapping"]
    node_id = string(record.get("current_node"))
    messages: list[Any] = []
    visited: set[str] = set()
    while node_id in nodes and node_id not in visited:
        visited.add(node_id)
        node = mapping(nodes[node_id])
        message = mapping(node.get("message"))
        if role := string(mapping(message.get("author")).get("role")):
            content = mapping(message.get("content"))
            parts = [part for part in sequence(content.get("parts")) if isinstance(part, str)]
            text = "\n".join(parts) or string(content.get("text"))
            messages.append(
                {
                    "role": role,
                    "content": text,
                    "id": string(message.get("id")),
                    "created_at": message.get("create_time"),
                }
            )
        node_id = string(node.get("parent"))
    return messages[::-1]


class ChatDocument:
    """Chat as one JSON document."""

    name = "chat"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a document that begins like a list of messages or of conversations."""
        begin = head.lstrip()[:16384]
        if not begin.startswith(("{", "[")) or _has_complete_line(begin):
            return 0.0
        has_role = any(f'"{name}"' in begin for name in _ROLE)
        has_text = any(f'"{name}"' in begin for name in ("content", "value", "text", "tool_calls"))
        if has_role and has_text:
            return 0.8
        return 0.7 if '"mapping"' in begin and '"title"' in begin else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Nobody keeps these by default."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept JSON documents."""
        return path.suffix == ".json"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one document."""
        return ChatParser(context)


class ChatLines:
    """Chat as JSON Lines."""

    name = "chat-lines"
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Rate a beginning by the share of lines that are messages or conversations."""
        good = bad = 0
        for text in head_lines(head, 32):
            try:
                value = decode_json(text)
            except ValueError:
                bad += 1
                continue
            has_content = isinstance(value, dict) and {"content", "value", "tool_calls"} & set(
                value
            )
            if (is_message(value) and has_content) or (
                isinstance(value, dict) and next(conversations_in(value), None)
            ):
                good += 1
            else:
                bad += 1
        # Just above the generic form for lines that carry nothing but role and content, just
        # below it for lines with the generic form's own fields.
        own = any(f'"{name}"' in head[:8192] for name in ("session", "speaker", "ts", "tool"))
        return (0.8 if own else 0.9) * good / (good + bad) if good else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Nobody keeps these by default."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept JSON Lines."""
        return path.suffix in (".jsonl", ".ndjson")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return ChatParser(context)


def _has_complete_line(text: str) -> bool:
    """Tell whether the first line is an object of its own, as in JSON Lines."""
    first = text.split("\n", 1)[0].strip()
    if not first.startswith("{"):
        return False
    try:
        decode_json(first)
    except ValueError:
        return False
    return True


SOURCE = ChatDocument()
LINES = ChatLines()
