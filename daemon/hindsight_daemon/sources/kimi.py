"""Kimi Code sessions: `~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl`.

The wire log tells everything once more as context messages; prompts are taken from the turns,
answers and tools from the events of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import content_text, flag, mapping, moment, string
from hindsight_daemon.sources.log_parser import LogParser
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share
from hindsight_daemon.sources.shell_text import stated_exit_code

AGENT = "kimi"
_PREFIXES = (
    "turn.",
    "context.",
    "config.",
    "llm.",
    "tools.",
    "usage.",
    "permission.",
    "plan_mode.",
    "full_compaction.",
    "micro_compaction.",
    "profile.",
    "plugin.",
    "runtime.",
    "token_counting.",
    "metadata",
)
_MAIN = "main"


class KimiParser(LogParser):
    """Reads one wire log."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """A log lies in its session's folder, or in that of one of the session's agents."""
        if path.name != "wire.jsonl":
            return ""
        if path.parent.parent.name != "agents":
            return path.parent.name
        session, agent = path.parent.parent.parent.name, path.parent.name
        if agent == _MAIN:
            return session
        self._state.parent, self._state.is_sidechain = session, True
        return f"{session}/{agent}"

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        state = self._state
        kind = string(record.get("type"))
        self._ts = moment(record.get("time"))
        native = f"{kind}@{record['time']}" if "time" in record else ""
        if kind in ("turn.prompt", "turn.steer"):
            yield from self._prompt(record, native)
        elif kind == "turn.cancel":
            yield from self.event("interrupt", "user", "cancelled", native=native, ends_turn=True)
        elif kind == "turn.ended":
            yield from self._end(record, native)
        elif kind == "context.append_loop_event":
            yield from self._loop(mapping(record.get("event")), native)
        elif kind == "context.append_message":
            message = mapping(record.get("message"))
            if message.get("role") == "assistant":
                text = content_text(message.get("content"))
                yield from self.said("text", "assistant", text, native=native)
        elif kind == "context.apply_compaction":
            text = string(record.get("summary"))
            yield from self.event("compaction", "system", text, native=native, is_synthetic=True)
        elif kind in ("config.update", "profile.bind", "llm.request", "usage.record"):
            disclosed = mapping(record.get("environmentDisclosure"))
            state.cwd = string(record.get("cwd")) or string(disclosed.get("cwd")) or state.cwd
            state.model = string(record.get("model")) or state.model
        elif not kind.startswith(_PREFIXES):
            self.count(kind or "(no type)")

    def _prompt(self, record: dict[str, Any], native: str) -> Iterator[Event]:
        origin = mapping(record.get("origin"))
        if origin.get("name") == "subagent":
            self._state.is_sidechain = True
        is_machine = string(origin.get("kind")) not in ("", "user")
        text = content_text(record.get("input"))
        yield from self.said("prompt", "user", text, native=native, is_synthetic=is_machine)

    def _end(self, record: dict[str, Any], native: str) -> Iterator[Event]:
        reason = string(record.get("reason"))
        if reason in ("cancelled", "canceled", "interrupted"):
            if self._state.last_kind != "interrupt":
                yield from self.event("interrupt", "user", reason, native=native, ends_turn=True)
        elif reason in ("failed", "error"):
            error = mapping(record.get("error"))
            text = string(error.get("message")) or string(record.get("error")) or reason
            yield from self.event("error", "system", text, native=native, ends_turn=True)
        else:
            yield from self.end_turn(native=native)

    def _loop(self, event: dict[str, Any], native: str) -> Iterator[Event]:
        kind = string(event.get("type"))
        native = f"{string(event.get('uuid'))}{native}"
        if kind == "content.part":
            part = mapping(event.get("part"))
            if part.get("type") == "think":
                thought = string(part.get("think"))
                yield from self.said("reasoning", "assistant", thought, native=native)
            else:
                yield from self.said("text", "assistant", content_text(part), native=native)
        elif kind == "tool.call":
            display = mapping(event.get("display"))
            self._state.cwd = string(display.get("cwd")) or self._state.cwd
            name, call_id = string(event.get("name")), string(event.get("toolCallId"))
            yield from self.call(name, call_id, event.get("args"), native=native)
        elif kind == "tool.result":
            yield from self._result(event, native)
        elif kind == "step.end":
            if event.get("finishReason") == "end_turn":
                yield from self.end_turn(native=native)
        elif kind != "step.begin":
            self.count(f"event {kind or '(no type)'}")

    def _result(self, event: dict[str, Any], native: str) -> Iterator[Event]:
        call_id = string(event.get("toolCallId"))
        result = mapping(event.get("result"))
        text = content_text(result.get("output"))
        call = self._state.calls.get(call_id)
        is_error = flag(result.get("isError"))
        exit_code = None
        if call is not None and call.category == "shell":
            exit_code = stated_exit_code(text) if is_error else 0
        yield from self.result(
            call_id, text, native=native, exit_code=exit_code, is_error=bool(is_error)
        )


def _weigh(record: dict[str, Any]) -> float | None:
    kind = string(record.get("type"))
    if kind == "metadata":
        return 2.0 * ("protocol_version" in record)
    return float(kind.startswith(_PREFIXES) and "time" in record)


class Kimi:
    """The Kimi family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records of a wire log."""
        return line_share(head, path, _weigh, hint="/wire.jsonl")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` below `$KIMI_SHARE_DIR`, or below `~/.kimi-code` and `~/.kimi`."""
        if env.get("KIMI_SHARE_DIR"):
            return [Path(env["KIMI_SHARE_DIR"]) / "sessions"]
        return [home / name / "sessions" for name in (".kimi-code", ".kimi")]

    def matches(self, path: Path) -> bool:
        """Accept wire logs; the context beside them says the same again."""
        return path.name == "wire.jsonl"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one wire log."""
        return KimiParser(context)


SOURCE = Kimi()
