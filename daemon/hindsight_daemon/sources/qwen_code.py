"""Qwen Code sessions: `~/.qwen/projects/<folder>/chats/<session>.jsonl`.

Identity is the record's uuid with what it holds, because branches copy records into other
sessions and answers come as several records of one uuid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import first_string, mapping, moment, names, sequence, string
from hindsight_daemon.sources.gemini_parser import parts_text, response_text
from hindsight_daemon.sources.log_parser import LogParser
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share
from hindsight_daemon.sources.shell_text import stated_exit_code
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "qwen-code"
_MACHINE_PROMPTS = names("notification cron")
_QUIET = names(
    "custom_title slash_command goal_state notification parent_session branch_checkpoint "
    "ui_telemetry session_artifact_snapshot session_artifact attribution_snapshot at_command "
    "file_history_snapshot"
)


class QwenParser(LogParser):
    """Reads one session log."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        state = self._state
        session = string(record.get("sessionId"))
        if session != state.session:
            state.session = session or state.session
            state.calls = {}
        state.cwd = string(record.get("cwd")) or state.cwd
        state.branch = string(record.get("gitBranch")) or state.branch
        state.model = string(record.get("model")) or state.model
        self._ts = moment(record.get("timestamp"))
        forked = mapping(record.get("forkedFrom"))
        native = string(forked.get("messageUuid")) or string(record.get("uuid"))
        agent_id = string(record.get("agentId"))
        state.is_sidechain = record.get("isSidechain") is True
        fields: dict[str, Any] = {"native": native, "scope": ""}
        if state.is_sidechain and agent_id:
            fields["session_id"] = f"{self.session}/{agent_id}"
            fields["parent_session_id"] = self.session
        kind = string(record.get("type"))
        if kind == "user" or record.get("subtype") == "mid_turn_user_message":
            yield from self._prompt(record, fields)
        elif kind == "assistant":
            yield from self._answer(record, fields)
        elif kind == "tool_result":
            yield from self._results(record, fields)
        elif kind == "system":
            yield from self._system(record, fields)
        else:
            self.count(kind or "(no type)")

    def _prompt(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        text = string(mapping(record.get("systemPayload")).get("displayText"))
        if not text:
            parts = sequence(mapping(record.get("message")).get("parts"))
            kept = [part for part in parts if not parts_text(part).startswith("<qwen:")]
            text = parts_text(kept)
        provenance = string(record.get("provenance"))
        is_machine = string(record.get("subtype")) in _MACHINE_PROMPTS
        is_machine = is_machine or provenance not in ("", "real_user")
        yield from self.said("prompt", "user", text, is_synthetic=is_machine, **fields)

    def _answer(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        parts = [mapping(part) for part in sequence(mapping(record.get("message")).get("parts"))]
        has_call = any("functionCall" in part for part in parts)
        for part in parts:
            call = mapping(part.get("functionCall"))
            text = string(part.get("text"))
            if call:
                name, call_id = string(call.get("name")), string(call.get("id"))
                yield from self.call(name, call_id, call.get("args"), **fields)
            elif part.get("thought") is True:
                yield from self.said("reasoning", "assistant", text, **fields)
            else:
                yield from self.said("text", "assistant", text, ends_turn=not has_call, **fields)

    def _results(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        outcome = mapping(record.get("toolCallResult"))
        status = string(outcome.get("status"))
        for part in map(mapping, sequence(mapping(record.get("message")).get("parts"))):
            answer = mapping(part.get("functionResponse"))
            if not answer:
                continue
            call_id = string(answer.get("id")) or string(outcome.get("callId"))
            text = response_text(answer.get("response")) or string(outcome.get("resultDisplay"))
            call = self._state.calls.get(call_id)
            is_shell = call is not None and call.category == "shell"
            exit_code = stated_exit_code(text) if is_shell else None
            failed = "error" in mapping(answer.get("response")) or status in ("error", "cancelled")
            yield from self.result(
                call_id,
                text,
                name=string(answer.get("name")),
                exit_code=exit_code,
                is_error=(failed or bool(exit_code)) if status or failed else None,
                status=INTERRUPTED if status == "cancelled" else "",
                **fields,
            )

    def _system(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        subtype = string(record.get("subtype"))
        payload = mapping(record.get("systemPayload"))
        if subtype == "chat_compression":
            text = first_string(mapping(payload.get("info")), "summary")
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif subtype == "rewind":
            text = "rewound to an earlier message"
            yield from self.event("interrupt", "user", text, is_synthetic=True, **fields)
        elif subtype == "turn_result":
            error = payload.get("error")
            text = string(error) or first_string(mapping(error), "message")
            if text:
                yield from self.event("error", "system", text, ends_turn=True, **fields)
            else:
                yield from self.end_turn(**fields)
        elif subtype not in _QUIET:
            self.count(f"system {subtype or '(no subtype)'}")


def _weigh(record: dict[str, Any]) -> float:
    if not {"uuid", "sessionId", "type"} <= record.keys():
        return 0
    if isinstance(mapping(record.get("message")).get("parts"), list):
        return 2
    return float(record["type"] == "system" and "systemPayload" in record)


class QwenCode:
    """The Qwen Code family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records with messages made of parts."""
        return line_share(head, path, _weigh, hint="/.qwen/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `projects` and the older `tmp` below `$QWEN_HOME` or `~/.qwen`."""
        base = Path(env["QWEN_HOME"]) if env.get("QWEN_HOME") else home / ".qwen"
        return [base / "projects", base / "tmp"]

    def matches(self, path: Path) -> bool:
        """Accept session logs."""
        return path.suffix == ".jsonl" and path.parent.name == "chats"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return QwenParser(context)


SOURCE = QwenCode()
