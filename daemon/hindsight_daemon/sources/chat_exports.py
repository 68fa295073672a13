"""Exports of chats: ChatGPT's `conversations.json`, Claude.ai's, and data sets of ShareGPT's form.

A document is one conversation or a list of them; each is a session under its own id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser, BlockParser, decoded
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import has, line_share
from hindsight_daemon.sources.spoken import role_of

_LISTS = ("conversations", "items", "messages")
_CALL_ROLES = frozenset(("function_call", "tool_call"))
_RESULT_ROLES = frozenset(("observation", "tool", "tool_response", "function_response"))


class ChatGptParser(BlockDocumentParser):
    """Reads ChatGPT conversations; of branches the one that was shown last."""

    agent = "chatgpt"

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of all conversations."""
        number = 0
        for conversation in map(mapping, value if isinstance(value, list) else [value]):
            self._state.session = first_string(conversation, "conversation_id", "id")
            self._state.calls.clear()
            for message in branch(conversation):
                number += 1
                self.at(number)
                yield from self._message(message)

    def _message(self, message: dict[str, Any]) -> Iterator[Event]:
        metadata = mapping(message.get("metadata"))
        author = mapping(message.get("author"))
        role = string(author.get("role"))
        self._ts = moment(message.get("create_time"))
        self._state.model = string(metadata.get("model_slug")) or self._state.model
        native = string(message.get("id"))
        fields: dict[str, Any] = {"native": native, "external_id": native}
        content = mapping(message.get("content"))
        text = _parts(content)
        kind = string(content.get("content_type"))
        is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
        recipient = string(message.get("recipient"))
        if role == "user":
            is_machine = is_hidden or kind == "user_editable_context"
            yield from self.said("prompt", "user", text, is_synthetic=is_machine, **fields)
        elif role == "assistant" and kind in ("thoughts", "reasoning_recap"):
            yield from self.said("reasoning", "assistant", text, **fields)
        elif role == "assistant" and recipient not in ("", "all"):
            arguments = {"code": text} if kind == "code" else decoded(text)
            yield from self.call(recipient, native, arguments, **fields)
        elif role == "assistant":
            ends = message.get("end_turn") is True
            yield from self.said("text", "assistant", text, ends_turn=ends, **fields)
        elif role == "tool":
            failed = kind == "system_error" or None
            name = string(author.get("name"))
            call_id = next(iter(self._state.calls), "")
            yield from self.outcome(call_id, text, failed, name=name, **fields)
        elif role != "system":
            self.count(f"role {role or '(none)'}")


def branch(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages from the root to the current node, the last leaf if none is named."""
    nodes = mapping(conversation.get("mapping"))
    node_id = string(conversation.get("current_node"))
    if node_id not in nodes:
        leaves = [key for key, node in nodes.items() if not mapping(node).get("children")]
        node_id = leaves[-1] if leaves else ""
    messages: list[dict[str, Any]] = []
    visited: set[str] = set()
    while node_id in nodes and node_id not in visited:
        visited.add(node_id)
        node = mapping(nodes[node_id])
        if message := mapping(node.get("message")):
            messages.append(message)
        node_id = string(node.get("parent"))
    return messages[::-1]


def _parts(content: dict[str, Any]) -> str:
    """Return the text of ChatGPT content of any type."""
    texts = []
    for part in sequence(content.get("parts")):
        asset = mapping(part)
        if isinstance(part, str):
            texts.append(part)
        elif text := first_string(asset, "text"):
            texts.append(text)
        elif "asset_pointer" in asset:
            texts.append(f"[{string(asset.get('content_type')) or 'file'}]")
    for thought in map(mapping, sequence(content.get("thoughts"))):
        texts.append(first_string(thought, "content", "summary"))
    texts.append(first_string(content, "text", "result", "content"))
    return "\n".join(text for text in texts if text)


class ClaudeAiParser(BlockDocumentParser):
    """Reads Claude.ai conversations."""

    agent = "claude-ai"

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of all conversations."""
        number = 0
        for conversation in map(mapping, value if isinstance(value, list) else [value]):
            self._state.session = string(conversation.get("uuid"))
            self._state.model = string(conversation.get("model"))
            self._state.calls.clear()
            for message in map(mapping, sequence(conversation.get("chat_messages"))):
                number += 1
                self.at(number)
                yield from self._message(message)

    def _message(self, message: dict[str, Any]) -> Iterator[Event]:
        self._ts = moment(message.get("created_at"))
        native = string(message.get("uuid"))
        fields: dict[str, Any] = {"native": native, "external_id": native}
        content = sequence(message.get("content")) or message.get("text")
        if isinstance(content, list) and not content_text(content):
            has_tools = any(mapping(one).get("type") in ("tool_use", "thinking") for one in content)
            content = content if has_tools else message.get("text")
        sender = message.get("sender")
        if sender == "human":
            attached = [
                f"[{string(mapping(one).get('file_name')) or 'file'}]"
                for one in sequence(message.get("attachments"))
            ]
            blocks = content if isinstance(content, list) else [content]
            yield from self.user_message([*blocks, *attached], **fields)
        elif sender == "assistant":
            yield from self.assistant_message(content, **fields)
        else:
            self.count(f"sender {string(sender) or '(none)'}")


class ShareGptParser(BlockParser):
    """Reads conversations of `from` and `value`, one a line."""

    agent = "sharegpt"

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one conversation."""
        native = record.get("id", record.get("conversation_id"))
        named = str(native) if isinstance(native, str | int) and str(native) else ""
        self._state.session = named or f"{self._state.fallback}-{self._line.number}"
        self._state.calls.clear()
        for number, turn in enumerate(map(mapping, turns_of(record))):
            yield from self._turn(turn, f"turn {number}")

    def _turn(self, turn: dict[str, Any], native: str) -> Iterator[Event]:
        named = first_string(turn, "from", "role").lower()
        text = content_text(turn.get("value", turn.get("content")))
        role = role_of(named)
        if named in _CALL_ROLES:
            call = mapping(decoded(text))
            arguments = call.get("arguments", call.get("parameters", text))
            yield from self.call(
                string(call.get("name")) or "tool", native, arguments, native=native
            )
        elif named in _RESULT_ROLES or role == "tool":
            yield from self.outcome("", text, None, native=native)
        elif role == "user":
            yield from self.said("prompt", "user", text, native=native)
        elif role == "assistant":
            yield from self.said("text", "assistant", text, native=native, ends_turn=True)
        elif role is None:
            self.count(f"from {named or '(none)'}")


def turns_of(record: dict[str, Any]) -> list[Any]:
    """Return the turns of a conversation under any of their names."""
    return next((sequence(record[name]) for name in _LISTS if sequence(record.get(name))), [])


class ShareGptDocumentParser(ShareGptParser, BlockDocumentParser):
    """Reads conversations of `from` and `value` in one document."""

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of all conversations."""
        for number, record in enumerate(
            map(mapping, value if isinstance(value, list) else [value]), 1
        ):
            self.at(number)
            yield from self.record(record)


class _Export:
    """What exports have in common: nobody keeps them by default."""

    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Exports have no home."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept JSON documents."""
        return path.suffix == ".json"


class ChatGptExport(_Export):
    """ChatGPT's export."""

    name = "chatgpt-export"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept conversations with a mapping of nodes."""
        return 0.95 if has(head, "[].mapping") or has(head, "mapping", "title") else 0.0

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one export."""
        return ChatGptParser(context)


class ClaudeAiExport(_Export):
    """Claude.ai's export."""

    name = "claude-ai-export"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept conversations with chat messages."""
        return 0.95 if has(head, "[].chat_messages") or has(head, "uuid", "chat_messages") else 0.0

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one export."""
        return ClaudeAiParser(context)


class ShareGpt(_Export):
    """Data sets of ShareGPT's form as one document."""

    name = "sharegpt"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept conversations of `from` and `value`."""
        found = any(
            has(head, f"{at}{name}[].from", f"{at}{name}[].value")
            for at in ("[].", "")
            for name in _LISTS
        )
        return 0.95 if found else 0.0

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one data set."""
        return ShareGptDocumentParser(context)


def _weigh(record: dict[str, Any]) -> float:
    return 2.0 * any({"from", "value"} <= mapping(turn).keys() for turn in turns_of(record))


class ShareGptLines(ShareGpt):
    """The same with one conversation a line."""

    name = "sharegpt-lines"
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of conversations."""
        return line_share(head, path, _weigh)

    def matches(self, path: Path) -> bool:
        """Accept JSON Lines."""
        return path.suffix in (".jsonl", ".ndjson")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one data set."""
        return ShareGptParser(context)


CHATGPT = ChatGptExport()
CLAUDE_AI = ClaudeAiExport()
SHAREGPT = ShareGpt()
SHAREGPT_LINES = ShareGptLines()
