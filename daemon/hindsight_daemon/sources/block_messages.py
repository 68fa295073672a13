"""Messages made of content blocks (text, thinking, tool_use, tool_result) of many agents.

For the parsers of agents' own logs; a base between `log_parser` and the families.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import msgspec

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    mapping,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import decode_json
from hindsight_daemon.sources.log_parser import DocumentParser, LogParser
from hindsight_daemon.sources.port import RawLine
from hindsight_daemon.sources.shell_text import stated_exit_code, states_timeout
from hindsight_daemon.sources.tools import DENIED, INTERRUPTED, TIMEOUT

_CALLS = frozenset(("tool_use", "tool_call", "server_tool_use", "tool-call"))
_RESULTS = frozenset(("tool_result", "tool-result"))
_THOUGHTS = frozenset(("thinking", "reasoning", "redacted_thinking"))


class BlockParser(LogParser):
    """Yields the events of messages; families override how texts are cleaned."""

    def clean(self, text: str) -> str:
        """Return what a person typed in a user text, without what the agent wrapped around it."""
        return text.strip()

    def user_message(self, content: Any, **fields: Any) -> Iterator[Event]:
        """Yield results and the prompt of a user message."""
        texts = []
        for block in content if isinstance(content, list) else [content]:
            if string(mapping(block).get("type")) in _RESULTS:
                yield from self.block_result(block, **fields)
            elif text := self.clean(content_text(block)):
                texts.append(text)
        yield from self.said("prompt", "user", "\n".join(texts), **fields)

    def assistant_message(
        self, content: Any, *, tool_calls: Any = None, ends: bool = True, **fields: Any
    ) -> Iterator[Event]:
        """Yield thoughts, texts and calls of an answer.

        Its last text ends the turn if `ends` and nothing is called; `tool_calls` is the list of
        the OpenAI form.
        """
        blocks = content if isinstance(content, list) else [content]
        calls = [mapping(call) for call in sequence(tool_calls)]
        has_call = bool(calls) or any(string(mapping(one).get("type")) in _CALLS for one in blocks)
        spoken = [n for n, one in enumerate(blocks) if self._is_spoken(one)]
        for number, block in enumerate(blocks):
            kind = string(mapping(block).get("type"))
            if kind in _THOUGHTS:
                thought = first_string(block, "thinking", "text", "reasoning")
                yield from self.said("reasoning", "assistant", thought, **fields)
            elif kind in _CALLS:
                yield from self.block_call(block, **fields)
            elif kind in _RESULTS:
                yield from self.block_result(block, **fields)
            else:
                is_last = ends and not has_call and spoken[-1:] == [number]
                text = content_text(block)
                yield from self.said("text", "assistant", text, ends_turn=is_last, **fields)
        for call in calls:
            function = mapping(call.get("function")) or call
            name, call_id = string(function.get("name")), string(call.get("id"))
            arguments = decoded(function.get("arguments", function.get("input")))
            yield from self.call(name, call_id, arguments, **fields)

    def _is_spoken(self, block: Any) -> bool:
        kind = string(mapping(block).get("type"))
        return kind not in _THOUGHTS | _CALLS | _RESULTS and bool(content_text(block).strip())

    def block_call(self, block: dict[str, Any], **fields: Any) -> Iterator[Event]:
        """Yield the call that a block asks for."""
        call_id = first_string(block, "id", "tool_use_id", "toolCallId")
        name = first_string(block, "name", "toolName")
        arguments = block.get("input", block.get("args", block.get("arguments")))
        yield from self.call(name, call_id, decoded(arguments), **fields)

    def block_result(self, block: dict[str, Any], **fields: Any) -> Iterator[Event]:
        """Yield the result that a block brings; an unknown id stands for the oldest open call."""
        call_id = first_string(block, "tool_use_id", "toolUseID", "toolUseId", "tool_call_id")
        name = first_string(block, "name", "tool_name")
        text = content_text(block.get("content", block.get("output")))
        is_error = flag(block.get("is_error", block.get("isError")))
        yield from self.outcome(call_id, text, is_error, name=name, **fields)

    def outcome(
        self, call_id: str, text: str, is_error: bool | None, *, name: str = "", **fields: Any
    ) -> Iterator[Event]:
        """Yield a result whose exit code and status are read from its text."""
        known = self._state.calls.get(call_id)
        if known is None and name != "":
            known = next((c for c in self._state.calls.values() if c.name == name), None)
        exit_code, status = None, fields.pop("status", "")
        if known is not None and known.category == "shell":
            exit_code = fields.pop("exit_code", None)
            exit_code = stated_exit_code(text) if exit_code is None else exit_code
            if not status and is_error and states_timeout(text):
                status = TIMEOUT
        fields.pop("exit_code", None)
        if not status and is_error:
            status = status_of(text)
        if exit_code:
            is_error = True
        yield from self.result(
            call_id,
            text,
            name=name,
            exit_code=exit_code,
            is_error=is_error,
            status=status,
            **fields,
        )


class BlockDocumentParser(BlockParser, DocumentParser):
    """The same for transcripts that are one document."""


class TextParser(BlockParser):
    """The same for transcripts that are one text, such as Markdown."""

    def state(self) -> str:
        """Texts are read whole."""
        return ""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of the whole text."""
        # A file keeps its session when its beginning changes; a pipe has no other name.
        is_file = self._context.path.startswith("/")
        self.begin(msgspec.structs.replace(line, text="" if is_file else line.text))
        yield from self.text(line.text.replace("\r\n", "\n"))

    @abstractmethod
    def text(self, text: str) -> Iterator[Event]:
        """Yield the events of a text."""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """A text holds no records; what is none of its own is counted."""
        self.count(f"record of {len(record)} fields")
        yield from ()


def decoded(arguments: Any) -> Any:
    """Decode arguments given as JSON text; anything else comes back as it is."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "["):
        try:
            return decode_json(arguments)
        except ValueError:
            return arguments
    return arguments


def status_of(text: str) -> str:
    """Tell by its wording whether a failed result was refused or stopped by a person."""
    lowered = text[:200].lower()
    if any(mark in lowered for mark in ("denied", "rejected", "user doesn't want")):
        return DENIED
    if any(mark in lowered for mark in ("interrupted by user", "cancelled by user", "aborted")):
        return INTERRUPTED
    return ""
