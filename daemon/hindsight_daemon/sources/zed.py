"""Zed's agent panel: `~/.local/share/zed/threads/threads.db`, one packed JSON document a thread.

Messages carry no times, so that they bear the time of the thread's last save. The row is written
anew at each save; a thread that was cut and went on differently has other messages' ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import zstandard

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import (
    flag,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.port import (
    Parser,
    Skipped,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import json_value, named_row, tables_score

AGENT = "zed"
MAX_THREAD_BYTES = 64 * 1024 * 1024
_TABLES = {"threads": "id updated_at data_type data"}
_THREAD = ("data_type", "data", "updated_at", "parent_id", "folder_paths")


class ZedParser(BlockParser):
    """Reads one thread."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the thread's frame or of one message."""
        self._ts = moment(record.get("updated_at"))
        if record.get("type") == "session":
            self._state.session = string(record.get("id"))
            self._state.cwd = string(record.get("cwd"))
            self._state.parent = string(record.get("parent"))
            self._state.is_sidechain = bool(self._state.parent)
            self._state.model = string(record.get("model"))
            return
        if record.get("type") == "damaged":
            self.skipped.append(Skipped(line=self._line.number, reason="damaged thread"))
            return
        message, native = record.get("message"), string(record.get("place"))
        fields = mapping(message)
        if "User" in fields:
            yield from self._user(mapping(fields["User"]), native)
        elif "Agent" in fields:
            yield from self._agent(mapping(fields["Agent"]), native)
        elif "role" in fields:
            yield from self._former(fields, native)
        elif message != "Resume":
            self.count(f"message {next(iter(fields), '(no kind)')}")

    def _user(self, message: dict[str, Any], native: str) -> Iterator[Event]:
        texts = []
        for part in map(mapping, sequence(message.get("content"))):
            for kind, value in part.items():
                if kind == "Text":
                    texts.append(string(value).strip())
                elif kind == "Image":
                    texts.append("[image]")
                elif kind != "Mention":
                    self.count(f"content {kind}")
        yield from self.said("prompt", "user", "\n".join(filter(None, texts)), native=native)

    def _agent(self, message: dict[str, Any], native: str) -> Iterator[Event]:
        called = []
        for place, part in enumerate(map(mapping, sequence(message.get("content")))):
            for kind, value in part.items():
                text = string(value) or string(mapping(value).get("text"))
                key = f"part {place}"
                if kind == "Text":
                    yield from self.said("text", "assistant", text, native=native, key=key)
                elif kind == "Thinking":
                    yield from self.said("reasoning", "assistant", text, native=native, key=key)
                elif kind == "ToolUse":
                    use = mapping(value)
                    called.append(string(use.get("id")))
                    given = use.get("input", use.get("raw_input"))
                    yield from self.call(string(use.get("name")), called[-1], given, native=native)
                elif kind != "RedactedThinking":
                    self.count(f"content {kind}")
        results = mapping(message.get("tool_results"))
        for call_id, value in results.items():
            result = mapping(value)
            yield from self._result(call_id, result, string(result.get("tool_name")), native)

    def _former(self, message: dict[str, Any], native: str) -> Iterator[Event]:
        """Yield the events of a message in the form of the first threads."""
        role = string(message.get("role")).lower()
        for result in map(mapping, sequence(message.get("tool_results"))):
            yield from self._result(string(result.get("tool_use_id")), result, "", native)
        for place, part in enumerate(map(mapping, sequence(message.get("segments")))):
            text, key = string(part.get("text")), f"part {place}"
            if part.get("type") == "thinking":
                yield from self.said("reasoning", "assistant", text, native=native, key=key)
            elif role == "assistant":
                yield from self.said("text", "assistant", text, native=native, key=key)
            elif role == "user":
                yield from self.said("prompt", "user", text, native=native)
        for use in map(mapping, sequence(message.get("tool_uses"))):
            name, call_id = string(use.get("name")), string(use.get("id"))
            yield from self.call(name, call_id, use.get("input"), native=native)

    def _result(
        self, call_id: str, result: dict[str, Any], name: str, native: str
    ) -> Iterator[Event]:
        text = _result_text(result.get("content")) or _result_text(result.get("output"))
        is_error = flag(result.get("is_error"))
        yield from self.outcome(call_id, text, is_error, name=name, native=native)


def _result_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(filter(None, map(_result_text, content)))
    return string(content) or string(mapping(content).get("Text"))


def unpacked(data_type: str, data: Any) -> Any:
    """Return the document in a thread's `data`, None if it is damaged or far too long."""
    if data_type != "zstd" or not isinstance(data, bytes):
        return json_value(data)
    try:
        unpacker = zstandard.ZstdDecompressor(max_window_size=2**27)
        with unpacker.stream_reader(data) as stream:
            plain = stream.read(MAX_THREAD_BYTES + 1)
    except zstandard.ZstdError:
        return None
    return json_value(plain) if len(plain) <= MAX_THREAD_BYTES else None


class Zed:
    """The Zed family."""

    name = AGENT
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        return tables_score(head, _TABLES)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the `threads` folders of Linux and macOS."""
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local/share"
        return [data / "zed/threads", home / "Library/Application Support/Zed/threads"]

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "threads.db"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark threads by time and size of their documents."""
        if not {"id", "updated_at", "data"} <= tables.columns("threads"):
            return []
        query = "SELECT id, updated_at, LENGTH(data) FROM threads ORDER BY updated_at, id"
        return [StoredSession(key=str(k), mark=f"{at} {n}") for k, at, n in tables.rows(query)]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - growing texts replace their former selves
        """Yield the frame of a thread and its messages."""
        row = named_row(tables, "threads", _THREAD, "id = ?", key)
        document = mapping(unpacked(string(row.get("data_type")), row.get("data")))
        folders = string(row.get("folder_paths")).split("\n")
        fields = {
            "type": "session",
            "id": key,
            "parent": string(row.get("parent_id")),
            "cwd": next((folder for folder in folders if folder.startswith("/")), ""),
            "model": string(mapping(document.get("model")).get("model")),
        }
        yield StoredRecord(number=0, fields=fields)
        if not document:
            yield StoredRecord(number=1, fields={"type": "damaged"})
        user, since = "start", 0
        for number, message in enumerate(sequence(document.get("messages")), 1):
            fields = mapping(message)
            own = mapping(fields.get("User")).get("id", fields.get("id"))
            # Answers have no ids; they are told by the prompt that they follow.
            user, since = (str(own), 0) if own is not None else (user, since + 1)
            yield StoredRecord(
                number=number,
                fields={
                    "message": message,
                    "place": f"{user} {since}",
                    "updated_at": row.get("updated_at"),
                },
            )

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one thread."""
        return ZedParser(context)


SOURCE = Zed()
