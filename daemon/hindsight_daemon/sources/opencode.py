"""OpenCode since 1.2: `~/.local/share/opencode/opencode.db`; forks of it such as the Kilo CLI too.

Tables `session`, `message` and `part`; times are Unix milliseconds, `data` is JSON without ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from hindsight_daemon.sources.fields import integer, mapping, string
from hindsight_daemon.sources.named_file import folder_named_by, is_named_by
from hindsight_daemon.sources.opencode_parser import AGENT, OpenCodeParser, message_records
from hindsight_daemon.sources.port import (
    Parser,
    StoredRecord,
    StoredSession,
    Tables,
    TranscriptContext,
)
from hindsight_daemon.sources.table_rows import (
    ROW_ID,
    json_value,
    keys_of,
    marks_by,
    named_row,
    tables_score,
)

_TABLES = {"session": "id", "message": "id session_id data", "part": "id message_id data"}
_FORKS = ("kilo",)
_VARIABLE = "OPENCODE_DB"
_RECENT_MS = 2 * 24 * 3600 * 1000


class OpenCode:
    """The OpenCode family."""

    name = AGENT
    parser_version = 1
    container: Literal["database", "tree"] = "database"
    is_shallow = True

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - tables say it all
        """Rate a database by its tables."""
        return tables_score(head, _TABLES)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `$XDG_DATA_HOME/opencode` and its forks', and the folder of `OPENCODE_DB`."""
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local/share"
        return [*(data / name for name in (AGENT, *_FORKS)), *folder_named_by(_VARIABLE, env)]

    def matches(self, path: Path) -> bool:
        """Accept `opencode.db`, `opencode-<channel>.db`, the forks' databases and the named one."""
        is_own = path.suffix == ".db" and path.name.startswith((AGENT, *_FORKS))
        return is_own or is_named_by(_VARIABLE, path)

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Mark sessions by times, numbers and places of their rows; deleted rows move no time.

        Only rows of sessions in use lately are looked into for changes in their place, since
        that means to go through the table; the rest is read from its indices. A session that
        falls out of use is read once more for that.
        """
        rows = marks_by(tables, "session", "id", "time_updated", "time_archived", "revert")
        messages = marks_by(tables, "message", "session_id", ROW_ID)
        parts = marks_by(tables, "part", "session_id", ROW_ID)
        recent = _recent(tables)
        times = [
            marks_by(tables, table, "session_id", "time_updated", among=recent)
            for table in ("message", "part")
        ]
        keys = keys_of(tables, "session", "id", "1", ("time_created", "id"))
        return [
            StoredSession(
                key=key,
                mark=f"{rows.get(key)} {messages.get(key)} {parts.get(key)} "
                f"{[one.get(key) for one in times]}",
            )
            for key in map(str, keys)
        ]

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:
        """Yield the session, then its messages part by part; what was reverted is left out."""
        wanted = ("parent_id", "directory", "revert")
        session = named_row(tables, "session", wanted, "id = ?", key)
        fields = {
            "type": "session",
            "id": key,
            "parent": string(session.get("parent_id")),
            "directory": string(session.get("directory")),
        }
        yield StoredRecord(number=0, fields=fields)
        reverted = string(mapping(json_value(session.get("revert"))).get("messageID"))
        order = ("time_created", "id")
        messages = keys_of(tables, "message", "id", "session_id = ?", order, key)
        number = 1
        for place, message_id in enumerate(messages):
            if message_id == reverted:
                return
            found = named_row(tables, "message", ("data", "time_created"), "id = ?", message_id)
            data = mapping(json_value(found.get("data")))
            message = {"time": {"created": integer(found.get("time_created"))}, **data}
            message["id"] = str(message_id)
            parts = []
            for part_id in keys_of(tables, "part", "id", "message_id = ?", ("id",), message_id):
                part = named_row(tables, "part", ("data",), "id = ?", part_id)
                parts.append((str(part_id), mapping(json_value(part.get("data")))))
            is_whole = final or place + 1 < len(messages)
            yield from message_records(message, parts, number, is_whole=is_whole)
            number += 2 * len(parts) + 1

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return OpenCodeParser(context)


def _recent(tables: Tables) -> list[str] | None:
    """Return the sessions in use lately, counted from the newest; None if no time tells."""
    if "time_updated" not in tables.columns("session"):
        return None
    newest = "SELECT MAX(time_updated) FROM session WHERE TYPEOF(time_updated) = 'integer'"
    query = f"SELECT id FROM session WHERE time_updated >= ({newest}) - ?"
    return [str(key) for (key,) in tables.rows(query, _RECENT_MS)]


SOURCE = OpenCode()
