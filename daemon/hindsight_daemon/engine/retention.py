"""Which sessions' events are let go, and why; pure.

Imports records only. Memories outlive the events they came from: what they cite is kept whatever
its age. Sessions that are not consolidated yet, and those with nothing left to let go, stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hindsight_daemon.model import Event, Record, SessionState

_OVERHEAD_BYTES = 200
"""Ids, times and provenance of an event, about."""


class Going(Record, frozen=True, kw_only=True):
    """A session whose events go, except cited ones, and the reason in words."""

    session_id: str
    reason: str


def size_of(event: Event) -> int:
    """Return about how many bytes an event takes before compression."""
    tool = event.tool
    texts = (event.text,) if tool is None else (event.text, tool.arguments, tool.command)
    return _OVERHEAD_BYTES + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def going(
    sessions: Iterable[SessionState], *, now: datetime, keep_days: int, keep_bytes: int
) -> list[Going]:
    """Return the sessions that are too old, then the oldest until the rest fits; 0 is no bound."""
    removable = [
        state
        for state in sessions
        if state.size_bytes > 0 and state.consolidated_events >= state.events
    ]
    removable.sort(key=lambda state: (_age_of(state, now), state.session_id), reverse=True)
    total = sum(state.size_bytes for state in removable)
    found: list[Going] = []
    for state in removable:
        if keep_days and _age_of(state, now) > timedelta(days=keep_days):
            reason = f"nothing was said for more than {keep_days} days"
        elif keep_bytes and total > keep_bytes:
            reason = f"all events together took more than {keep_bytes} bytes"
        else:
            continue
        total -= state.size_bytes
        found.append(Going(session_id=state.session_id, reason=reason))
    return found


def _age_of(state: SessionState, now: datetime) -> timedelta:
    said = state.last_at or state.last_seen_at
    return now - said if said is not None else timedelta(0)
