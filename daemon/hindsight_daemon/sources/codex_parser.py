"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl(.zst)` of all generations.

Prompts and answers come through up to three channels (response items, event messages, completed
items); the first copy is emitted and its twins are not. The first `session_meta` names the
session; forks and subagents copy their parent's after it, and their replayed turns get the same
event ids as in the parent because ids follow from turn and call, not from session and time.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from hindsight_daemon.model import Event, EventKind, Origin, Role, ToolUse
from hindsight_daemon.sources.codex_text import (
    CallEnd,
    environment_cwd,
    read_mcp_result,
    read_output,
    strip_envelopes,
)
from hindsight_daemon.sources.fields import (
    MESSAGE_CHARS,
    RESULT_CHARS,
    bounded,
    compact,
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
from hindsight_daemon.sources.identity import (
    derived_id,
    fallback_session,
    sequence_number,
    text_digest,
)
from hindsight_daemon.sources.json_text import decode_object
from hindsight_daemon.sources.port import RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.tools import (
    MAX_OPEN_CALLS,
    OpenCall,
    command_line,
    read_call,
    unique,
)

AGENT = "codex"

ENVELOPE_TYPES = names(
    "session_meta turn_context response_item request_item event_msg compacted world_state "
    "inter_agent_communication inter_agent_communication_metadata security_risk_score "
    "realtime_item"
)
FLAT_TYPES = names(
    "message reasoning function_call function_call_output custom_tool_call "
    "custom_tool_call_output local_shell_call local_shell_call_output tool_call tool_result "
    "function_result web_search_call error"
)
_TURN_STARTS = frozenset(("task_started", "turn_started"))
_TURN_ENDS = frozenset(("task_complete", "turn_complete", "turn.completed"))
_QUIET_MESSAGES = names(
    "token_count context_compacted web_search_end entered_review_mode exited_review_mode "
    "thread_goal_updated thread_name_updated thread_settings_applied sub_agent_activity "
    "undo_completed image_generation_end exec_command_begin exec_command_output_delta "
    "patch_apply_begin mcp_tool_call_begin turn_diff background_event stream_error "
    "agent_reasoning_section_break agent_message_delta agent_reasoning_delta session_configured "
    "account/rateLimits/updated view_image_tool_call plan_update item_started deprecation_notice "
    "codex/event/raw_item warning"
)
_QUIET_ITEMS = names(
    "token_count ghost_snapshot compaction compaction_summary image_generation_call "
    "context_compaction"
)
_MAX_TWINS = 64


class _State(msgspec.Struct, omit_defaults=True):
    """What later lines need of earlier ones."""

    fallback: str = ""
    session: str = ""
    origin: str = ""
    parent: str = ""
    is_subagent: bool = False
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    model: str = ""
    turn: str = ""
    is_turn_open: bool = False
    calls: dict[str, OpenCall] = {}
    closed: list[str] = []
    processes: dict[str, OpenCall] = {}
    twins: dict[str, dict[str, int]] = {}
    nameless: dict[str, str] = {}


class CodexParser:
    """Reads one rollout."""

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context
        self._state = _State()
        if context.state:
            self._state = msgspec.json.decode(context.state, type=_State)
        self._line: RawLine
        self._ts: Any = None
        self._index = 0

    def state(self) -> str:
        """Return what a new parser needs to go on from here, as JSON text."""
        return msgspec.json.encode(self._state).decode("utf-8")

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of one line."""
        if not line.text or line.text.isspace():
            return
        try:
            record = decode_object(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        yield from self.feed_record(line, record)

    def feed_record(self, line: RawLine, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one decoded record."""
        if not self._state.fallback:
            self._state.fallback = fallback_session(self._context, line.text)
        self._line, self._index = line, 0
        self._ts = record.get("timestamp", record.get("created_at"))
        yield from self._record(record)

    def _record(self, record: dict[str, Any]) -> Iterator[Event]:
        kind = string(record.get("type"))
        if not isinstance(record.get("payload"), dict):
            yield from self._flat(kind, record)
            return
        payload = record["payload"]
        if kind == "session_meta":
            self._session_meta(payload)
        elif kind == "turn_context":
            self._turn_context(mapping(payload.get("turn_context")) or payload)
        elif kind in ("response_item", "request_item"):
            yield from self._item(payload)
        elif kind == "event_msg":
            yield from self._message(payload)
        elif kind == "compacted":
            yield self._event(
                "compaction", "system", string(payload.get("message")), is_synthetic=True
            )
        elif kind not in ENVELOPE_TYPES:
            self._count(kind or "(no type)")

    def _flat(self, kind: str, record: dict[str, Any]) -> Iterator[Event]:
        """Read the generations without envelope: a bare first line, then bare items."""
        if kind in FLAT_TYPES or (not kind and "role" in record):
            yield from self._item(record)
        elif "id" in record and ("instructions" in record or "git" in record):
            self._session_meta(record)
        elif "record_type" not in record:
            self._count(kind or "(no type)")

    def _count(self, what: str) -> None:
        self.unknown[what] = self.unknown.get(what, 0) + 1

    def _session_meta(self, payload: dict[str, Any]) -> None:
        state = self._state
        native = first_string(payload, "id", "session_id")
        state.origin = native or state.origin
        if state.session:
            return
        spawn = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        state.session = native or state.fallback
        state.parent = first_string(payload, "parent_thread_id", "forked_from_id")
        state.parent = string(spawn.get("parent_thread_id")) or state.parent
        is_delegated = payload.get("thread_source") == "subagent"
        state.is_subagent = is_delegated or "subagent" in mapping(payload.get("source"))
        git = mapping(payload.get("git"))
        state.cwd = string(payload.get("cwd"))
        state.branch, state.commit = string(git.get("branch")), string(git.get("commit_hash"))

    def _turn_context(self, payload: dict[str, Any]) -> None:
        state = self._state
        state.turn = string(payload.get("turn_id")) or state.turn
        state.cwd = string(payload.get("cwd")) or state.cwd
        state.model = string(payload.get("model")) or state.model

    def _event(
        self,
        kind: EventKind,
        role: Role,
        text: str,
        *,
        key: str = "",
        limit: int = MESSAGE_CHARS,
        **fields: Any,
    ) -> Event:
        """Make an event of the current line; `key` tells it from others of its turn."""
        state, line = self._state, self._line
        index, self._index = self._index, self._index + 1
        session = self._context.session_id or state.session or state.fallback
        if not key:
            key = str(self._occurrence(kind, text, "self"))
        scope = state.turn or state.origin or session
        fields.setdefault("ends_turn", False)
        if kind in ("prompt", "text", "tool_call", "tool_result", "reasoning"):
            state.is_turn_open = not fields["ends_turn"]
        return Event(
            id=derived_id(AGENT, scope, key, kind, text),
            agent=AGENT,
            session_id=session,
            parent_session_id=state.parent,
            seq=sequence_number(line, index),
            role=role,
            kind=kind,
            text=bounded(text, limit),
            ts=moment(self._ts),
            cwd=state.cwd,
            git_branch=state.branch,
            git_commit=state.commit,
            model=state.model if role == "assistant" else "",
            is_sidechain=state.is_subagent,
            origin=Origin(
                path=self._context.path,
                line=line.number,
                byte_start=line.byte_start,
                byte_end=line.byte_end,
                sha256=line.sha256,
            ),
            **fields,
        )

    def _said(
        self, kind: EventKind, role: Role, text: str, channel: str, **fields: Any
    ) -> Iterator[Event]:
        """Yield a prompt, answer or reasoning unless another channel gave this copy already."""
        text = text.strip()
        if not text:
            return
        if number := self._occurrence(kind, text, channel):
            yield self._event(kind, role, text, key=str(number), **fields)

    def _occurrence(self, kind: str, text: str, channel: str) -> int:
        """Count a text per channel; return its number if no other channel was there before."""
        twins = self._state.twins
        key = f"{kind}:{text_digest(text)}"
        counts = twins.pop(key, {})
        former = max(counts.values(), default=0)
        counts[channel] = counts.get(channel, 0) + 1
        twins[key] = counts
        if len(twins) > _MAX_TWINS:
            twins.pop(next(iter(twins)))
        return counts[channel] if counts[channel] > former else 0

    def _item(self, item: dict[str, Any]) -> Iterator[Event]:
        kind = string(item.get("type"))
        if kind == "message" or (not kind and "role" in item):
            yield from self._spoken(item)
        elif kind == "reasoning":
            for part in sequence(item.get("summary")) or sequence(item.get("content")):
                yield from self._said("reasoning", "assistant", content_text(part), "item")
        elif kind in ("function_call", "custom_tool_call", "tool_call", "tool_search_call"):
            yield from self._call(item, kind)
        elif kind == "local_shell_call":
            action = mapping(item.get("action"))
            arguments = {"command": action.get("command")}
            yield from self._open(first_string(item, "call_id", "id"), "local_shell", arguments)
        elif kind == "web_search_call":
            query = first_string(mapping(item.get("action")), "query", "url")
            call_id = first_string(item, "call_id", "id") or f"line-{self._line.number}"
            yield from self._open(call_id, "web_search", {"query": query})
        elif kind.endswith(("_output", "_result")):
            yield from self._output(item)
        elif kind == "agent_message":
            author = string(item.get("author"))
            text = content_text(item.get("content"))
            yield self._event("text", "assistant", text, speaker=author, is_synthetic=True)
        elif kind == "error":
            yield self._event("error", "system", self._error_text(item))
        elif kind not in _QUIET_ITEMS:
            self._count(f"item {kind or '(no type)'}")

    def _spoken(self, item: dict[str, Any]) -> Iterator[Event]:
        role = item.get("role")
        content = item.get("content", item.get("message"))
        self._ts = self._ts or item.get("timestamp")
        if role == "assistant":
            yield from self._said("text", "assistant", spoken_words(content), "item")
        elif role == "user":
            yield from self._prompt(content, "item")

    def _prompt(self, content: Any, channel: str) -> Iterator[Event]:
        for part in content if isinstance(content, list) else [content]:
            self._state.cwd = environment_cwd(content_text(part)) or self._state.cwd
        yield from self._said("prompt", "user", spoken_words(content, strip_envelopes), channel)

    def _call(self, item: dict[str, Any], kind: str) -> Iterator[Event]:
        function = mapping(item.get("function"))
        name = first_string(item, "name") or string(function.get("name"))
        name = name or ("tool_search" if kind == "tool_search_call" else "")
        arguments = item.get("arguments", item.get("parameters", item.get("input")))
        if arguments is None:
            arguments = function.get("arguments", item.get("summary"))
        call_id = first_string(item, "call_id", "id")
        if not call_id:
            call_id = self._state.nameless[name] = f"{name}-line-{self._line.number}"
        namespace = string(item.get("namespace"))
        full_name = name if not namespace or name.startswith("mcp__") else f"{namespace}.{name}"
        if name == "write_stdin":
            yield from self._typed(call_id, mapping_or_text(arguments))
            return
        yield from self._open(call_id, name, arguments, full_name=full_name)

    def _open(
        self, call_id: str, name: str, arguments: Any, *, full_name: str = ""
    ) -> Iterator[Event]:
        if call_id in self._state.calls:
            return
        use, call = read_call(name, call_id, arguments)
        if call.files and self._state.cwd:
            files = unique(posixpath.join(self._state.cwd, file) for file in call.files)
            call = msgspec.structs.replace(call, files=files)
        if full_name and full_name != name:
            use = msgspec.structs.replace(use, name=full_name)
            call = msgspec.structs.replace(call, name=full_name)
        self._keep(call_id, call)
        yield self._event(
            "tool_call",
            "assistant",
            "",
            key=f"{call_id}|{use.arguments}",
            tool=use,
            files=call.files,
        )

    def _typed(self, call_id: str, arguments: Any) -> Iterator[Event]:
        """Yield keys sent to a running command; its result then belongs to that command."""
        fields = mapping(arguments)
        process = str(fields.get("session_id", ""))
        running = self._state.processes.get(process)
        call = running or OpenCall(name="write_stdin", category="shell")
        self._keep(call_id, call)
        use = ToolUse(
            name="write_stdin",
            category="shell",
            call_id=call_id,
            arguments=compact(arguments),
            command=call.command,
        )
        yield self._event("tool_call", "assistant", "", key=f"{call_id}|{use.arguments}", tool=use)

    def _keep(self, call_id: str, call: OpenCall) -> None:
        calls = self._state.calls
        calls[call_id] = call
        if len(calls) > MAX_OPEN_CALLS:
            calls.pop(next(iter(calls)))

    def _output(self, item: dict[str, Any]) -> Iterator[Event]:
        call_id = first_string(item, "call_id", "tool_call_id")
        if not call_id:
            call_id = self._state.nameless.pop(string(item.get("name")), "")
        output = item.get("output", item.get("result", item.get("tools")))
        if isinstance(output, dict) and "content" in output:
            output = output["content"]
        if isinstance(output, list) and item.get("type") == "tool_search_output":
            output = compact(output)
        yield from self._close(call_id, read_output(output))

    def _close(
        self, call_id: str, end: CallEnd, files: tuple[str, ...] = (), name: str = ""
    ) -> Iterator[Event]:
        """Yield the result of a call; later copies of it through other channels are dropped."""
        state = self._state
        if call_id and call_id in state.closed and call_id not in state.calls:
            return
        call = state.calls.pop(call_id, None) or OpenCall(name=name)
        if call_id:
            state.closed = [*state.closed[-_MAX_TWINS:], call_id]
        if end.process:
            state.processes[end.process] = call
            if len(state.processes) > _MAX_TWINS:
                state.processes.pop(next(iter(state.processes)))
        text = bounded(end.text, RESULT_CHARS)
        yield self._event(
            "tool_result",
            "tool",
            text,
            key=f"{call_id}|{self._line.number if not call_id else ''}",
            limit=RESULT_CHARS + 200,
            tool=ToolUse(
                name=call.name,
                category=call.category,
                call_id=call_id,
                command=call.command,
                exit_code=end.exit_code,
                is_error=end.is_error,
                status=end.status,
            ),
            files=unique([*call.files, *files]),
        )

    def _message(self, payload: dict[str, Any]) -> Iterator[Event]:
        kind = string(payload.get("type"))
        if kind == "user_message":
            yield from self._prompt(payload.get("message"), "event")
        elif kind == "agent_message":
            yield from self._said("text", "assistant", string(payload.get("message")), "event")
        elif kind in ("agent_reasoning", "agent_reasoning_raw_content"):
            yield from self._said("reasoning", "assistant", string(payload.get("text")), "event")
        elif kind in _TURN_STARTS:
            self._state.turn = string(payload.get("turn_id")) or self._state.turn
        elif kind in _TURN_ENDS:
            yield from self._turn_end(payload)
        elif kind == "turn_aborted":
            reason = string(payload.get("reason")) or "interrupted"
            yield self._event("interrupt", "user", f"turn aborted: {reason}", ends_turn=True)
            self._state.is_turn_open = False
        elif kind == "thread_rolled_back":
            turns = integer(payload.get("num_turns")) or 1
            text = f"rolled back the last {turns} turn{'s' if turns > 1 else ''}"
            yield self._event("interrupt", "user", text, is_synthetic=True)
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            yield from self._finished(kind, payload)
        elif kind == "item_completed":
            yield from self._completed(mapping(payload.get("item")))
        elif kind == "error":
            yield self._event("error", "system", self._error_text(payload))
        elif kind not in _QUIET_MESSAGES and not kind.startswith("collab_"):
            self._count(f"event {kind or '(no type)'}")

    def _turn_end(self, payload: dict[str, Any]) -> Iterator[Event]:
        if error := payload.get("error"):
            yield self._event("error", "system", self._error_text({"error": error}), ends_turn=True)
            self._state.is_turn_open = False
            return
        last = string(payload.get("last_agent_message"))
        if last and (events := list(self._said("text", "assistant", last, "end"))):
            self._state.is_turn_open = False
            yield msgspec.structs.replace(events[0], ends_turn=True)
        elif self._state.is_turn_open:
            yield self._event("text", "system", "", is_synthetic=True, ends_turn=True)

    def _finished(self, kind: str, payload: dict[str, Any]) -> Iterator[Event]:
        """Read the structured ends of tools, which know more than the output the model saw."""
        call_id = first_string(payload, "call_id", "id")
        if kind == "exec_command_end":
            command = command_line(payload.get("command"))
            if call_id not in self._state.calls and call_id not in self._state.closed:
                yield from self._open(call_id, "exec_command", {"command": command})
            code = integer(payload.get("exit_code"))
            text = first_string(payload, "aggregated_output", "formatted_output", "stdout")
            text = text or string(payload.get("stderr"))
            is_error = None if code is None else code != 0
            end = CallEnd(text=text, exit_code=code, is_error=is_error)
            yield from self._close(call_id, end)
        elif kind == "patch_apply_end":
            changes = mapping(payload.get("changes"))
            success = flag(payload.get("success"))
            if success is None and payload.get("status") in ("completed", "failed"):
                success = payload["status"] == "completed"
            text = first_string(payload, "stdout", "stderr")
            end = CallEnd(text=text, is_error=None if success is None else not success)
            if call_id not in self._state.calls and call_id not in self._state.closed:
                patch = "\n".join(f"*** Update File: {path}" for path in changes)
                yield from self._open(call_id, "apply_patch", patch)
            yield from self._close(call_id, end, files=tuple(map(str, changes)))
        else:
            call = mapping(payload.get("invocation")) or payload
            name = f"mcp__{string(call.get('server'))}__{string(call.get('tool'))}"
            if call_id not in self._state.calls and call_id not in self._state.closed:
                yield from self._open(call_id, name, call.get("arguments"))
            end = read_mcp_result(payload.get("result"))
            if error := payload.get("error"):
                end = CallEnd(text=self._error_text({"error": error}), is_error=True)
            yield from self._close(call_id, end, name=name)

    def _completed(self, item: dict[str, Any]) -> Iterator[Event]:
        kind = string(item.get("type"))
        if kind == "UserMessage":
            yield from self._prompt(item.get("content"), "completed")
        elif kind == "AgentMessage":
            text = spoken_words(item.get("content"))
            yield from self._said("text", "assistant", text, "completed")
        elif kind == "Reasoning":
            for part in sequence(item.get("summary_text")):
                yield from self._said("reasoning", "assistant", content_text(part), "completed")
        elif kind == "CommandExecution":
            yield from self._finished("exec_command_end", item)
        elif kind == "FileChange":
            yield from self._finished("patch_apply_end", item)
        elif kind == "McpToolCall":
            yield from self._finished("mcp_tool_call_end", item)

    def _error_text(self, payload: dict[str, Any]) -> str:
        error = payload.get("error")
        text = first_string(payload, "message", "text") or string(error)
        return text or first_string(mapping(error), "message", "kind") or "error"


def spoken_words(content: Any, clean: Callable[[str], str] = str.strip) -> str:
    """Return the words of a message; pictures count only if there is nothing else.

    Event messages leave pictures out, so that they must not take part in telling twins.
    """
    parts = content if isinstance(content, list) else [content]
    texts = [text for text in (clean(content_text(part)) for part in parts) if text]
    words = [text for text in texts if not text.startswith("[image")]
    return "\n".join(words or texts)


def mapping_or_text(arguments: Any) -> Any:
    """Decode arguments given as JSON text; anything else comes back as it is."""
    if isinstance(arguments, str):
        try:
            return decode_object(arguments)
        except ValueError:
            return arguments
    return arguments
