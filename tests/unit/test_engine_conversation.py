"""What a turn says, asks and answers, as far as its words show."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_daemon.engine.conversation import answering, asking, said_before, stated, substance
from hindsight_daemon.engine.fusion import KEYWORD, Candidate, fuse
from hindsight_daemon.engine.terms import terms_text
from hindsight_daemon.engine.weights import Asker, weigh
from hindsight_daemon.model import Key
from hindsight_daemon.store.port import KeyHit

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def turn(text: str, *, session: str = "s", before: str = "", memory_id: str = "m") -> Key:
    return Key(
        id=f"{memory_id}:{int(bool(before))}",
        memory_id=memory_id,
        key_kind="question" if before else "text",
        text=f"{before}\n{text}" if before else text,
        terms=terms_text(text),
        created_at=NOW,
        kind="turn",
        layer="episodic",
        session_id=session,
    )


def test_a_turn_that_says_more_counts_more_up_to_a_point() -> None:
    assert substance(2) < substance(10) < substance(25) == substance(200) == 1.0


@pytest.mark.parametrize(
    "text", ["How did the migration go?", "迁移顺利吗？", "数据库迁移顺利吗", "(Ready?)"]
)
def test_a_turn_that_only_asks_counts_less(text: str) -> None:
    assert asking(text) < asking("The migration went well. 迁移很顺利。") == 1.0


def test_a_question_after_a_statement_costs_only_its_share() -> None:
    plain = "We moved the pool to port 6432 because the old one was taken by the proxy."
    assert asking("Really?") < asking(f"{plain} Is that fine?") < asking(plain)


def test_a_question_in_a_caption_or_in_code_is_no_question() -> None:
    assert asking("Look at this. [image: a sign saying Why?]") == 1.0


def test_the_answer_to_a_question_is_lifted_and_that_to_a_statement_is_not() -> None:
    own = "Ann: Seven years now."
    assert answering(f"Bob: How long have you been painting?\n{own}", own) > 1.0
    assert answering(f"小王：你画画多久了吗\n{own}", own) > 1.0
    assert answering(f"Bob: I paint as well.\n{own}", own) == 1.0
    assert answering("", own) == 1.0


def test_the_turn_before_is_told_from_the_turn_even_if_both_have_lines() -> None:
    own = "Ann: First line\nsecond line"
    assert said_before(f"Bob: One?\ntwo\n{own}", own) == "Bob: One?\ntwo"
    assert said_before("Bob: One?\nAnn: only", "") == "Bob: One?"


def test_a_turn_stands_for_what_it_states_and_not_for_what_it_asks_in_passing() -> None:
    own = "Ann: Can you recommend a hotel? By the way, I moved to Oslo last week."
    assert stated(own) == "Ann: By the way, I moved to Oslo last week."
    assert stated("小王: 推荐一家酒店好吗？我上周搬到了奥斯陆，就在那个老港口的旁边。") == (
        "小王: 我上周搬到了奥斯陆，就在那个老港口的旁边。"
    )


def test_a_turn_that_hardly_states_anything_stands_for_all_it_says() -> None:
    assert stated("Ann: Which hotel? Thanks!") == "Ann: Which hotel? Thanks!"


def test_every_property_of_a_turn_is_named_in_its_factors() -> None:
    key = turn("Ann: Seven years now.")
    context = "Bob: How long have you been painting?\nAnn: Seven years now."
    one = Candidate(memory_id="m", key=key, fused=0.5, arms={}, context=context)
    factors = weigh(one, Asker(now=NOW)).factors
    assert factors["substance"] < 1.0 < factors["answers"]
    assert factors["asks"] == 1.0


def test_a_turn_found_only_by_what_was_said_before_is_judged_by_its_own_words() -> None:
    key = turn("Ann: What about you?", before="Bob: The deploy failed because of the certificate.")
    one = Candidate(memory_id="m", key=key, fused=0.5, arms={}, context=key.text)
    assert weigh(one, Asker(now=NOW)).factors["asks"] < 1.0


def test_turns_of_the_session_that_tells_most_of_it_are_lifted() -> None:
    hits = [
        KeyHit(key=turn("best", session="a", memory_id="best"), score=10.0),
        KeyHit(key=turn("more", session="a", memory_id="more"), score=5.0),
        KeyHit(key=turn("other", session="b", memory_id="other"), score=5.5),
        KeyHit(key=turn("last", session="c", memory_id="last"), score=1.0),
    ]
    assert [one.memory_id for one in fuse({KEYWORD: hits})][:3] == ["best", "more", "other"]
