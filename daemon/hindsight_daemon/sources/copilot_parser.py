"""Copilot CLI event logs: `~/.copilot/session-state/<session>/events.jsonl`.

A call is told twice, by the answer that asks for it and by the start of its execution; the first
counts. Events of a subagent become a session of its own, with the caller's as parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.log_parser import LogParser, LogState
from hindsight_daemon.sources.shell_text import stated_exit_code

AGENT = "copilot-cli"
_QUIET = names(
    "session.info session.warning session.title_changed session.compaction_start "
    "session.truncation session.handoff session.auto_mode_resolved session.usage_checkpoint "
    "session.usage_info session.mode_changed session.plan_changed assistant.turn_start "
    "assistant.usage assistant.intent subagent.started subagent.completed subagent.selected "
    "hook.start hook.end skill.invoked system.message system.notification "
    "tool.user_requested tool.execution_progress tool.execution_partial_result"
)
WORKSPACE = "workspace.yaml"
_YAML_FIELD = re.compile(r"^(cwd|branch):[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)
_MAX_CLOSED = 64


class CopilotState(LogState, omit_defaults=True):
    """Ids of finished calls, which may be told again."""

    closed: list[str] = []


class CopilotParser(LogParser):
    """Reads one event log."""

    agent = AGENT
    state_type = CopilotState
    _state: CopilotState

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder of an event log is named after its session."""
        return path.parent.name if path.parent.parent.name == "session-state" else ""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        data = mapping(record.get("data"))
        kind = string(record.get("type"))
        self._ts = moment(record.get("timestamp"))
        fields: dict[str, Any] = {"native": string(record.get("id"))}
        if caller := string(data.get("parentToolCallId")):
            fields["session_id"] = f"{self.session}/{caller}"
            fields["parent_session_id"] = self.session
            fields["is_sidechain"] = True
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self._context_of(data)
        elif kind == "session.model_change":
            self._state.model = string(data.get("newModel")) or self._state.model
        elif kind == "user.message":
            text = content_text(data.get("content"))
            is_machine = string(data.get("source")) not in ("", "user")
            yield from self.said("prompt", "user", text, is_synthetic=is_machine, **fields)
        elif kind == "assistant.message":
            yield from self._answer(data, fields)
        elif kind == "assistant.reasoning":
            yield from self.said("reasoning", "assistant", string(data.get("content")), **fields)
        elif kind == "tool.execution_start":
            name = string(data.get("toolName"))
            if server := string(data.get("mcpServerName")):
                name = f"mcp__{server}__{name}"
            yield from self._open(data, name, fields)
        elif kind == "tool.execution_complete":
            yield from self._close(data, fields)
        else:
            yield from self._marks(kind, data, fields)

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder and branch from `workspace.yaml`, of which only plain fields are read."""
        fields = dict(_YAML_FIELD.findall(texts.get(WORKSPACE, "")))
        self._state.cwd = self._state.cwd or fields.get("cwd", "")
        self._state.branch = self._state.branch or fields.get("branch", "")

    def _context_of(self, data: dict[str, Any]) -> None:
        state, context = self._state, mapping(data.get("context") or data)
        state.session = state.session or string(data.get("sessionId"))
        state.cwd = string(context.get("cwd")) or state.cwd
        state.branch = string(context.get("branch")) or state.branch
        state.commit = string(context.get("headCommit")) or state.commit
        state.model = string(data.get("selectedModel")) or state.model

    def _answer(self, data: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        model = string(data.get("model")) or self._state.model
        requests = [mapping(one) for one in sequence(data.get("toolRequests"))]
        thought = string(data.get("reasoningText"))
        yield from self.said("reasoning", "assistant", thought, model=model, **fields)
        text = content_text(data.get("content"))
        yield from self.said(
            "text", "assistant", text, model=model, ends_turn=not requests, **fields
        )
        for request in requests:
            yield from self._open(request, string(request.get("name")), fields)

    def _open(self, request: dict[str, Any], name: str, fields: dict[str, Any]) -> Iterator[Event]:
        call_id = string(request.get("toolCallId"))
        if call_id in self._state.calls or call_id in self._state.closed:
            return
        yield from self.call(name, call_id, request.get("arguments"), **fields)

    def _close(self, data: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        call_id = string(data.get("toolCallId"))
        call = self._state.calls.get(call_id)
        result, error = mapping(data.get("result")), mapping(data.get("error"))
        text = first_string(result, "content", "detailedContent")
        text = text or content_text(result.get("contents")) or first_string(error, "message")
        success = flag(data.get("success"))
        is_shell = call is None or call.category == "shell"
        self._state.closed = [*self._state.closed[-_MAX_CLOSED:], call_id]
        yield from self.result(
            call_id,
            text,
            exit_code=stated_exit_code(text) if is_shell else None,
            is_error=None if success is None else not success,
            **fields,
        )

    def _marks(self, kind: str, data: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        """Read what tells of the session rather than of its words."""
        if kind == "session.error" or kind in ("model.call_failure", "subagent.failed"):
            text = first_string(data, "message", "error", "errorType") or kind
            yield from self.event("error", "system", text, **fields)
        elif kind == "abort":
            reason = string(data.get("reason")) or "aborted"
            yield from self.event("interrupt", "user", reason, ends_turn=True, **fields)
        elif kind == "session.compaction_complete":
            text = string(data.get("summaryContent"))
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif kind == "session.snapshot_rewind":
            text = "rewound to an earlier message"
            yield from self.event("interrupt", "user", text, is_synthetic=True, **fields)
        elif kind == "session.task_complete":
            success = flag(data.get("success"))
            text = "task ended" if success is None else "task not completed"
            text = "task completed" if success else text
            text = f"{text}: {string(data.get('summary'))}".rstrip(": ")
            yield from self.event(
                "text", "system", text, is_synthetic=True, ends_turn=True, **fields
            )
        elif kind == "session.shutdown" and data.get("shutdownType") == "error":
            text = string(data.get("errorReason")) or "the session ended with an error"
            yield from self.event("error", "system", text, ends_turn=True, **fields)
        elif kind in ("session.shutdown", "session.idle"):
            yield from self.end_turn(**fields)
        elif kind == "assistant.turn_end":
            if self._state.last_kind == "text" and not self._state.calls:
                yield from self.end_turn(**fields)
        elif kind not in _QUIET and not kind.startswith("permission."):
            self.count(kind or "(no type)")
