"""What the parsers of agents' own logs share: decoding, identity, open calls, resume state.

For `sources` only; knows nothing of any family. A record that comes again gives no event, one
that has changed gives its event again under the former id and place.
"""

from __future__ import annotations

import posixpath
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar

import msgspec

from hindsight_daemon.model import Event, EventKind, Origin, Role, ToolUse
from hindsight_daemon.sources.fields import MESSAGE_CHARS, RESULT_CHARS, bounded
from hindsight_daemon.sources.identity import derived_id, fallback_session, sequence_number
from hindsight_daemon.sources.json_text import decode_json, decode_objects
from hindsight_daemon.sources.port import RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.tools import (
    MAX_OPEN_CALLS,
    OpenCall,
    category_of,
    read_call,
    unique,
)

_MAX_SEEN = 4096
_KEPT_SEEN = 64
_TOOLLESS = ToolUse(name="")


class LogState(msgspec.Struct, omit_defaults=True):
    """What later records need of earlier ones; families add fields of their own."""

    fallback: str = ""
    session: str = ""
    parent: str = ""
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    model: str = ""
    is_sidechain: bool = False
    is_turn_open: bool = False
    last_kind: str = ""
    calls: dict[str, OpenCall] = {}
    seen: dict[str, tuple[int, int]] = {}
    """Sequence number and checksum of the latest events, by event id."""


class LogParser(ABC):
    """Reads a log of one JSON object a line; `DocumentParser` reads whole documents."""

    agent: str
    state_type: ClassVar[type[LogState]] = LogState

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context
        self._state = self.state_type()
        if context.state:
            self._state = msgspec.json.decode(context.state, type=self.state_type)
        if context.beside:
            self.told_beside(context.beside)
        self._seen = dict(self._state.seen)
        self._line: RawLine
        self._index = 0
        self._ts: datetime | None = None

    def state(self) -> str:
        """Return what a new parser needs to go on from here, as JSON text."""
        self._state.seen = dict(list(self._seen.items())[-_KEPT_SEEN:])
        return msgspec.json.encode(self._state).decode("utf-8")

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of one line."""
        if not line.text or line.text.isspace():
            return
        try:
            records = self.decode(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        self.begin(line)
        for record in records:
            yield from self.record(record)

    def decode(self, text: str) -> list[dict[str, Any]]:
        """Return the records of a line; raises `ValueError` if it holds none."""
        return decode_objects(text)

    @abstractmethod
    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one decoded record."""

    def session_of_path(self, path: PurePosixPath) -> str:  # noqa: ARG002 - for families to use
        """Name the session by the agent's own layout of files; empty where that says nothing."""
        return ""

    def told_beside(self, texts: Mapping[str, str]) -> None:  # noqa: B027 - for families to use
        """Take what the side files say of the session, by their names.

        Records that say otherwise win, since they are read later.
        """

    def begin(self, line: RawLine) -> None:
        """Take a line as the place of the events that follow."""
        self._line, self._index, self._ts = line, 0, None
        if not self._state.fallback:
            path = PurePosixPath(self._context.path.replace("\\", "/"))
            named = self.session_of_path(path)
            self._state.fallback = named or fallback_session(self._context, line.text[:4096])

    def at(self, number: int) -> None:
        """Let the number of a message stand in for its line."""
        self._line = msgspec.structs.replace(self._line, number=number)
        self._index, self._ts = 0, None

    @property
    def session(self) -> str:
        """The session that events belong to now."""
        return self._context.session_id or self._state.session or self._state.fallback

    def count(self, what: str) -> None:
        """Note a record that this parser does not know."""
        self.unknown[what] = self.unknown.get(what, 0) + 1

    def event(
        self,
        kind: EventKind,
        role: Role,
        text: str,
        *,
        native: str = "",
        key: str | None = None,
        scope: str | None = None,
        limit: int = MESSAGE_CHARS,
        **fields: Any,
    ) -> Iterator[Event]:
        """Yield an event of the current record, none if it is known and unchanged.

        Its identity is the record's own id `native` (else its line), `key` (else the text) and
        `scope` (else the session); ids that are unique everywhere take an empty scope, so that
        forks and copies collapse.
        """
        state, line = self._state, self._line
        index, self._index = self._index, self._index + 1
        text = bounded(text, limit)
        tool = fields.get("tool")
        scope = self.session if scope is None else scope
        place = native or f"line {line.number}"
        identity = derived_id(self.agent, scope, place, kind, text if key is None else key)
        checksum = _checksum(text, tool, ends_turn=fields.get("ends_turn", False))
        seq = sequence_number(line, index)
        if (known := self._seen.pop(identity, None)) is not None:
            seq = known[0]
        self._seen[identity] = (seq, checksum)
        if len(self._seen) > _MAX_SEEN:
            self._seen.pop(next(iter(self._seen)))
        if known is not None and known[1] == checksum:
            return
        fields.setdefault("ts", self._ts)
        fields.setdefault("session_id", self.session)
        fields.setdefault("parent_session_id", state.parent)
        fields.setdefault("is_sidechain", state.is_sidechain)
        fields.setdefault("cwd", state.cwd)
        fields.setdefault("model", state.model if role == "assistant" else "")
        if not fields["is_sidechain"] or state.is_sidechain:
            state.is_turn_open = not fields.get("ends_turn", False)
            state.last_kind = kind
        yield Event(
            id=identity,
            agent=self.agent,
            seq=seq,
            role=role,
            kind=kind,
            text=text,
            git_branch=state.branch,
            git_commit=state.commit,
            origin=Origin(
                path=self._context.path,
                line=line.number,
                byte_start=line.byte_start,
                byte_end=line.byte_end,
                sha256=line.sha256,
            ),
            **fields,
        )

    def said(self, kind: EventKind, role: Role, text: str, **fields: Any) -> Iterator[Event]:
        """Yield a prompt, answer or thought unless it is blank."""
        text = text.strip()
        if text:
            yield from self.event(kind, role, text, **fields)

    def call(
        self, name: str, call_id: str, arguments: Any, *, native: str = "", **fields: Any
    ) -> Iterator[Event]:
        """Yield a tool call and remember it for its result."""
        use, opened = read_call(name, call_id or self.nameless(name), arguments)
        if opened.files and (cwd := fields.get("cwd", self._state.cwd)):
            files = unique(posixpath.join(cwd, file) for file in opened.files)
            opened = msgspec.structs.replace(opened, files=files)
        self._state.calls[use.call_id] = opened
        if len(self._state.calls) > MAX_OPEN_CALLS:
            self._state.calls.pop(next(iter(self._state.calls)))
        yield from self.event(
            "tool_call",
            "assistant",
            "",
            native=native,
            key=use.call_id,
            tool=use,
            files=opened.files,
            **fields,
        )

    def nameless(self, name: str) -> str:
        """Name a call that has no id of its own by its place."""
        return f"{name}-{self._line.number}-{self._index}"

    def result(
        self,
        call_id: str,
        text: str,
        *,
        name: str = "",
        native: str = "",
        exit_code: int | None = None,
        is_error: bool | None = None,
        status: str = "",
        **fields: Any,
    ) -> Iterator[Event]:
        """Yield a tool result with the name, command and files of its call.

        Without `call_id` it belongs to the oldest open call of that name, else to the oldest.
        """
        call_id = call_id or self._waiting(name)
        call = self._state.calls.pop(call_id, None)
        call = call or OpenCall(name=name, category=category_of(name))
        if is_error is None and exit_code is not None:
            is_error = exit_code != 0
        yield from self.event(
            "tool_result",
            "tool",
            text,
            native=native,
            key=call_id or None,
            limit=RESULT_CHARS,
            tool=ToolUse(
                name=call.name or name,
                category=call.category,
                call_id=call_id,
                command=call.command,
                exit_code=exit_code,
                is_error=is_error,
                status=status,
            ),
            files=call.files,
            **fields,
        )

    def _waiting(self, name: str) -> str:
        calls = self._state.calls
        fitting = (call_id for call_id, call in calls.items() if not name or call.name == name)
        return next(fitting, next(iter(calls), ""))

    def end_turn(self, **fields: Any) -> Iterator[Event]:
        """Yield the mark of a finished turn, if something was said since the last one."""
        if self._state.is_turn_open:
            yield from self.event("text", "system", "", is_synthetic=True, ends_turn=True, **fields)


class DocumentParser(LogParser):
    """Reads a transcript that is one JSON document.

    One without events is reported as not understood, unless `may_be_silent`.
    """

    may_be_silent = False

    def state(self) -> str:
        """Documents are read whole."""
        return ""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of the whole document."""
        try:
            value = decode_json(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        # A file keeps its session when it is rewritten; a pipe has no other name than its text.
        is_file = self._context.path.startswith("/")
        self.begin(msgspec.structs.replace(line, text="" if is_file else line.text))
        found = False
        for event in self.document(value):
            found = True
            yield event
        if not found and not self.may_be_silent:
            reason = "the document holds nothing that was said or done"
            self.skipped.append(Skipped(line=line.number, reason=reason))

    @abstractmethod
    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of a decoded document."""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a document given as one record."""
        yield from self.document(record)


def _checksum(text: str, tool: ToolUse | None, *, ends_turn: bool) -> int:
    tool = tool or _TOOLLESS
    rest = f"{ends_turn}{tool.arguments}{tool.exit_code}{tool.is_error}{tool.status}"
    return zlib.crc32(rest.encode("utf-8", "replace"), zlib.crc32(text.encode("utf-8", "replace")))
