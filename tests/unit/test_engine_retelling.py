"""When a newer turn goes before an older one, and what a cross-encoder's opinion changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_daemon.engine.fusion import Candidate
from hindsight_daemon.engine.reranking import mixed, passage
from hindsight_daemon.engine.retelling import asks_for_present, newer_told_first
from hindsight_daemon.engine.terms import terms_of, terms_text
from hindsight_daemon.engine.weights import Weighed
from hindsight_daemon.model import Key

NOW = datetime(2026, 6, 1, tzinfo=UTC)
QUESTION = "What is my best time in the charity 5K run?"
OLD = "Ann: I finished the charity 5K run in 26 minutes, my best time."
NEW = "Ann: By the way, my best time in the charity 5K run is 25:50 now."


def told(
    text: str,
    final: float,
    *,
    days_ago: float,
    session: str = "",
    context: str = "",
) -> Weighed:
    key = Key(
        id=f"{text}:0",
        memory_id=text,
        key_kind="text",
        text=text,
        terms=terms_text(text),
        created_at=NOW - timedelta(days=days_ago),
        kind="turn",
        layer="episodic",
        session_id=session or f"s{days_ago}",
    )
    one = Candidate(memory_id=text, key=key, fused=final, arms={}, context=context)
    return Weighed(candidate=one, factors={}, final=final)


def others() -> list[Weighed]:
    words = ("garden", "kitchen", "office", "harbour", "museum", "forest", "bridge", "market")
    return [
        told(f"Ann: We went to the {word} on a sunny day.", 0.2, days_ago=n)
        for n, word in enumerate(words, 40)
    ]


def first(ranked: list[Weighed], question: str = QUESTION) -> str:
    found = newer_told_first(ranked, terms_of(question), question=question)
    return found[0].candidate.memory_id


def test_what_the_same_person_told_again_later_goes_first() -> None:
    ranked = [told(OLD, 0.8, days_ago=30), told(NEW, 0.7, days_ago=9), *others()]
    assert first(ranked) == NEW


def test_the_passed_score_and_the_lift_are_kept_for_explaining() -> None:
    ranked = [told(OLD, 0.8, days_ago=30), told(NEW, 0.7, days_ago=9), *others()]
    found = newer_told_first(ranked, terms_of(QUESTION), question=QUESTION)
    assert found[0].final == 0.8
    assert found[0].factors["retold"] == pytest.approx(0.8 / 0.7)


def test_a_much_worse_answer_stays_behind_however_new() -> None:
    ranked = [told(OLD, 0.8, days_ago=30), told(NEW, 0.3, days_ago=9), *others()]
    assert first(ranked) == OLD


def test_turns_of_one_session_keep_their_order() -> None:
    ranked = [
        told(OLD, 0.8, days_ago=30, session="s"),
        told(NEW, 0.7, days_ago=29, session="s"),
        *others(),
    ]
    assert first(ranked) == OLD


def test_what_somebody_else_said_later_does_not_replace_it() -> None:
    ranked = [
        told(OLD, 0.8, days_ago=30),
        told(NEW.replace("Ann", "Bob"), 0.7, days_ago=9),
        *others(),
    ]
    assert first(ranked) == OLD


def test_a_newer_turn_that_shares_only_common_words_does_not_move() -> None:
    near = "Ann: The run to the market was nice."
    ranked = [told(OLD, 0.8, days_ago=30), told(near, 0.75, days_ago=1), *others()]
    assert first(ranked, "When did I run?") == OLD


@pytest.mark.parametrize(
    ("question", "is_present"),
    [
        ("Where do I keep my old sneakers?", True),
        ("What port does the API listen on?", True),
        ("What was the latest score?", True),
        ("数据库现在用哪个端口？", True),
        ("When did we migrate the database?", False),
        ("Where do I originally keep them?", False),
        ("以前用哪个端口？", False),
        ("the port", False),
    ],
)
def test_questions_about_the_present_are_told_from_those_about_the_past(
    question: str, is_present: bool
) -> None:
    assert asks_for_present(question) is is_present


def test_a_cross_encoder_decides_between_near_equals_and_not_between_far_ones() -> None:
    assert mixed([0.8, 0.78, 0.2], [-4.0, 3.0, 2.0]) == [1, 0, 2]
    assert mixed([0.8, 0.78, 0.2], [0.0, 0.0, 0.0]) == [0, 1, 2]
    assert mixed([], []) == []


def test_a_turn_is_read_with_the_turn_before_it_and_a_long_memory_by_the_piece_found() -> None:
    with_context = told("Ann: Yes!", 0.5, days_ago=1, context="Bob: Done?\nAnn: Yes!")
    assert passage(with_context.candidate, "Yes!") == "Bob: Done?\nAnn: Yes!"
    alone = told("Ann: Yes!", 0.5, days_ago=1)
    assert passage(alone.candidate, "x" * 5000) == "Ann: Yes!"
