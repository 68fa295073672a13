"""When the task at the end of a session counts as over, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_daemon.engine.ending import Ending, end_after, judge
from hindsight_daemon.model import SessionState
from tests.support.event_builders import Session

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
IDLE_S = 600.0


def state(quiet_s: float, *, read_s: float | None = None, **fields: Any) -> SessionState:
    """Return a session that said its last word `quiet_s` ago and was read then, or `read_s` ago."""
    last_at = NOW - timedelta(seconds=quiet_s)
    defaults: dict[str, Any] = {
        "session_id": "s1",
        "agent": "claude-code",
        "cwd": "/w/app",
        "first_at": last_at - timedelta(minutes=5),
        "last_at": last_at,
        "last_seen_at": NOW - timedelta(seconds=quiet_s if read_s is None else read_s),
    }
    return SessionState(**(defaults | fields))


def decided(one: SessionState, *others: SessionState) -> Ending:
    return judge(one, now=NOW, idle_s=IDLE_S, others=others)


@pytest.mark.parametrize("end", ["ended", "interrupted", "failed"])
def test_a_session_with_an_end_marker_is_over_after_a_minute_of_quiet(end: Any) -> None:
    assert not decided(state(59, end=end)).is_over
    assert decided(state(60, end=end)).is_over


def test_a_session_without_marker_is_over_after_the_idle_time() -> None:
    assert not decided(state(599)).is_over
    assert decided(state(600)) == Ending(is_over=True, reason="nothing was said for 600 s")


def test_a_newer_session_in_the_same_folder_ends_the_older_after_two_minutes() -> None:
    newer = state(5, session_id="s2", first_at=NOW - timedelta(seconds=60))
    assert not decided(state(119), newer).is_over
    assert decided(state(121), newer).is_over


@pytest.mark.parametrize(
    "other",
    [
        {"cwd": "/w/other"},
        {"agent": "codex"},
        {"parent_session_id": "s1"},
        {"first_at": NOW - timedelta(minutes=30)},
        {"session_id": "s1"},
    ],
)
def test_sessions_elsewhere_earlier_or_below_it_end_nothing(other: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"session_id": "s2", "first_at": NOW - timedelta(seconds=60)}
    assert not decided(state(300), state(5, **(fields | other))).is_over


def test_an_old_transcript_that_was_read_this_moment_may_go_on() -> None:
    assert not decided(state(90_000, read_s=3, end="ended")).is_over
    assert decided(state(90_000, read_s=61)).is_over


def test_a_session_in_which_nothing_was_said_is_not_over() -> None:
    assert not decided(SessionState(session_id="s1", agent="codex")).is_over


def test_a_session_without_times_counts_from_when_it_was_read() -> None:
    assert decided(state(0, read_s=700, last_at=None)).is_over
    assert not decided(state(0, read_s=500, last_at=None)).is_over


def test_the_marker_says_how_a_session_ended() -> None:
    asked = Session().user("make the tests pass")
    assert end_after("", asked.say("All pass", ends_turn=True).events) == "ended"
    assert end_after("", Session().user("x y").add("user", "interrupt").events) == "interrupted"
    failed = Session().user("x y").add("assistant", "error", "API Error", ends_turn=True)
    assert end_after("", failed.events) == "failed"


def test_what_follows_a_marker_opens_the_session_again() -> None:
    assert end_after("ended", Session().user("now the docs").events) == ""
    assert end_after("interrupted", Session().run("make").events) == ""


def test_notes_and_side_lines_do_not_open_a_session_again() -> None:
    note = Session().add("system", "text", "a title", is_synthetic=True)
    assert end_after("ended", note.events) == "ended"
    mark = Session().add("system", "text", "", is_synthetic=True, ends_turn=True)
    assert end_after("interrupted", mark.events) == "interrupted"
    assert end_after("", mark.events) == "ended"
    beside = Session().say("working", is_sidechain=True)
    assert end_after("ended", beside.events) == "ended"


def test_a_clock_that_jumps_ends_nothing_early_and_nothing_twice() -> None:
    # Set back by a day: what was said lies in the future, nothing is over.
    assert not decided(state(-86_400)).is_over
    assert not decided(state(-86_400, end="ended")).is_over
    # Set ahead by a day while a session runs: it is over, and what is said next opens it again.
    assert decided(state(86_400)).is_over
    assert end_after("ended", Session().user("go on").events) == ""
