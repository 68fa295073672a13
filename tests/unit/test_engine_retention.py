"""Which sessions' events go, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_daemon.engine.retention import going, size_of
from hindsight_daemon.model import SessionState
from tests.support.event_builders import Session

NOW = datetime(2026, 8, 1, tzinfo=UTC)


def state(days: float, *, size: int = 100, **fields: Any) -> SessionState:
    defaults: dict[str, Any] = {
        "session_id": f"s{days:g}",
        "agent": "codex",
        "last_at": NOW - timedelta(days=days),
        "events": 4,
        "consolidated_events": 4,
        "size_bytes": size,
    }
    return SessionState(**(defaults | fields))


def chosen(*states: SessionState, keep_days: int = 0, keep_bytes: int = 0) -> list[str]:
    found = going(states, now=NOW, keep_days=keep_days, keep_bytes=keep_bytes)
    return [one.session_id for one in found]


def test_sessions_older_than_the_days_go_and_younger_ones_stay() -> None:
    assert chosen(state(364.9), state(365.1), state(1), keep_days=365) == ["s365.1"]


def test_the_oldest_go_until_the_rest_fits() -> None:
    sessions = [state(day) for day in (1, 4, 2, 3)]
    assert chosen(*sessions, keep_bytes=400) == []
    assert chosen(*sessions, keep_bytes=399) == ["s4"]
    assert chosen(*sessions, keep_bytes=150) == ["s4", "s3", "s2"]


def test_zero_is_no_bound() -> None:
    assert chosen(state(9999, size=10**12)) == []


def test_sessions_that_wait_for_consolidation_or_have_nothing_left_stay() -> None:
    assert chosen(state(900, events=5), state(901, size=0), keep_days=1, keep_bytes=1) == []


def test_what_goes_by_age_makes_room_for_the_rest() -> None:
    found = going([state(500), state(2)], now=NOW, keep_days=365, keep_bytes=100)
    assert [one.reason for one in found] == ["nothing was said for more than 365 days"]


def test_the_size_of_an_event_counts_what_it_says_in_bytes() -> None:
    short, long = Session().say("a").say("迁移" * 100).events
    assert size_of(long) - size_of(short) == 599
