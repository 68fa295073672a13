"""OpenCode's sessions, messages and parts → events; the same from its database and its old tree.

For `opencode` and `opencode_tree`, which make the records: `session`, `prompt`, `part`, `result`,
`end`. Ids of OpenCode are unique everywhere, so that copies of a session collapse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser, status_of
from hindsight_daemon.sources.fields import (
    attachment_note,
    first_string,
    flag,
    integer,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.port import StoredRecord
from hindsight_daemon.sources.tools import INVALID, TIMEOUT

AGENT = "opencode"
_QUIET = names("step-start step-finish snapshot patch agent file")
_WAITING = names("pending running")


def message_records(
    message: dict[str, Any],
    parts: list[tuple[str, dict[str, Any]]],
    number: int,
    *,
    is_whole: bool,
) -> Iterator[StoredRecord]:
    """Yield what is settled of a message, with numbers from `number` on.

    `message` is its data with its `id`, `parts` are ids and data in order. `is_whole` says that
    the agent no longer writes it. A part takes two numbers, whether it is settled or not.
    """
    identity = string(message.get("id"))
    times = mapping(message.get("time"))
    base = {"message": identity, "created": times.get("created")}
    if string(message.get("role")) == "user":
        if parts:
            listed = [{"id": part_id, **data} for part_id, data in parts]
            yield StoredRecord(number=number, fields={**base, "type": "prompt", "parts": listed})
        return
    is_whole = is_whole or bool(times.get("completed")) or "error" in message
    model = string(message.get("modelID")) or string(mapping(message.get("model")).get("modelID"))
    base["model"] = model
    base["cwd"] = string(mapping(message.get("path")).get("cwd"))
    base["is_summary"] = message.get("summary") is True
    reason, calls_last = "", False
    for place, (part_id, data) in enumerate(parts):
        kind = string(data.get("type"))
        own = {**base, "id": part_id, "data": data}
        status = string(mapping(data.get("state")).get("status"))
        if kind == "tool":
            calls_last = True
            if status != "pending" or is_whole:
                yield StoredRecord(
                    number=number + 2 * place,
                    fields={**own, "type": "part", "data": _call_only(data)},
                )
            if status not in _WAITING:
                fields = {**own, "type": "result"}
                yield StoredRecord(number=number + 2 * place + 1, fields=fields)
            continue
        if kind == "step-finish":
            reason = string(data.get("reason"))
        calls_last = calls_last and kind != "text"
        if is_whole or kind not in ("text", "reasoning") or mapping(data.get("time")).get("end"):
            yield StoredRecord(number=number + 2 * place, fields={**own, "type": "part"})
    if is_whole:
        finish = string(message.get("finish")) or reason or ("tool-calls" if calls_last else "stop")
        ending = {**base, "type": "end", "finish": finish, "error": message.get("error")}
        ending["completed"] = times.get("completed")
        yield StoredRecord(number=number + 2 * len(parts), fields=ending)


def _call_only(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out what changes while a tool runs."""
    state = mapping(data.get("state"))
    time = {"start": mapping(state.get("time")).get("start")}
    return {**data, "state": {"input": state.get("input"), "time": time}}


class OpenCodeParser(BlockParser):
    """Reads one session."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        kind = string(record.get("type"))
        if kind == "session":
            self._begin_session(record)
            return
        self._ts = moment(record.get("created"))
        self._state.model = string(record.get("model")) or self._state.model
        self._state.cwd = string(record.get("cwd")) or self._state.cwd
        if kind == "prompt":
            yield from self._prompt(record)
        elif kind == "part":
            yield from self._part(record)
        elif kind == "result":
            yield from self._result(record)
        elif kind == "end":
            yield from self._end(record)
        else:
            self.count(kind or "(no type)")

    def _begin_session(self, record: dict[str, Any]) -> None:
        self._state.session = string(record.get("id"))
        self._state.cwd = string(record.get("directory"))
        self._state.parent = string(record.get("parent"))
        self._state.is_sidechain = bool(self._state.parent)

    def _prompt(self, record: dict[str, Any]) -> Iterator[Event]:
        native = string(record.get("message"))
        texts = []
        for part in map(mapping, sequence(record.get("parts"))):
            kind = string(part.get("type"))
            if kind == "compaction":
                part_id = string(part.get("id"))
                yield from self._own("compaction", "system", "", part_id, is_synthetic=True)
            elif kind == "text":
                if not part.get("synthetic") and not part.get("ignored"):
                    texts.append(string(part.get("text")).strip())
            elif kind == "subtask":
                texts.append(first_string(part, "prompt", "description"))
            elif kind == "file":
                texts.append(_file_note(part))
            elif kind not in _QUIET:
                self.count(f"part {kind or '(no type)'}")
        if text := "\n".join(filter(None, texts)):
            yield from self._own("prompt", "user", text, native)

    def _part(self, record: dict[str, Any]) -> Iterator[Event]:
        data, native = mapping(record.get("data")), string(record.get("id"))
        kind, text = string(data.get("type")), string(data.get("text")).strip()
        self._ts = moment(mapping(data.get("time")).get("start")) or self._ts
        if kind == "text":
            if not text or data.get("synthetic") or data.get("ignored"):
                return
            if record.get("is_summary") is True:
                yield from self._own("compaction", "system", text, native, is_synthetic=True)
            else:
                yield from self._own("text", "assistant", text, native)
        elif kind == "reasoning" and text:
            yield from self._own("reasoning", "assistant", text, native)
        elif kind == "tool":
            state = mapping(data.get("state"))
            self._ts = moment(mapping(state.get("time")).get("start")) or self._ts
            call_id = string(data.get("callID")) or native
            given = state.get("input")
            yield from self.call(
                string(data.get("tool")), call_id, given, native=native, scope="", **_cwd(given)
            )
        elif kind == "retry":
            yield from self._own("error", "system", _error_text(data.get("error")), native)
        elif kind == "compaction":
            yield from self._own("compaction", "system", "", native, is_synthetic=True)
        elif kind not in _QUIET | {"reasoning"}:
            self.count(f"part {kind or '(no type)'}")

    def _result(self, record: dict[str, Any]) -> Iterator[Event]:
        data, native = mapping(record.get("data")), string(record.get("id"))
        state, name = mapping(data.get("state")), string(data.get("tool"))
        times, metadata = mapping(state.get("time")), mapping(state.get("metadata"))
        self._ts = moment(times.get("end")) or moment(times.get("start")) or self._ts
        exit_code = integer(metadata.get("exit"))
        is_error: bool | None = None
        text, status = string(state.get("output")), ""
        if string(state.get("status")) == "error":
            text, is_error = string(state.get("error")) or text, True
            status = status_of(text)
        elif name == "invalid":
            is_error, status = True, INVALID
        elif exit_code is None and metadata.get("timeout"):
            is_error, status = True, TIMEOUT
        elif exit_code is None:
            is_error = flag(metadata.get("isError")) or False
        yield from self.outcome(
            string(data.get("callID")) or native,
            text,
            is_error,
            name=name,
            native=native,
            scope="",
            exit_code=exit_code,
            status=status,
        )

    def _end(self, record: dict[str, Any]) -> Iterator[Event]:
        self._ts = moment(record.get("completed")) or self._ts
        native, error = string(record.get("message")), mapping(record.get("error"))
        if error.get("name") == "MessageAbortedError":
            text = _error_text(error)
            yield from self._own("interrupt", "user", text, native, ends_turn=True)
        elif error:
            yield from self._own("error", "system", _error_text(error), native, ends_turn=True)
        elif record.get("finish") not in ("tool-calls", "unknown"):
            yield from self.end_turn(native=native, key="end", scope="")

    def _own(self, kind: Any, role: Any, text: str, native: str, **fields: Any) -> Iterator[Event]:
        yield from self.event(kind, role, text, native=native, key="", scope="", **fields)


def _cwd(given: Any) -> dict[str, str]:
    cwd = first_string(mapping(given), "workdir", "cwd")
    return {"cwd": cwd} if cwd.startswith("/") else {}


def _error_text(error: Any) -> str:
    fields = mapping(error)
    return string(mapping(fields.get("data")).get("message")) or string(fields.get("name"))


def _file_note(part: dict[str, Any]) -> str:
    """Describe an attached picture; files from the disk are named in the text already."""
    url = string(part.get("url"))
    if not url.startswith("data:"):
        return ""
    return attachment_note("file", string(part.get("mime")), url.partition(",")[2])
