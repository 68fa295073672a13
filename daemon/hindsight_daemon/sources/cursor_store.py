"""Cursor's command line: `~/.cursor/chats/<project>/<id>/store.db`, a tree of hashed blobs.

`meta` names the latest root; the root is a protobuf message that lists the hashes of the messages
in order, and a message is JSON in the form of the Vercel AI SDK. Messages that are protobuf
themselves are not read. Sessions are named `chat:<id>` for the reason that `cursor_db` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.cursor_agent import AGENT, CursorParser
from hindsight_daemon.sources.fields import (
    compact,
    content_text,
    first_string,
    mapping,
    sequence,
    string,
)
from hindsight_daemon.sources.port import (
    Parser,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import json_value, tables_score

_HASH_BYTES = 32
_BYTES_FIELD = 2


class CursorStoreParser(CursorParser):
    """Reads one chat."""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the chat's description or of one message."""
        if record.get("type") == "session":
            self._state.session = f"chat:{string(record.get('id'))}"
            self._state.model = string(record.get("model"))
            return
        message, native = mapping(record.get("message")), string(record.get("id"))
        role, content = string(message.get("role")), message.get("content")
        if role == "user":
            yield from self.user_message(content, native=native)
        elif role == "assistant":
            yield from self.assistant_message(self._shown(content), native=native)
        elif role == "tool":
            for part in map(mapping, sequence(content)):
                yield from self._tool_result(part, native)
        elif role != "system":
            self.count(f"message {role or '(not JSON)'}")

    def _tool_result(self, part: dict[str, Any], native: str) -> Iterator[Event]:
        value = part.get("result", part.get("output"))
        text = content_text(value) or first_string(mapping(value), "value") or compact(value)
        is_error = part.get("isError") is True or None
        call_id, name = string(part.get("toolCallId")), string(part.get("toolName"))
        yield from self.outcome(call_id, text, is_error, name=name, native=native)


class CursorStore:
    """The chats of Cursor's command line."""

    name = f"{AGENT}-store"
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = False

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables, which are few and plainly named."""
        return tables_score(head, {"meta": "key value", "blobs": "id data"}) * 0.8

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `chats` below `$CURSOR_CONFIG_DIR` or `~/.cursor`."""
        base = env.get("CURSOR_CONFIG_DIR", "")
        return [(Path(base) if base else home / ".cursor") / "chats"]

    def matches(self, path: Path) -> bool:
        """Accept the databases."""
        return path.name == "store.db"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """A database holds one chat, marked by its latest root."""
        meta = _meta(tables)
        identity = string(meta.get("agentId"))
        if not identity:
            return []
        return [StoredSession(key=identity, mark=string(meta.get("latestRootBlobId")))]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:  # noqa: ARG002 - blobs never change
        """Yield the chat's description and the messages that its root lists."""
        meta = _meta(tables)
        fields = {
            "type": "session",
            "id": key,
            "model": string(meta.get("lastUsedModel")),
        }
        yield StoredRecord(number=0, fields=fields)
        root = _blob(tables, string(meta.get("latestRootBlobId")))
        for number, name in enumerate(listed_hashes(root), 1):
            message = json_value(_blob(tables, name))
            yield StoredRecord(number=number, fields={"id": name, "message": message})

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one chat."""
        return CursorStoreParser(context)


def listed_hashes(root: bytes) -> list[str]:
    """Return the hashes that a protobuf message holds as its first field, in order.

    Other fields are passed over; damaged bytes end the list.
    """
    found = []
    position = 0
    while position < len(root):
        tag, position = _varint(root, position)
        kind, field = tag & 7, tag >> 3
        if kind == _BYTES_FIELD:
            size, position = _varint(root, position)
            if field == 1 and size == _HASH_BYTES and position + size <= len(root):
                found.append(root[position : position + size].hex())
            position += size
        elif kind == 0:
            _, position = _varint(root, position)
        elif kind in (1, 5):
            position += 8 if kind == 1 else 4
        else:
            break
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return 0, len(data)


def _meta(tables: Tables) -> dict[str, Any]:
    for (value,) in tables.rows("SELECT value FROM meta WHERE key = '0' LIMIT 1"):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        try:
            return mapping(json_value(bytes.fromhex(string(text)))) or mapping(json_value(text))
        except ValueError:
            return mapping(json_value(text))
    return {}


def _blob(tables: Tables, name: str) -> bytes:
    found = tables.row("SELECT data FROM blobs WHERE id = ?", name) if name else None
    value = found[0] if found else None
    return value.encode("utf-8") if isinstance(value, str) else value or b""


SOURCE = CursorStore()
