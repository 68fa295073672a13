"""Copilot of Visual Studio: OpenTelemetry traces, `*_VSGitHubCopilot_traces.jsonl`.

A span is written when it ends, a call and its result at once. Words of the user and the model
are there only if the editor was told to record them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser, decoded
from hindsight_daemon.sources.fields import content_text, mapping, moment, sequence, string
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "copilot-visualstudio"


class TraceParser(BlockParser):
    """Reads one file of traces; each conversation in it is a session."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of all spans of an export."""
        for resource in map(mapping, sequence(record.get("resourceSpans"))):
            for scope in map(mapping, sequence(resource.get("scopeSpans"))):
                for span in map(mapping, sequence(scope.get("spans"))):
                    yield from self._span(span, attributes_of(span.get("attributes")))

    def _span(self, span: dict[str, Any], attributes: dict[str, Any]) -> Iterator[Event]:
        state = self._state
        state.session = string(attributes.get("gen_ai.conversation.id")) or state.session
        native = string(span.get("spanId"))
        self._ts = moment(span.get("startTimeUnixNano"))
        model = string(attributes.get("gen_ai.response.model"))
        state.model = model or string(attributes.get("gen_ai.request.model")) or state.model
        operation = string(attributes.get("gen_ai.operation.name"))
        failed = mapping(span.get("status")).get("code") in (2, "STATUS_CODE_ERROR")
        if operation == "execute_tool":
            yield from self._tool(attributes, native, span.get("endTimeUnixNano"), failed)
        elif operation in ("invoke_agent", "chat"):
            yield from self._words(attributes, native, is_prompt=operation == "invoke_agent")
            if failed:
                text = string(mapping(span.get("status")).get("message")) or "error"
                yield from self.event("error", "system", text, native=native)
        else:
            self.count(f"operation {operation or '(none)'}")

    def _tool(
        self, attributes: dict[str, Any], native: str, ended: Any, failed: bool
    ) -> Iterator[Event]:
        name = string(attributes.get("gen_ai.tool.name"))
        call_id = string(attributes.get("gen_ai.tool.call.id")) or native
        arguments = decoded(attributes.get("gen_ai.tool.call.arguments"))
        yield from self.call(name, call_id, arguments, native=native)
        text = content_text(attributes.get("gen_ai.tool.call.result"))
        ts = moment(ended) or self._ts
        yield from self.outcome(call_id, text, True if failed else None, native=native, ts=ts)

    def _words(
        self, attributes: dict[str, Any], native: str, *, is_prompt: bool
    ) -> Iterator[Event]:
        said = _messages(attributes.get("gen_ai.input.messages"), "user")
        if is_prompt and said:
            yield from self.said("prompt", "user", said[-1], native=native)
        answers = _messages(attributes.get("gen_ai.output.messages"), "assistant")
        for text in answers:
            yield from self.said("text", "assistant", text, native=native)


def attributes_of(values: Any) -> dict[str, Any]:
    """Return the attributes of a span as plain values."""
    found: dict[str, Any] = {}
    for attribute in map(mapping, sequence(values)):
        value = mapping(attribute.get("value"))
        found[string(attribute.get("key"))] = next(iter(value.values()), None)
    return found


def _messages(value: Any, role: str) -> list[str]:
    """Return the texts that a role said, of messages given as JSON text."""
    texts = []
    for message in map(mapping, sequence(decoded(value))):
        if message.get("role") == role:
            parts = [mapping(part) for part in sequence(message.get("parts"))]
            words = [string(part.get("content")) for part in parts if part.get("type") == "text"]
            texts.append("\n".join(words) or content_text(message.get("content")))
    return [text for text in texts if text]


def _weigh(record: dict[str, Any]) -> float:
    return 2.0 * isinstance(record.get("resourceSpans"), list)


class CopilotVisualStudio:
    """The traces of Visual Studio's Copilot."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Accept traces of generative models; other programs' traces are not for us."""
        if '"gen_ai.' not in head or '"vs-copilot"' not in head:
            return 0.0
        return line_share(head, path, _weigh)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Return the folder of traces below the local data of Windows, where that is known."""
        local = env.get("LOCALAPPDATA", "")
        return [Path(local) / "Temp" / "VSGitHubCopilotLogs" / "traces"] if local else []

    def matches(self, path: Path) -> bool:
        """Accept traces."""
        return path.name.endswith("_VSGitHubCopilot_traces.jsonl")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one file of traces."""
        return TraceParser(context)


SOURCE = CopilotVisualStudio()
