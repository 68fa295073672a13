"""Cursor's editor: conversations in `<User>/globalStorage/state.vscdb`, table `cursorDiskKV`.

The same database holds access tokens and much else, and may have gigabytes: rows are only looked
up by key or by ranges of keys that begin with `composerData:` and `bubbleId:`.

Sessions are named `composer:<id>`: the agent's own transcripts (`cursor_agent`) may tell the same
conversation under the bare id, with less in it and without ids that would let both collapse;
`service.twins` takes only one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser, decoded, status_of
from hindsight_daemon.sources.cursor_agent import AGENT
from hindsight_daemon.sources.fields import (
    compact,
    first_string,
    integer,
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
from hindsight_daemon.sources.table_rows import json_value, tables_score
from hindsight_daemon.sources.tools import INTERRUPTED

_TABLE = "cursorDiskKV"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_AFTER = ";"
"""The character after `:`, which ends a range of keys."""
_USER, _ASSISTANT = 1, 2
_GONE = ("aborted", "cancelled")
_RUNNING = ("loading", "pending", "running", "generating", "streaming")


class CursorDatabaseParser(BlockParser):
    """Reads one conversation."""

    agent = AGENT

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the conversation's frame, a bubble, a result or the end."""
        kind = string(record.get("type"))
        if kind == "session":
            self._state.session = f"composer:{string(record.get('id'))}"
            self._state.cwd = string(record.get("cwd"))
            self._ts = None
            return
        if kind == "damaged":
            self.skipped.append(Skipped(line=self._line.number, reason="damaged conversation"))
            return
        self._ts = moment(record.get("at"))
        native = string(record.get("id"))
        bubble = mapping(record.get("bubble"))
        if kind == "bubble":
            yield from self._bubble(bubble, native)
        elif kind == "result":
            yield from self._result(mapping(bubble.get("toolFormerData")), native)
        elif kind == "end" and record.get("status") in _GONE:
            yield from self.event("interrupt", "user", "", native=native, key="", ends_turn=True)
        elif kind == "end":
            yield from self.end_turn(native=native, key="end")

    def _bubble(self, bubble: dict[str, Any], native: str) -> Iterator[Event]:
        role, text = bubble.get("type"), string(bubble.get("text"))
        if role == _USER:
            yield from self.said("prompt", "user", text, native=native, key="")
            return
        if role != _ASSISTANT:
            self.count(f"bubble type {role}")
            return
        thinking = bubble.get("thinking")
        thought = string(thinking) or string(mapping(thinking).get("text"))
        yield from self.said("reasoning", "assistant", thought, native=native, key="")
        yield from self.said("text", "assistant", text, native=native, key="")
        tool = mapping(bubble.get("toolFormerData"))
        if name := string(tool.get("name")):
            call_id = string(tool.get("toolCallId")) or native
            given = decoded(tool.get("params") or tool.get("rawArgs"))
            yield from self.call(name, call_id, given, native=native)

    def _result(self, tool: dict[str, Any], native: str) -> Iterator[Event]:
        value = decoded(tool.get("result"))
        fields = mapping(value)
        text = first_string(fields, "output", "contents", "error", "message") or compact(value)
        exit_code = integer(fields.get("exitCode", fields.get("exit_code")))
        status, is_error = string(tool.get("status")), None
        if status == "error":
            is_error, status = True, status_of(text)
        elif status in ("cancelled", "rejected"):
            is_error, status = True, INTERRUPTED
        else:
            status = ""
        yield from self.outcome(
            string(tool.get("toolCallId")) or native,
            text,
            is_error,
            name=string(tool.get("name")),
            native=native,
            exit_code=exit_code,
            status=status,
        )


class CursorDatabase:
    """The conversations of Cursor's editor."""

    name = f"{AGENT}-db"
    parser_version = 1
    container: Literal["database"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its table."""
        return tables_score(head, {_TABLE: "key value"})

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `globalStorage` of the editor on Linux and macOS."""
        config = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
        support = home / "Library/Application Support"
        return [base / "Cursor/User/globalStorage" for base in (config, support)]

    def matches(self, path: Path) -> bool:
        """Accept the database."""
        return path.name == "state.vscdb"

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark conversations by places and numbers of their rows, without reading these.

        Cursor's table puts a changed row at its end, which moves the greatest row id, unless it
        was the last row already; of that one the length counts. Where a table was made otherwise
        all lengths have to be read.
        """
        made = tables.rows("SELECT sql FROM sqlite_master WHERE name = ?", _TABLE)
        moves = "ON CONFLICT REPLACE" in str(made[0][0]).upper() if made else False
        newest = f"SELECT rowid, LENGTH(value) FROM {_TABLE} ORDER BY rowid DESC LIMIT 1"
        last = dict(tables.rows(newest))
        length = "0" if moves else "SUM(LENGTH(value))"
        counts = f"SELECT COUNT(*), MAX(rowid), {length} FROM {_TABLE} WHERE key >= ? AND key < ?"
        size = f"SELECT LENGTH(value) FROM {_TABLE} WHERE key = ?"
        listed = f"SELECT key, rowid FROM {_TABLE} WHERE key >= ? AND key < ? ORDER BY rowid"
        found = []
        for key, row in tables.rows(listed, _COMPOSER, _COMPOSER[:-1] + _AFTER):
            composer = str(key).removeprefix(_COMPOSER)
            begin, end = f"{_BUBBLE}{composer}:", f"{_BUBBLE}{composer}{_AFTER}"
            (bubbles,) = tables.rows(counts, begin, end)
            own = () if moves else tables.rows(size, key)
            ends = [last[row_id] for row_id in (row, bubbles[1]) if row_id in last]
            found.append(StoredSession(key=composer, mark=f"{row} {bubbles} {own} {ends}"))
        return found

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:
        """Yield the frame of a conversation and its bubbles in the order of their headers."""
        composer = mapping(_value(tables, f"{_COMPOSER}{key}"))
        fields = {"type": "session", "id": key, "cwd": _folder(composer)}
        yield StoredRecord(number=0, fields=fields)
        if not composer:
            yield StoredRecord(number=1, fields={"type": "damaged"})
        status = string(composer.get("status"))
        bubbles = list(_bubbles(tables, key, composer))
        is_done = final or status not in _RUNNING
        created = composer.get("createdAt")
        last: dict[str, Any] = {}
        for place, (name, inline) in enumerate(bubbles):
            bubble = inline or mapping(_value(tables, f"{_BUBBLE}{key}:{name}"))
            if not bubble:
                continue
            own = {"id": name, "bubble": _wanted(bubble), "at": bubble.get("createdAt") or created}
            tool = mapping(bubble.get("toolFormerData"))
            is_settled = is_done or place + 1 < len(bubbles)
            if is_settled or bubble.get("type") == _USER or (tool and tool.get("status")):
                call = {**own, "bubble": _wanted(bubble, with_result=False), "type": "bubble"}
                yield StoredRecord(number=2 * place + 1, fields=call)
            if tool and string(tool.get("status")) not in ("", *_RUNNING):
                yield StoredRecord(number=2 * place + 2, fields={**own, "type": "result"})
            last = {**own, "bubble": None, "type": "end", "status": status}
            last["place"] = place
            last["is_answer"] = bubble.get("type") == _ASSISTANT and not tool
        if last and is_done and (last["is_answer"] or status in _GONE):
            yield StoredRecord(number=2 * last["place"] + 3, fields=last)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one conversation."""
        return CursorDatabaseParser(context)


def holds(tables: Tables, composer: str) -> bool:
    """Tell whether a database has anything said in a conversation; one look-up by key."""
    if "value" not in tables.columns(_TABLE):
        return False
    query = f"SELECT 1 FROM {_TABLE} WHERE key >= ? AND key < ? LIMIT 1"
    begin, end = f"{_BUBBLE}{composer}:", f"{_BUBBLE}{composer}{_AFTER}"
    if tables.rows(query, begin, end):
        return True
    return bool(sequence(mapping(_value(tables, f"{_COMPOSER}{composer}")).get("conversation")))


def _value(tables: Tables, key: str) -> Any:
    found = tables.row(f"SELECT value FROM {_TABLE} WHERE key = ?", key)
    return json_value(found[0]) if found else None


def _bubbles(
    tables: Tables, key: str, composer: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of bubbles in order, with the bubble itself where it lies inline."""
    headers = sequence(composer.get("fullConversationHeadersOnly"))
    begin, end = f"{_BUBBLE}{key}:", f"{_BUBBLE}{key}{_AFTER}"
    query = f"SELECT key FROM {_TABLE} WHERE key >= ? AND key < ? ORDER BY rowid"
    if headers:
        listed = [string(mapping(header).get("bubbleId")) for header in headers]
        stored = [str(name).removeprefix(begin) for (name,) in tables.rows(query, begin, end)]
        # Some rows have another name than the bubble in them, which is what headers go by.
        astray = set(stored) - set(listed) if set(listed) - set(stored) else set()
        inside = {
            string(mapping(_value(tables, f"{begin}{name}")).get("bubbleId")): name
            for name in stored
            if name in astray
        }
        for name in listed:
            yield inside.get(name, name), {}
        return
    inline = sequence(composer.get("conversation"))
    for place, bubble in enumerate(map(mapping, inline)):
        yield string(bubble.get("bubbleId")) or f"place {place}", bubble
    if not inline:
        for (name,) in tables.rows(query, begin, end):
            yield str(name).removeprefix(begin), {}


def _wanted(bubble: dict[str, Any], *, with_result: bool = True) -> dict[str, Any]:
    """Leave out of a bubble what no event needs; it carries much of the editor's state."""
    kept: dict[str, Any] = {
        name: bubble[name] for name in ("type", "text", "thinking") if name in bubble
    }
    if tool := mapping(bubble.get("toolFormerData")):
        names = ["name", "toolCallId", "params", "rawArgs"]
        names += ["result", "status"] if with_result else []
        kept["toolFormerData"] = {name: tool[name] for name in names if name in tool}
    return kept


def _folder(composer: dict[str, Any]) -> str:
    uri = mapping(mapping(composer.get("workspaceIdentifier")).get("uri"))
    return first_string(uri, "fsPath", "path")


SOURCE = CursorDatabase()
