"""Factory Droid: `~/.factory/sessions/<folder>/<session>.jsonl`, and output of `droid exec`.

The output of `droid exec --output-format stream-json` is another grammar than the sessions:
flat messages, calls, results and a completion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.claude_text import without_reminders
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    integer,
    mapping,
    moment,
    names,
    string,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "factory-droid"
_QUIET = names("todo_state session_end compaction_state session_title_change hook")


class DroidParser(BlockParser):
    """Reads one session or one stream."""

    agent = AGENT

    def clean(self, text: str) -> str:
        """Leave out what the agent reminds the model of."""
        return without_reminders(text).strip()

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        state = self._state
        kind = string(record.get("type"))
        self._ts = moment(record.get("timestamp"))
        state.session = string(record.get("session_id")) or state.session
        native = string(record.get("id"))
        if kind == "session_start":
            state.session = native or state.session
            state.cwd = string(record.get("cwd")) or state.cwd
        elif kind == "system":
            state.cwd = string(record.get("cwd")) or state.cwd
            state.model = string(record.get("model")) or state.model
        elif kind == "message":
            yield from self._message(mapping(record.get("message")) or record, native)
        elif kind == "tool_call":
            name = first_string(record, "toolName", "name")
            yield from self.call(name, native, record.get("parameters"), native=native)
        elif kind == "tool_result":
            yield from self._stream_result(record, native)
        elif kind == "completion":
            yield from self.end_turn(native=native)
        elif kind in ("compaction_state", "compaction"):
            text = string(record.get("summaryText")) or string(record.get("summary"))
            yield from self.event("compaction", "system", text, native=native, is_synthetic=True)
        elif kind == "error":
            yield from self.event("error", "system", string(record.get("message")), native=native)
        elif kind not in _QUIET:
            self.count(kind or "(no type)")

    def _message(self, message: dict[str, Any], native: str) -> Iterator[Event]:
        role = message.get("role")
        content = message.get("content", message.get("text"))
        self._state.model = string(message.get("model")) or self._state.model
        if role == "user":
            yield from self.user_message(content, native=native)
        elif role == "assistant":
            # In the stream a text may be followed by calls; only its completion ends the turn.
            is_session = "content" in message
            yield from self.assistant_message(content, ends=is_session, native=native)

    def _stream_result(self, record: dict[str, Any], native: str) -> Iterator[Event]:
        value = record.get("value", record.get("content"))
        details = mapping(value)
        text = first_string(details, "output", "stdout", "text") or content_text(value)
        yield from self.outcome(
            first_string(record, "toolCallId", "callId") or native,
            text,
            flag(record.get("isError")),
            exit_code=integer(details.get("exitCode")),
            native=f"{native} result",
        )


def _weigh(record: dict[str, Any]) -> float | None:
    kind = string(record.get("type"))
    if kind == "session_start":
        return 2.0 * ("id" in record)
    if kind == "message":
        inner = mapping(record.get("message"))
        if "toolCallId" in inner or inner.get("role") == "toolResult":
            return 0
        return float("content" in inner or "text" in record)
    if kind in ("tool_call", "tool_result"):
        return float("toolId" in record or "toolName" in record or "parameters" in record)
    if kind in ("completion", "system"):
        return float("session_id" in record)
    return 1.0 if kind in _QUIET else 0


class FactoryDroid:
    """The Factory Droid family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning that starts a session or is a stream of one."""
        begin = head[:65536]
        if '"session_start"' not in begin[:256] and '"session_id"' not in begin:
            return 0.0
        return line_share(head, path, _weigh, hint="/.factory/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` below `$FACTORY_HOME` or `~/.factory`."""
        base = Path(env["FACTORY_HOME"]) if env.get("FACTORY_HOME") else home / ".factory"
        return [base / "sessions"]

    def matches(self, path: Path) -> bool:
        """Accept sessions."""
        return path.suffix == ".jsonl" and "sessions" in path.parts[-4:-1]

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return DroidParser(context)


SOURCE = FactoryDroid()
