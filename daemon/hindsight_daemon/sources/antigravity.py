"""Antigravity CLI: `transcript.jsonl` below `~/.gemini/antigravity-cli/brain/<session>/`.

A step is written again when its state changes; its events then come again under their ids. The
results of tools are steps of their own, in the order of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import content_text, integer, mapping, moment, sequence, string
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "antigravity"
_REQUEST = re.compile(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)
_FAILED = frozenset(("ERROR", "FAILED", "CORTEX_STEP_STATUS_ERROR"))
_STOPPED = frozenset(("CANCELED", "CANCELLED", "CORTEX_STEP_STATUS_CANCELED"))
_PENDING = frozenset(("RUNNING", "PENDING", "GENERATING", "WAITING"))
_QUIET = frozenset(("EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY", "KNOWLEDGE_ARTIFACTS", "TASK"))


class AntigravityParser(BlockParser):
    """Reads one transcript."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder below `brain` is the session."""
        parts = path.parts
        return parts[parts.index("brain") + 1] if "brain" in parts[:-2] else ""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one step."""
        kind, source = string(record.get("type")), string(record.get("source"))
        status = string(record.get("status"))
        number = integer(record.get("step_index"))
        native = "" if number is None else f"step {number}"
        self._ts = moment(record.get("created_at"))
        text = content_text(record.get("content"))
        if kind == "USER_INPUT":
            match = _REQUEST.search(text)
            is_machine = source not in ("", "USER_EXPLICIT")
            text = match[1] if match else text
            yield from self.said(
                "prompt", "user", text, native=native, key="prompt", is_synthetic=is_machine
            )
        elif kind == "PLANNER_RESPONSE":
            yield from self._answer(record, text, native, is_done=status not in _PENDING)
        elif kind == "CHECKPOINT":
            yield from self.event(
                "compaction", "system", text, native=native, key="summary", is_synthetic=True
            )
        elif kind == "ERROR_MESSAGE":
            yield from self.said("error", "system", text, native=native, key="error")
        elif source == "MODEL" and status not in _PENDING:
            yield from self._outcome(kind, text, status, native)
        elif source not in ("MODEL", "SYSTEM") and kind not in _QUIET:
            self.count(kind or "(no type)")

    def _answer(
        self, record: dict[str, Any], text: str, native: str, *, is_done: bool
    ) -> Iterator[Event]:
        thought = content_text(record.get("thinking"))
        yield from self.said("reasoning", "assistant", thought, native=native, key="thought")
        calls = [mapping(call) for call in sequence(record.get("tool_calls"))]
        ends = is_done and not calls
        yield from self.said("text", "assistant", text, native=native, key="text", ends_turn=ends)
        for number, call in enumerate(calls):
            call_id = string(call.get("id")) or f"{native}.{number}"
            arguments = call.get("args", call.get("arguments"))
            if isinstance(arguments, dict):
                self._state.cwd = string(arguments.get("Cwd")) or self._state.cwd
            yield from self.call(string(call.get("name")), call_id, arguments, native=native)

    def _outcome(self, kind: str, text: str, status: str, native: str) -> Iterator[Event]:
        """Yield the result of the call that fits the step's kind, else of the oldest open one."""
        calls = self._state.calls
        fitting = (one for one, call in calls.items() if call.name.lower() == kind.lower())
        call_id = next(fitting, next(iter(calls), ""))
        yield from self.outcome(
            call_id,
            text,
            True if status in _FAILED | _STOPPED else None,
            name="" if call_id else kind.lower(),
            status=INTERRUPTED if status in _STOPPED else "",
            native=native,
        )


def _weigh(record: dict[str, Any]) -> float:
    return 2.0 * ({"step_index", "source", "type"} <= record.keys())


class Antigravity:
    """The Antigravity family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of numbered steps."""
        return line_share(head, path, _weigh, hint="/brain/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `brain` below the folders of the command line and of the editor."""
        base = Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else home
        return [base / ".gemini" / name / "brain" for name in ("antigravity-cli", "antigravity")]

    def matches(self, path: Path) -> bool:
        """Accept transcripts."""
        return path.name == "transcript.jsonl"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return AntigravityParser(context)


SOURCE = Antigravity()
