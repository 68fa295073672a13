"""OpenHands events of both generations: V1 has a `kind`, V0 an `action` or `observation`.

One file may hold one event, so that nothing may be needed of earlier ones: results name their
tool and command themselves, the place of an event is the number in its file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser, BlockParser
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    integer,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.port import RawLine
from hindsight_daemon.sources.tools import DENIED, INTERRUPTED, TIMEOUT, read_call

AGENT = "openhands"
BASE_STATE = "base_state.json"
_NUMBER = re.compile(r"(?:event-)?(\d+)(?:-[\w-]+)?\.json")
_TOOL_NAMES = {
    "run": "execute_bash",
    "run_ipython": "ipython",
    "read": "read_file",
    "write": "write_file",
    "edit": "str_replace_editor",
    "browse": "browser",
    "browse_interactive": "browser",
    "call_tool_mcp": "mcp__tool",
    "mcp": "mcp__tool",
    "delegate": "delegate",
    "task_tracking": "todowrite",
}
_QUIET = names(
    "SystemPromptEvent TokenEvent CondensationRequest system null recall change_agent_state "
    "agent_condensation condensation_request think loop_recovery user_rejected agent_think"
)
_FAILED_STATES = names("error stuck rejected")
_STOPPED_STATES = names("stopped paused")


class OpenHandsParser(BlockParser):
    """Reads a log of events, a file of one, or evaluation records with whole histories."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder above `events` is the conversation."""
        return path.parent.parent.name if path.parent.name == "events" else ""

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder and model from `base_state.json`; events tell where they were themselves."""
        base = object_in(texts.get(BASE_STATE))
        self._state.cwd = self._state.cwd or string(
            mapping(base.get("workspace")).get("working_dir")
        )
        model = mapping(mapping(base.get("agent")).get("llm")).get("model")
        self._state.model = self._state.model or string(model)

    def begin(self, line: RawLine) -> None:
        """Take the number in the name of a file of one event as its place."""
        super().begin(line)
        path = PurePosixPath(self._context.path.replace("\\", "/"))
        match = _NUMBER.fullmatch(path.name) if path.parent.name == "events" else None
        if match and len(match[1]) < 9:
            self.at(int(match[1]) + 1)

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        if isinstance(record.get("history"), list):
            yield from self.history(record)
        elif "kind" in record:
            yield from self.modern(record)
        else:
            yield from self.classic(record, str(record.get("id", "")))

    def history(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield one evaluated run: its history, then what was found of it."""
        issue = mapping(record.get("issue"))
        named = f"{string(issue.get('owner'))}/{string(issue.get('repo'))}#{issue.get('number')}"
        self._state.session = string(record.get("instance_id")) or (named if issue else "")
        self._state.calls = {}
        entries: list[dict[str, Any]] = []
        for entry in sequence(record["history"]):
            entries += [mapping(one) for one in (entry if isinstance(entry, list) else [entry])]
        for number, entry in enumerate(entries):
            yield from self.classic(entry, str(entry.get("id", number)), is_first=number == 0)
        if error := string(record.get("error")):
            yield from self.event("error", "system", error, native="error", ends_turn=True)
        elif isinstance(record.get("success"), bool):
            found = "evaluated as solved" if record["success"] else "evaluated as not solved"
            text = f"{found}: {string(record.get('result_explanation'))}".rstrip(": ")
            yield from self.event(
                "text", "system", text, native="evaluation", is_synthetic=True, ends_turn=True
            )

    def modern(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a V1 event."""
        kind = string(record.get("kind"))
        self._ts = moment(record.get("timestamp"))
        fields: dict[str, Any] = {"native": string(record.get("id"))}
        if kind == "MessageEvent":
            yield from self._message(record, fields)
        elif kind == "ActionEvent":
            yield from self._action(record, fields)
        elif kind == "ObservationEvent":
            yield from self._observation(record, fields)
        elif kind == "UserRejectObservation":
            text = string(record.get("rejection_reason")) or "rejected by the user"
            yield from self._outcome(record, text, True, status=DENIED, **fields)
        elif kind == "AgentErrorEvent":
            text = string(record.get("error"))
            yield from self._outcome(record, text, True, **fields)
        elif kind == "ConversationErrorEvent":
            text = first_string(record, "detail", "error", "code") or "error"
            yield from self.event("error", "system", text, ends_turn=True, **fields)
        elif kind in ("PauseEvent", "InterruptEvent"):
            yield from self.event("interrupt", "user", "paused", ends_turn=True, **fields)
        elif kind in ("Condensation", "CondensationSummaryEvent"):
            text = string(record.get("summary"))
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif kind == "ConversationStateUpdateEvent":
            yield from self._update(record, fields)
        elif kind not in _QUIET:
            self.count(kind or "(no kind)")

    def _message(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        content = mapping(record.get("llm_message")).get("content")
        text = content_text(content)
        if record.get("source") == "user":
            yield from self.said("prompt", "user", text, **fields)
        else:
            yield from self.said("text", "assistant", text, ends_turn=True, **fields)

    def _action(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        action = mapping(record.get("action"))
        name = string(record.get("tool_name"))
        thought = string(record.get("reasoning_content"))
        yield from self.said("reasoning", "assistant", thought, **fields)
        said = content_text(record.get("thought")).strip()
        if thought and said.removeprefix("<think>").startswith(thought.strip()[:80]):
            said = ""
        yield from self.said("text", "assistant", said, **fields)
        if name == "finish":
            text = string(action.get("message"))
            yield from self.said("text", "assistant", text, key="finish", ends_turn=True, **fields)
            yield from self.end_turn(key="end", **fields)
        elif name == "think":
            yield from self.said("reasoning", "assistant", string(action.get("thought")), **fields)
        else:
            arguments = {key: value for key, value in action.items() if key != "kind"}
            call_id = string(record.get("tool_call_id"))
            yield from self.call(name, call_id, arguments, **fields)

    def _observation(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        if record.get("tool_name") in ("finish", "think"):
            return
        observation = mapping(record.get("observation"))
        details = mapping(observation.get("metadata"))
        self._state.cwd = string(details.get("working_dir")) or self._state.cwd
        code = integer(observation.get("exit_code"))
        code = integer(details.get("exit_code")) if code is None else code
        timed_out = observation.get("timeout") is True
        text = content_text(observation.get("content")) or string(observation.get("output"))
        yield from self._outcome(
            record,
            text,
            flag(observation.get("is_error")),
            command=string(observation.get("command")),
            exit_code=None if code == -1 else code,
            status=TIMEOUT if timed_out else "",
            **fields,
        )

    def _outcome(
        self,
        record: dict[str, Any],
        text: str,
        is_error: bool | None,
        *,
        command: str = "",
        exit_code: int | None = None,
        status: str = "",
        **fields: Any,
    ) -> Iterator[Event]:
        """Yield a result; its call may lie in another file."""
        call_id, name = string(record.get("tool_call_id")), string(record.get("tool_name"))
        if call_id not in self._state.calls:
            use, opened = read_call(name, call_id, {"command": command} if command else None)
            self._state.calls[use.call_id] = opened
        yield from self.result(
            call_id,
            text,
            exit_code=exit_code,
            is_error=True if exit_code else is_error,
            status=status,
            **fields,
        )

    def _update(self, record: dict[str, Any], fields: dict[str, Any]) -> Iterator[Event]:
        value = record.get("value")
        if record.get("key") == "stats":
            usage = mapping(mapping(value).get("usage_to_metrics"))
            model = string(mapping(usage.get("default") or usage.get("agent")).get("model_name"))
            self._state.model = model or self._state.model
        elif record.get("key") == "execution_status":
            yield from self._state_change(string(value), "", fields)

    def _state_change(self, state: str, reason: str, fields: dict[str, Any]) -> Iterator[Event]:
        if state in _FAILED_STATES:
            text = f"{state}: {reason}".rstrip(": ")
            yield from self.event("error", "system", text, ends_turn=True, **fields)
        elif state in _STOPPED_STATES:
            yield from self.event("interrupt", "user", state, ends_turn=True, **fields)
        elif state in ("finished", "awaiting_user_input"):
            yield from self.end_turn(**fields)

    def classic(
        self, record: dict[str, Any], native: str, *, is_first: bool = False
    ) -> Iterator[Event]:
        """Yield the events of a V0 event; the oldest carry their fields at the top."""
        self._ts = moment(record.get("timestamp"))
        fields: dict[str, Any] = {"native": native}
        metadata = mapping(record.get("tool_call_metadata"))
        if "action" in record:
            args = mapping(record.get("args")) or record
            call_id = string(metadata.get("tool_call_id")) or f"call {native}"
            name = string(metadata.get("function_name"))
            yield from self._old_action(
                string(record["action"]), record, args, call_id, name, is_first, fields
            )
        elif "observation" in record:
            cause = record.get("cause")
            call_id = string(metadata.get("tool_call_id"))
            call_id = call_id or ("" if cause is None else f"call {cause}")
            yield from self._old_observation(record, call_id, fields)
        else:
            self.count("(neither action nor observation)")

    def _old_action(
        self,
        kind: str,
        record: dict[str, Any],
        args: dict[str, Any],
        call_id: str,
        name: str,
        is_first: bool,
        fields: dict[str, Any],
    ) -> Iterator[Event]:
        thought = string(args.get("thought"))
        if kind == "message":
            text = first_string(args, "content") or string(record.get("message"))
            if record.get("source") == "user" or (is_first and "source" not in record):
                yield from self.said("prompt", "user", text, **fields)
            else:
                ends = args.get("wait_for_response") is not False
                yield from self.said("text", "assistant", text, ends_turn=ends, **fields)
        elif kind == "finish":
            text = first_string(args, "final_thought", "thought")
            text = text or string(record.get("message"))
            yield from self.said("text", "assistant", text, ends_turn=True, **fields)
            if "task_completed" in args:
                claim = f"task completed: {args['task_completed']}"
                yield from self.event(
                    "text", "system", claim, is_synthetic=True, ends_turn=True, **fields
                )
            yield from self.end_turn(**fields)
        elif kind == "reject":
            yield from self.event("error", "assistant", thought, ends_turn=True, **fields)
        elif kind in ("think", "recall", "system"):
            if kind == "think":
                yield from self.said("reasoning", "assistant", thought, **fields)
        elif kind in _TOOL_NAMES:
            yield from self.said("text", "assistant", thought, **fields)
            arguments = {
                key: args[key]
                for key in ("command", "code", "path", "content", "url", "old_str", "new_str")
                if args.get(key)
            }
            name = name or _TOOL_NAMES[kind]
            yield from self.call(name, call_id, arguments, **fields)
        elif kind in ("condensation", "summarize"):
            text = string(args.get("summary"))
            yield from self.event("compaction", "system", text, is_synthetic=True, **fields)
        elif kind not in _QUIET:
            self.count(f"action {kind or '(none)'}")

    def _old_observation(
        self, record: dict[str, Any], call_id: str, fields: dict[str, Any]
    ) -> Iterator[Event]:
        kind = string(record.get("observation"))
        extras = mapping(record.get("extras")) or record
        text = string(record.get("content")) or string(record.get("message"))
        if kind == "agent_state_changed":
            reason = string(extras.get("reason"))
            yield from self._state_change(string(extras.get("agent_state")), reason, fields)
            return
        if kind in _QUIET:
            return
        details = mapping(extras.get("metadata"))
        self._state.cwd = string(details.get("working_dir")) or self._state.cwd
        code = integer(details.get("exit_code", extras.get("exit_code")))
        success = flag(record.get("success"))
        is_error = True if kind == "error" else None if success is None else not success
        call_id = call_id or self._waiting("")
        name = _TOOL_NAMES.get(kind, kind)
        outcome = {"tool_name": name, "tool_call_id": call_id}
        command = string(extras.get("command"))
        status = INTERRUPTED if kind == "user_rejected" else ""
        code = None if code == -1 else code
        yield from self._outcome(
            outcome, text, is_error, command=command, exit_code=code, status=status, **fields
        )


class TrajectoryParser(OpenHandsParser, BlockDocumentParser):
    """Reads an exported list of events, or one event that is a document."""

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole document."""
        if isinstance(value, dict):
            yield from self.record(value)
            return
        for number, record in enumerate(map(mapping, sequence(value)), 1):
            self.at(number)
            yield from self.record(record)
