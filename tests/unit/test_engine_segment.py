"""Cutting sessions into tasks."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from msgspec import structs

from hindsight_daemon.engine import segment as segmenting
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.model import Event
from tests.support.event_builders import Session


def test_a_new_request_starts_a_new_task_and_is_the_reaction_to_the_last() -> None:
    session = Session().user("add a login page").edit("login.py").say("Done.")
    first, second = session.user("write docs for the billing module").tasks()
    assert first.goal == "add a login page"
    assert first.reaction == "write docs for the billing module"
    assert first.is_ended
    assert second.goal == "write docs for the billing module"
    assert not second.is_ended


@pytest.mark.parametrize(
    "words",
    [
        "continue",
        "yes, please",
        "ok thanks",
        "perfect, thanks. commit it",
        "no, use pnpm instead",
        "it still fails with the same error",
        "继续",
        "好的，继续",
        "不对，还是报错",
        "Traceback (most recent call last): KeyError",
        "from now on, always run `make lint` before committing",
        "how's it going?",
    ],
)
def test_follow_ups_belong_to_the_task_they_follow(words: str) -> None:
    session = Session().user("fix the failing login test").edit("login.py").say("Done.")
    assert len(session.user(words).tasks()) == 1


@pytest.mark.parametrize(
    "words",
    [
        "now let's move to the export: it needs a csv header",
        "add a healthcheck endpoint that returns the build number and document it in the readme",
        "下一个任务：给导出功能写测试",
        "/review src/app.py",
    ],
)
def test_new_goals_do_not_continue_a_task(words: str) -> None:
    session = Session().user("fix the failing login test").edit("login.py").say("Done.")
    assert len(session.user(words).tasks()) == 2


def test_a_short_answer_to_a_question_continues() -> None:
    session = Session().user("set up the database").say("Postgres or SQLite?")
    assert len(session.user("Postgres").tasks()) == 1


def test_synthetic_and_sidechain_prompts_start_nothing() -> None:
    session = Session().user("fix the build").run("make", "ok")
    session.user("explore the repository", is_sidechain=True)
    session.user("<system-reminder>be nice</system-reminder>", is_synthetic=True)
    assert len(session.tasks()) == 1
    assert len(session.task().events) == 5


def test_a_subagents_events_join_its_parents_task() -> None:
    session = Session("parent").user("fix the build")
    child = Session("parent/child").run("make", "ok", parent_session_id="parent", is_sidechain=True)
    (task,) = segment([*session.events, *child.events])
    assert task.session_id == "parent"
    assert len(task.events) == 3


def test_interleaved_sessions_stay_apart() -> None:
    one = Session("a").user("fix the parser").edit("p.py")
    two = Session("b").user("write the docs").edit("d.md")
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    assert {(t.session_id, t.goal, len(t.events)) for t in segment(mixed)} == {
        ("a", "fix the parser", 3),
        ("b", "write the docs", 3),
    }


def test_an_interrupted_task_is_marked_unless_it_went_on() -> None:
    session = Session().user("migrate the database").run("alembic upgrade head", "").interrupt()
    assert session.task().is_interrupted
    assert session.task().is_ended
    session.user("no, use the staging url").run("alembic upgrade head", "ok")
    assert not session.task().is_interrupted


def test_an_end_mark_ends_the_last_task() -> None:
    assert Session().user("a goal").say("done", ends_turn=True).task().is_ended
    assert not Session().user("a goal").say("working").task().is_ended


def test_a_grown_task_keeps_its_id_and_changes_its_hash() -> None:
    session = Session().user("fix the parser").edit("p.py")
    before = session.task()
    after = session.run("pytest", "1 passed").task()
    assert before.id == after.id
    assert before.content_hash != after.content_hash
    assert session.task().content_hash == after.content_hash


def test_a_text_that_comes_again_longer_is_kept_once() -> None:
    session = Session().user("explain").say("The cause")
    grown = structs.replace(session.events[-1], text="The cause is a lock.")
    (task,) = segment([*session.events, grown])
    assert [event.text for event in task.events] == ["explain", "The cause is a lock."]


def test_injected_blocks_are_no_part_of_the_goal() -> None:
    text = "<ide_selection>x = 1</ide_selection>\nrename x to total"
    assert Session().user(text).task().goal == "rename x to total"


def test_long_texts_keep_their_head_and_tail() -> None:
    output = "begin" + "x" * 50_000 + "E   the real error"
    task = Session().user("run it").run("pytest", output, 1).task()
    kept = task.events[-1].text
    assert len(kept) < 13_000
    assert kept.startswith("begin")
    assert kept.endswith("the real error")


def test_long_sessions_stay_within_bounded_memory() -> None:
    def events() -> Iterator[Event]:
        yield from Session().user("keep going").events
        for number in range(20_000):
            event = Session().say("word " * 40).events[0]
            yield structs.replace(event, id=f"e{number}", seq=number + 1)

    tracemalloc.start()
    (task,) = segment(events())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(task.events) <= segmenting.MAX_HEAD_EVENTS + segmenting.MAX_TAIL_EVENTS
    assert peak < 20_000_000
