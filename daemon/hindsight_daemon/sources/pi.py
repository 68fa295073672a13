"""Pi and OpenClaw sessions, which share one form: a tree of entries with parents.

Entries have short ids that are unique within a session only; with their time they are unique
everywhere, so that forks, which copy their history, collapse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import (
    content_text,
    flag,
    integer,
    mapping,
    moment,
    names,
    string,
)
from hindsight_daemon.sources.log_parser import LogParser
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share
from hindsight_daemon.sources.shell_text import stated_exit_code, states_timeout
from hindsight_daemon.sources.tools import INTERRUPTED, TIMEOUT

_ENTRY_TYPES = names(
    "session message model_change thinking_level_change compaction branch_summary custom "
    "custom_message label session_info"
)
_QUIET = names("thinking_level_change custom label session_info")
_ROLES = names(
    "user assistant toolResult bashExecution custom hookMessage branchSummary compactionSummary"
)


class PiParser(LogParser):
    """Reads one session."""

    agent = "pi"

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one entry."""
        state = self._state
        kind = string(record.get("type"))
        time = string(record.get("timestamp"))
        self._ts = moment(time)
        message = mapping(record.get("message"))
        place = f"{string(record.get('id'))}@{time}@{message.get('timestamp', '')}"
        fields: dict[str, Any] = {"native": place, "scope": ""}
        if kind == "session":
            state.session = string(record.get("id")) or state.session
            state.cwd = string(record.get("cwd")) or state.cwd
            state.model = string(record.get("modelId")) or state.model
        elif kind == "model_change":
            state.model = string(record.get("modelId")) or state.model
        elif kind == "message":
            yield from self._message(message, fields)
        elif kind == "compaction":
            text = string(record.get("summary"))
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif kind == "branch_summary":
            text = string(record.get("summary"))
            yield from self.event("interrupt", "user", text, is_synthetic=True, **fields)
        elif kind == "custom_message":
            text = content_text(record.get("content"))
            yield from self.said("prompt", "user", text, is_synthetic=True, **fields)
        elif kind not in _QUIET:
            self.count(kind or "(no type)")

    def _message(self, message: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        role = string(message.get("role"))
        content = message.get("content")
        if role == "user":
            yield from self.said("prompt", "user", content_text(content), **fields)
        elif role == "assistant":
            yield from self._answer(message, fields)
        elif role == "toolResult":
            yield from self._tool_result(message, fields)
        elif role == "bashExecution":
            yield from self._typed_command(message, fields)
        elif role in ("branchSummary", "compactionSummary"):
            text = string(message.get("summary")) or content_text(content)
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif role in _ROLES:
            text = content_text(content)
            yield from self.said("prompt", "user", text, is_synthetic=True, **fields)
        else:
            self.count(f"message {role or '(no role)'}")

    def _answer(self, message: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        self._state.model = string(message.get("model")) or self._state.model
        stop = string(message.get("stopReason"))
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        has_call = any(mapping(part).get("type") == "toolCall" for part in parts)
        ends = stop in ("stop", "length") or (not stop and not has_call)
        for number, part in enumerate(map(mapping, parts), 1):
            kind = string(part.get("type"))
            if kind == "thinking":
                thought = string(part.get("thinking"))
                yield from self.said("reasoning", "assistant", thought, **fields)
            elif kind == "toolCall":
                name, call_id = string(part.get("name")), string(part.get("id"))
                yield from self.call(name, call_id, part.get("arguments"), **fields)
            else:
                text = content_text(part)
                is_last = ends and number == len(parts)
                yield from self.said("text", "assistant", text, ends_turn=is_last, **fields)
        if stop == "aborted":
            text = string(message.get("errorMessage")) or "aborted"
            yield from self.event("interrupt", "user", text, ends_turn=True, **fields)
        elif stop == "error":
            text = string(message.get("errorMessage")) or "error"
            yield from self.event("error", "assistant", text, ends_turn=True, **fields)

    def _tool_result(self, message: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        call_id = string(message.get("toolCallId"))
        text = content_text(message.get("content"))
        is_error = flag(message.get("isError"))
        call = self._state.calls.get(call_id)
        is_shell = call is not None and call.category == "shell"
        exit_code = stated_exit_code(text) if is_error and is_shell else None
        if call is not None and call.name == "bash" and is_error is False:
            exit_code = 0  # Pi's own shell tool throws on every other exit code
        status = TIMEOUT if is_shell and is_error and states_timeout(text) else ""
        if is_error and text.rstrip().endswith("Command aborted"):
            status = INTERRUPTED
        yield from self.result(
            call_id,
            text,
            name=string(message.get("toolName")),
            exit_code=exit_code,
            is_error=is_error,
            status=status,
            **fields,
        )

    def _typed_command(self, message: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        """Read a command that the user ran with `!`."""
        command = string(message.get("command"))
        call_id = f"!{fields['native']}"
        yield from self.said("prompt", "user", f"!{command}", is_synthetic=True, **fields)
        yield from self.call("bash", call_id, {"command": command}, **fields)
        yield from self.result(
            call_id,
            string(message.get("output")),
            exit_code=integer(message.get("exitCode")),
            status=INTERRUPTED if message.get("cancelled") is True else "",
            **fields,
        )


class OpenClawParser(PiParser):
    """Reads one session of OpenClaw."""

    agent = "openclaw"


def _weigh(record: dict[str, Any]) -> float | None:
    kind = string(record.get("type"))
    if kind == "message":
        return 2.0 * (string(mapping(record.get("message")).get("role")) in _ROLES)
    if kind == "session":
        return 2.0 * ({"id", "timestamp", "cwd"} <= record.keys())
    return 1.0 if kind in _ENTRY_TYPES and "timestamp" in record else None


class Pi:
    """The Pi family."""

    name = "pi"
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of entries; it begins with `session`."""
        if '"session"' not in head[:64] and not _is_continued(head):
            return 0.0
        return line_share(head, path, _weigh)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` below `$PI_CODING_AGENT_DIR`, `~/.pi/agent` and `~/.omp/agent`."""
        if env.get("PI_CODING_AGENT_DIR"):
            return [Path(env["PI_CODING_AGENT_DIR"]) / "sessions"]
        return [home / name / "agent" / "sessions" for name in (".pi", ".omp")]

    def matches(self, path: Path) -> bool:
        """Accept sessions."""
        return path.suffix == ".jsonl" and "sessions" in path.parts[-4:-1]

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return PiParser(context)


class OpenClaw(Pi):
    """OpenClaw, which embeds Pi."""

    name = "openclaw"

    def score(self, head: str, path: str) -> float:
        """Rate like Pi, if anything names OpenClaw."""
        is_named = "openclaw" in head[:8192] or "openclaw" in path.lower()
        return super().score(head, path) if is_named else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folder of agents below `$OPENCLAW_STATE_DIR` or `~/.openclaw`."""
        base = env.get("OPENCLAW_STATE_DIR", "")
        return [(Path(base) if base else home / ".openclaw") / "agents"]

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return OpenClawParser(context)


def _is_continued(head: str) -> bool:
    """Tell whether the beginning looks like a session whose first line was lost."""
    return all(mark in head[:65536] for mark in ('"stopReason"', '"toolCallId"', '"parentId"'))


SOURCE = Pi()
OPENCLAW = OpenClaw()
