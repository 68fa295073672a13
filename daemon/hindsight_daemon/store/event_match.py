"""Literal search in events: one meaning, as SQL text for the tables and as a predicate.

Pure. The SQL lets through a little too much (it sees a tool as JSON text, names of fields
included), so what it finds in a tool passes the predicate as well.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from hindsight_daemon.model import Event, ToolUse
from hindsight_daemon.store.port import EventFilter
from hindsight_daemon.store.where import in_list, lance_literal

_LISTED_SESSIONS = 2000
_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)

EventOrder = tuple[datetime, str, int, str]


def order_of(ts: datetime | None, session_id: str, seq: int, event_id: str) -> EventOrder:
    """Return what searches sort by; the greatest is the newest, events without time are least."""
    return (ts or _NO_TIME, session_id, seq, event_id)


def _escaped(text: str) -> str:
    # As the text looks inside a JSON string.
    return msgspec.json.encode(text).decode()[1:-1]


def in_text(needle: str) -> str:
    """Return the condition that an event's own text holds the lower-case needle."""
    return f"coalesce(contains(lower(text), {lance_literal(needle)}), false)"


def conditions(needle: str, where: EventFilter) -> list[str]:
    """Return the conditions, cheapest first, that every match meets."""
    parts: list[str] = []
    if where.sessions and len(where.sessions) <= _LISTED_SESSIONS:
        parts.append(in_list("session_id", where.sessions, lance_literal))
    if where.agent:
        parts.append(f"agent = {lance_literal(where.agent)}")
    if where.roles:
        parts.append(in_list("role", where.roles, lance_literal))
    if where.kinds:
        parts.append(in_list("kind", where.kinds, lance_literal))
    if where.since is not None:
        parts.append(f"ts >= {lance_literal(where.since)}")
    if where.until is not None:
        parts.append(f"ts < {lance_literal(where.until)}")
    if where.tool:
        parts.append("tool IS NOT NULL")
    # Arguments are JSON within JSON, so what they say may be escaped once or twice.
    once = _escaped(needle)
    in_tool = [
        f"contains(lower(tool), {lance_literal(text)})"
        for text in dict.fromkeys((once, _escaped(once)))
    ]
    parts.append(f"({' OR '.join([in_text(needle), *in_tool])})")
    return parts


def is_in_tool(needle: str, tool: ToolUse | None) -> bool:
    """Tell whether the command or the arguments of a tool hold the lower-case needle."""
    if tool is None:
        return False
    if needle in tool.command.lower():
        return True
    arguments = tool.arguments.lower()
    return needle in arguments or _escaped(needle) in arguments


def is_tool(wanted: str, tool: ToolUse | None) -> bool:
    """Tell whether a tool goes by this name or belongs to this category."""
    return tool is not None and wanted.lower() in (tool.name.lower(), tool.category)


def matches(needle: str, where: EventFilter, event: Event) -> bool:
    """Tell whether an event holds the lower-case needle and passes the filter."""
    return (
        (not where.sessions or event.session_id in where.sessions)
        and (not where.agent or event.agent == where.agent)
        and (not where.roles or event.role in where.roles)
        and (not where.kinds or event.kind in where.kinds)
        and (where.since is None or (event.ts is not None and event.ts >= where.since))
        and (where.until is None or (event.ts is not None and event.ts < where.until))
        and (not where.tool or is_tool(where.tool, event.tool))
        and (needle in event.text.lower() or is_in_tool(needle, event.tool))
    )
