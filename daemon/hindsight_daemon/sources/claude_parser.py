"""Claude Code transcripts: `~/.claude/projects/<slug>/<session>.jsonl` of all generations.

Subagents whose records carry an `agentId` become sessions of their own, named
`<session>/<agentId>` with the caller as parent; older inline sidechains stay in the session of
their file and are only marked. Records of one answer share a `message.id`: blocks that were seen
are left out, and a text that has grown comes again under the same event id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from hindsight_daemon.model import Event, EventKind, Origin, Role, ToolUse
from hindsight_daemon.sources.claude_text import read_prompt, read_result, read_task_notice
from hindsight_daemon.sources.fields import (
    MESSAGE_CHARS,
    bounded,
    compact,
    content_text,
    first_string,
    flag,
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
    DENIED,
    INTERRUPTED,
    MAX_OPEN_CALLS,
    RUNNING,
    OpenCall,
    category_of,
    read_call,
    unique,
)

AGENT = "claude-code"

_SILENT = names(
    "summary ai-title custom-title agent-name last-prompt permission-mode mode agent-setting "
    "bridge-session worktree-state relocated frame-link atis-latch file-history-snapshot "
    "file-history-delta progress started result"
)
KNOWN_TYPES = (
    names("user assistant system attachment queue-operation pr-link tool_use tool_result") | _SILENT
)
_TURN_MARKS = frozenset(("turn_duration", "stop_hook_summary"))
_QUIET_SUBTYPES = names(
    "compact_boundary microcompact_boundary api_error local_command informational away_summary "
    "scheduled_task_fire bridge_status session_start model_refusal_fallback"
)
_HUMAN_ORIGINS = frozenset(("", "human", "user", "cli"))
_MAX_MESSAGES = 16
_MAX_BLOCKS = 64
_MAX_SEEN = 4096
_KEPT_SEEN = 64


class _Block(msgspec.Struct, array_like=True):
    """A block of an answer that was emitted, for telling repeated and grown ones."""

    key: str
    length: int
    event_id: str
    seq: int


class _State(msgspec.Struct, omit_defaults=True):
    """What later lines need of earlier ones."""

    session: str = ""
    cwd: str = ""
    calls: dict[str, OpenCall] = {}
    messages: dict[str, list[_Block]] = {}
    seen: list[str] = []
    last_kind: str = ""
    is_turn_open: bool = False


class ClaudeParser:
    """Reads one Claude Code transcript."""

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context
        self._state = _State()
        if context.state:
            self._state = msgspec.json.decode(context.state, type=_State)
        self._seen = dict.fromkeys(self._state.seen)
        self._line: RawLine
        self._record: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        self._index = 0

    def state(self) -> str:
        """Return what a new parser needs to go on from here, as JSON text."""
        self._state.seen = list(self._seen)[-_KEPT_SEEN:]
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
        kind = string(record.get("type"))
        if kind == "session_start":
            self._begin(line, record)
            return
        if kind in _SILENT:
            return
        if kind not in KNOWN_TYPES:
            self._count(kind or "(no type)")
            return
        self._begin(line, record)
        if kind == "user":
            events = self._user(record)
        elif kind == "assistant":
            events = self._assistant(record)
        elif kind == "system":
            events = self._system(record)
        elif kind == "attachment":
            events = self._attachment(mapping(record.get("attachment")))
        elif kind == "tool_use":
            events = (event for event in [self._call(record, "")] if event is not None)
        elif kind == "tool_result":
            block = {**record, "content": record.get("content", record.get("output"))}
            events = iter([self._result(block, record, is_only=True)])
        elif kind == "pr-link":
            events = self._note(f"pull request {string(record.get('prUrl'))}".strip())
        else:
            events = self._background(string(record.get("content")))
        for event in events:
            if event.id in self._seen:
                continue
            self._remember(event)
            yield event

    def _count(self, what: str) -> None:
        self.unknown[what] = self.unknown.get(what, 0) + 1

    def _begin(self, line: RawLine, record: dict[str, Any]) -> None:
        native = first_string(record, "sessionId", "session_id")
        if not self._state.session:
            # Records that name no session belong to the one that was named first.
            self._state.session = native or fallback_session(self._context, line.text)
        self._state.cwd = string(record.get("cwd")) or self._state.cwd
        agent_id = string(record.get("agentId"))
        is_sidechain = record.get("isSidechain") is True
        session = self._context.session_id or native or self._state.session
        parent = ""
        if is_sidechain and agent_id and not session.endswith(agent_id):
            session, parent = f"{session}/{agent_id}", session
        branch = string(record.get("gitBranch"))
        self._line, self._record, self._index = line, record, 0
        self._shared = {
            "agent": AGENT,
            "session_id": session,
            "parent_session_id": parent,
            "ts": moment(record.get("timestamp")),
            "cwd": self._state.cwd,
            "git_branch": "" if branch == "HEAD" else branch,
            "is_sidechain": is_sidechain,
            "origin": Origin(
                path=self._context.path,
                line=line.number,
                byte_start=line.byte_start,
                byte_end=line.byte_end,
                sha256=line.sha256,
            ),
        }

    def _event(
        self,
        kind: EventKind,
        role: Role,
        text: str,
        *,
        key: str = "",
        identity: str = "",
        limit: int = MESSAGE_CHARS,
        **fields: Any,
    ) -> Event:
        """Make an event of the current record; `key` tells equal ones apart."""
        index, self._index = self._index, self._index + 1
        uuid = string(self._record.get("uuid"))
        if not identity and uuid:
            identity = f"{AGENT}:{uuid}:{index}"
        if not identity:
            ordinal = string(self._record.get("timestamp")) or str(self._line.number)
            session = self._shared["session_id"]
            identity = derived_id(AGENT, session, key or f"{ordinal}.{index}", kind, text)
        return Event(
            id=identity,
            seq=fields.pop("seq", 0) or sequence_number(self._line, index),
            kind=kind,
            role=role,
            text=bounded(text, limit),
            **self._shared,
            **fields,
        )

    def _remember(self, event: Event) -> None:
        self._seen[event.id] = None
        if len(self._seen) > _MAX_SEEN:
            self._seen.pop(next(iter(self._seen)))
        if not event.is_sidechain:
            self._state.last_kind = event.kind
            self._state.is_turn_open = not event.ends_turn

    def _message_id(self) -> str:
        return string(mapping(self._record.get("message")).get("id"))

    def _user(self, record: dict[str, Any]) -> Iterator[Event]:
        content = mapping(record.get("message")).get("content")
        if record.get("isCompactSummary") is True:
            yield self._event("compaction", "system", content_text(content), is_synthetic=True)
            return
        blocks = [block for block in sequence(content) if isinstance(block, dict)]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            yield self._result(block, record, is_only=len(results) == 1)
        rest: list[Any] = [block for block in blocks if block.get("type") != "tool_result"]
        said = content_text(rest) if blocks else content_text(content)
        if results and (notice := said.strip()):
            kind: EventKind = "interrupt" if notice.startswith("[Request interrupted") else "prompt"
            yield from self._prompt(notice, is_synthetic=kind == "prompt")
        elif said:
            yield from self._prompt(said, is_synthetic=self._is_harness(record))

    def _is_harness(self, record: dict[str, Any]) -> bool:
        if record.get("isMeta") is True or record.get("isVisibleInTranscriptOnly") is True:
            return True
        origin = string(mapping(record.get("origin")).get("kind"))
        if origin not in _HUMAN_ORIGINS and not origin.startswith("["):
            return True
        return record.get("promptSource") == "system"

    def _prompt(self, text: str, *, is_synthetic: bool) -> Iterator[Event]:
        if notice := read_task_notice(text):
            yield from self._background(text)
            if notice.call_id:
                return
        found = read_prompt(text)
        if found is None:
            return
        kind, said, is_wrapped = found
        if kind == "interrupt":
            if self._state.last_kind != "interrupt" or self._shared["is_sidechain"]:
                yield self._event("interrupt", "user", said, ends_turn=True)
            return
        if kind == "compaction":
            yield self._event("compaction", "system", said, is_synthetic=True)
            return
        is_warm_up = self._shared["is_sidechain"] and said == "Warmup"
        yield self._event(
            "prompt", "user", said, is_synthetic=is_synthetic or is_wrapped or is_warm_up
        )

    def _result(self, block: dict[str, Any], record: dict[str, Any], *, is_only: bool) -> Event:
        call_id = string(block.get("tool_use_id"))
        call_id = call_id or string(record.get("sourceToolUseID"))
        name = string(block.get("name"))
        call = self._state.calls.pop(call_id, None)
        call = call or OpenCall(name=name, category=category_of(name))
        extra = record.get("toolUseResult") if is_only else None
        details = mapping(extra)
        text = content_text(block.get("content")) or string(extra)
        is_error = flag(block.get("is_error"))
        if is_error is None:
            is_error = flag(details.get("is_error"))
        if is_error is None and isinstance(extra, str) and extra.startswith("Error"):
            is_error = True
        text, status, exit_code = read_result(text, is_error)
        if record.get("toolDenialKind"):
            status = DENIED
        elif details.get("interrupted") is True:
            status = INTERRUPTED
        elif details.get("backgroundTaskId"):
            status = RUNNING
        if isinstance(details.get("exitCode"), int):
            exit_code = details["exitCode"]
        elif call.category == "shell" and not is_error and not status and call.name == "Bash":
            # Claude Code reports every non-zero exit as an error, except those that it explains
            # in returnCodeInterpretation (such as grep finding nothing).
            exit_code = None if details.get("returnCodeInterpretation") else 0
        if status == RUNNING:
            self._open(call_id, call)
        path = string(details.get("filePath"))
        return self._event(
            "tool_result",
            "tool",
            text,
            key=f"{call_id}.result" if call_id else "",
            limit=16 * 1024,
            tool=ToolUse(
                name=call.name,
                category=call.category,
                call_id=call_id,
                command=call.command,
                exit_code=exit_code,
                is_error=bool(is_error),
                status=status,
            ),
            files=unique([*call.files, path]) if path else call.files,
        )

    def _open(self, call_id: str, call: OpenCall) -> None:
        # A call without id is taken up by the next result without id.
        self._state.calls[call_id] = call
        if len(self._state.calls) > MAX_OPEN_CALLS:
            self._state.calls.pop(next(iter(self._state.calls)))

    def _assistant(self, record: dict[str, Any]) -> Iterator[Event]:
        message = mapping(record.get("message"))
        model = string(message.get("model"))
        content = message.get("content")
        if record.get("isApiErrorMessage") is True:
            yield self._event("error", "assistant", content_text(content), ends_turn=True)
            return
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        events = [
            event
            for block in sequence(content)
            if (event := self._block(mapping(block), model)) is not None
        ]
        ended = message.get("stop_reason") in ("end_turn", "stop_sequence")
        if ended and events and events[-1].kind == "text" and not events[-1].is_sidechain:
            events[-1] = msgspec.structs.replace(events[-1], ends_turn=True)
        yield from events

    def _block(self, block: dict[str, Any], model: str) -> Event | None:
        kind = string(block.get("type"))
        if kind in ("text", "thinking"):
            text = string(block.get(kind)).strip()
            if not text:
                return None
            known = self._known_block(kind, text)
            if known is not None and known.length == len(text):
                return None
            event = self._event(
                "text" if kind == "text" else "reasoning",
                "assistant",
                text,
                model=model,
                is_synthetic=model == "<synthetic>",
                identity=known.event_id if known else "",
                seq=known.seq if known else 0,
            )
            self._note_block(kind, text, event, known)
            return event
        if kind in ("tool_use", "server_tool_use"):
            return self._call(block, model)
        if kind.endswith("_tool_result"):
            result = {**block, "type": "tool_result", "content": compact(block.get("content"))}
            return self._result(result, {}, is_only=False)
        if kind not in ("redacted_thinking", "fallback", "image"):
            self._count(f"assistant block {kind or '(no type)'}")
        return None

    def _known_block(self, kind: str, text: str) -> _Block | None:
        """Return the emitted block of the same answer that `text` repeats or extends."""
        for block in self._state.messages.get(self._message_id(), [])[-_MAX_BLOCKS:]:
            if 0 < block.length <= len(text):
                key = f"{kind}:{text_digest(text[: block.length])}"
                if block.key == key:
                    return block
        return None

    def _note_block(self, kind: str, text: str, event: Event, known: _Block | None) -> None:
        key = f"{kind}:{text_digest(text)}"
        message_id = self._message_id()
        if known is not None:
            known.key, known.length = key, len(text)
            self._seen.pop(event.id, None)
        elif message_id:
            messages = self._state.messages
            messages.setdefault(message_id, []).append(_Block(key, len(text), event.id, event.seq))
            if len(messages) > _MAX_MESSAGES:
                messages.pop(next(iter(messages)))

    def _call(self, block: dict[str, Any], model: str) -> Event | None:
        call_id = string(block.get("id"))
        name = string(block.get("name"))
        message_id = self._message_id()
        known = self._state.messages.get(message_id, []) if message_id else []
        if call_id and any(entry.key == f"call:{call_id}" for entry in known):
            return None
        use, call = read_call(name, call_id, block.get("input"))
        self._open(call_id, call)
        event = self._event(
            "tool_call",
            "assistant",
            "",
            key=f"{call_id}.call" if call_id else "",
            tool=use,
            files=call.files,
            model=model,
        )
        if message_id and call_id:
            entry = _Block(f"call:{call_id}", 0, event.id, event.seq)
            self._state.messages.setdefault(message_id, []).append(entry)
        return event

    def _system(self, record: dict[str, Any]) -> Iterator[Event]:
        subtype = string(record.get("subtype"))
        if subtype in _TURN_MARKS:
            if self._state.is_turn_open and not self._shared["is_sidechain"]:
                yield self._event("text", "system", "", is_synthetic=True, ends_turn=True)
        elif subtype in ("error", "api_refusal"):
            error = mapping(record.get("error"))
            text = first_string(error, "formatted", "message")
            text = text or first_string(record, "apiRefusalExplanation", "content")
            yield self._event("error", "system", text or subtype)
        elif subtype not in _QUIET_SUBTYPES:
            self._count(f"system {subtype or '(no subtype)'}")

    def _attachment(self, attachment: dict[str, Any]) -> Iterator[Event]:
        kind = string(attachment.get("type"))
        if kind == "queued_command":
            prompt = content_text(attachment.get("prompt"))
            origin = string(mapping(attachment.get("origin")).get("kind"))
            is_human = origin in _HUMAN_ORIGINS or origin.startswith("[")
            yield from self._prompt(prompt, is_synthetic=not is_human)
        elif kind == "hook_blocking_error":
            error = attachment.get("blockingError")
            text = string(mapping(error).get("blockingError")) or string(error)
            yield self._event("error", "system", text or "a hook blocked the call")
        elif kind == "max_turns_reached":
            yield self._event("error", "system", "maximum number of turns reached", ends_turn=True)
        elif kind == "goal_status":
            outcome = "met" if attachment.get("met") is True else "not met"
            outcome = "failed" if attachment.get("failed") is True else outcome
            reason = string(attachment.get("reason"))
            yield from self._note(f"goal {outcome}: {reason}" if reason else f"goal {outcome}")

    def _note(self, text: str) -> Iterator[Event]:
        yield self._event("text", "system", text, is_synthetic=True)

    def _background(self, text: str) -> Iterator[Event]:
        """Yield the late result of a background task; it may be announced several times."""
        notice = read_task_notice(text)
        if notice is None or not notice.call_id:
            return
        call = self._state.calls.get(notice.call_id) or OpenCall(name="")
        failed = notice.status == "failed" or bool(notice.exit_code)
        exit_code = notice.exit_code
        if exit_code is None and notice.status == "completed" and call.category == "shell":
            exit_code = 0
        yield self._event(
            "tool_result",
            "tool",
            notice.text,
            identity=derived_id(AGENT, notice.call_id, notice.task_id, notice.status),
            limit=16 * 1024,
            tool=ToolUse(
                name=call.name,
                category=call.category,
                call_id=notice.call_id,
                command=call.command,
                exit_code=exit_code,
                is_error=failed,
                status=INTERRUPTED if notice.status == "killed" else "",
            ),
            files=call.files,
        )
