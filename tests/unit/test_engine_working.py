"""The live state of a session as its events come in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_daemon.engine.working import (
    advanced,
    assessed,
    bounded,
    closed,
    is_full,
    is_trigger,
    opened,
    relieved,
)
from hindsight_daemon.model import WorkingState
from tests.support.event_builders import Session

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def empty() -> WorkingState:
    return opened("s1", agent="claude-code", project="/w/app", cwd="/w/app", now=NOW, ttl_s=3600)


def state_of(session: Session) -> WorkingState:
    return advanced(empty(), session.events)[0]


def texts(state: WorkingState, kind: str) -> list[str]:
    return [item.text for item in state.items if item.kind == kind]


def failing() -> Session:
    return (
        Session()
        .user("Fix the flaky pool test")
        .run("pytest tests/test_pool.py", "E   ConnectionError: pool exhausted\n1 failed", 1)
    )


def test_the_goal_the_steps_and_the_open_failure_are_held() -> None:
    state = state_of(failing().edit("src/pool.py"))
    assert (state.is_open, state.goal) == (True, "Fix the flaky pool test")
    assert texts(state, "step") == ["pytest tests/test_pool.py: failed", "edit src/pool.py: ok"]
    assert texts(state, "failure") == ["pytest tests/test_pool.py: ConnectionError: pool exhausted"]


def test_a_failure_is_open_until_a_run_that_covers_it_passes() -> None:
    session = failing().edit("src/pool.py").run("pytest -q", "12 passed")
    state = state_of(session)
    assert texts(state, "failure") == []
    assert state.settled == 1
    other = state_of(failing().run("pytest tests/test_api.py", "3 passed"))
    assert len(texts(other, "failure")) == 1


def test_a_failure_that_comes_again_is_held_once() -> None:
    session = failing().run("pytest tests/test_pool.py", "E   KeyError: 'size'\n1 failed", 1)
    assert texts(state_of(session), "failure") == ["pytest tests/test_pool.py: KeyError: 'size'"]


def test_the_same_state_comes_of_events_one_by_one_and_at_once() -> None:
    events = failing().edit("src/pool.py").run("pytest -q", "12 passed").events
    state = empty()
    for event in events:
        state, _ = advanced(state, [event])
    assert state == advanced(empty(), events)[0]


def test_another_goal_begins_anew_and_an_answer_goes_on() -> None:
    session = failing().say("Shall I raise the limit?").user("yes")
    assert state_of(session).turns == 2
    session.edit("src/pool.py").say("Raised it.").user(
        "Write the release notes for version 2 and list all changes"
    )
    state = state_of(session)
    assert state.goal.startswith("Write the release notes")
    assert state.items == ()


@pytest.mark.parametrize(
    "words",
    [
        "Remember: the staging database listens on 5433",
        "记住：暂存数据库的端口是 5433",
        "以后都用 uv",
    ],
)
def test_what_the_user_asks_to_keep_is_a_note_and_a_trigger(words: str) -> None:
    state, was_triggered = advanced(empty(), Session().user("Fix the build").user(words).events)
    assert was_triggered and len(texts(state, "note")) == 1
    assert texts(state, "note")[0].rstrip("。.").casefold() in words.casefold()


@pytest.mark.parametrize("words", ["Fix the build", "我记得昨天是好的", "run it again"])
def test_other_words_trigger_nothing(words: str) -> None:
    assert not is_trigger(words)


def test_importance_is_assessed_every_few_turns_and_at_once_on_a_trigger() -> None:
    first = assessed(state_of(failing()), NOW, every_turns=3, was_triggered=False)
    assert (first.assessments, first.importance) == (1, "low")
    session = failing().edit("src/pool.py")
    more, _ = advanced(first, session.events[3:])
    assert assessed(more, NOW, every_turns=3, was_triggered=False).assessments == 1
    at_once = assessed(more, NOW, every_turns=3, was_triggered=True)
    assert at_once.assessments == 2
    assert at_once.importance_score > first.importance_score
    session.user("continue").user("continue").user("go on")
    turns, _ = advanced(more, session.events[5:])
    assert assessed(turns, NOW, every_turns=3, was_triggered=False).assessments == 2


def test_nothing_is_assessed_while_nothing_has_changed() -> None:
    state = assessed(state_of(failing()), NOW, every_turns=1, was_triggered=False)
    more, _ = advanced(state, Session().user("x").user("continue").events[1:])
    assert assessed(more, NOW, every_turns=1, was_triggered=True).assessments == 1


def test_what_counts_least_makes_room() -> None:
    session = failing().user("Remember: never touch the prod database")
    for number in range(20):
        session.run(f"ls part{number}", f"file{number}.txt")
    state = bounded(state_of(session), 8)
    assert len(state.items) == 8 and state.dropped == 16
    assert texts(state, "note") and texts(state, "failure")
    assert texts(state, "result")[-1] == "ls part19: file19.txt"


def test_a_full_state_keeps_what_is_open_after_its_consolidation() -> None:
    session = failing()
    for number in range(6):
        session.edit(f"src/part{number}.py")
    state = state_of(session)
    assert is_full(state, 10) and not is_full(state, 100)
    lighter = relieved(state)
    assert texts(lighter, "failure") == texts(state, "failure")
    assert texts(lighter, "step") == []
    assert lighter.goal == state.goal


def test_a_closed_state_holds_nothing_but_can_be_gone_on_with() -> None:
    state = closed(state_of(failing().say("It is the limit. Raise it?", ends_turn=True)))
    assert not state.is_open and state.items == ()
    more, _ = advanced(state, Session().user("first").user("yes, do it").events[1:])
    assert more.is_open and more.goal == "Fix the flaky pool test"


def test_what_a_memory_was_asked_is_no_step() -> None:
    session = Session().user("Fix it").run("hindsight recall pool", "…", is_synthetic=True)
    assert state_of(session).items == ()
