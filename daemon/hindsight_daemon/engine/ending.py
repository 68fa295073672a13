"""Whether the task at the end of a session is over, and why; pure.

Imports records only. The rules: an explicit end marker and a minute of quiet, a newer session in
the same folder and two minutes of quiet, or ten minutes of silence. Nothing is final: bytes that
arrive later open the session again, and its task is distilled anew in place of the former one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hindsight_daemon.model import Event, Record, SessionEnd, SessionState

QUIET_AFTER_END_S = 60.0
"""Silence after an end marker: the agent may have been told to go on at once."""

QUIET_BESIDE_NEWER_S = 120.0
"""Silence after which a session that a newer one in the same folder has replaced is over."""

_MARKERS: dict[SessionEnd, str] = {
    "ended": "the agent said that it was done",
    "interrupted": "the user interrupted it",
    "failed": "the agent could not go on",
}


class Ending(Record, frozen=True, kw_only=True):
    """The decision on one session and its reason, in words."""

    is_over: bool
    reason: str


def end_after(former: SessionEnd, events: Iterable[Event]) -> SessionEnd:
    """Return how a session stands after these events; `former` is how it stood before them.

    Only its main line counts. Whatever follows an end marker opens the session again, except
    notes that nobody said (titles, summaries of hooks).
    """
    end = former
    for event in events:
        if event.is_sidechain:
            continue
        if event.kind == "interrupt":
            end = "interrupted"
        elif event.ends_turn:
            end = "failed" if event.kind == "error" else end if _is_note(event, end) else "ended"
        elif not _is_note(event, end):
            end = ""
    return end


def _is_note(event: Event, end: SessionEnd) -> bool:
    return bool(end) and event.role == "system" and event.kind in ("text", "compaction")


def has_newer(state: SessionState, others: Iterable[SessionState]) -> bool:
    """Tell whether the same agent began another session in the same folder after this one."""
    if not state.cwd or state.last_at is None:
        return False
    return any(
        other.first_at is not None
        and other.first_at > state.last_at
        and (other.cwd, other.agent) == (state.cwd, state.agent)
        and other.session_id != state.session_id
        and other.parent_session_id != state.session_id
        for other in others
    )


def judge(
    state: SessionState, *, now: datetime, idle_s: float, others: Sequence[SessionState] = ()
) -> Ending:
    """Decide whether the last task of a session is over; `idle_s` is the silence that ends any.

    Quiet counts from what was said last. What was just read of an old transcript may go on in
    the next moment, so a part of that time must have passed since it was read as well.
    """
    seen = state.last_seen_at or state.last_at
    spoken = state.last_at or state.last_seen_at
    if seen is None or spoken is None:
        return Ending(is_over=False, reason="nothing was said yet")
    quiet_s = (now - spoken).total_seconds()
    if (now - seen).total_seconds() < min(QUIET_AFTER_END_S, quiet_s / 10):
        return Ending(is_over=False, reason="it is still being read")
    if quiet_s >= idle_s:
        return Ending(is_over=True, reason=f"nothing was said for {idle_s:g} s")
    if state.end and quiet_s >= QUIET_AFTER_END_S:
        return Ending(is_over=True, reason=_MARKERS[state.end])
    if quiet_s >= QUIET_BESIDE_NEWER_S and has_newer(state, others):
        return Ending(is_over=True, reason="a newer session took its place in the same folder")
    return Ending(is_over=False, reason="it may go on")
