"""How the answers of several arms become one order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
import pytest

from hindsight_daemon.engine.fusion import (
    CONTEXT_KEY_KIND,
    KEYWORD,
    RECENT,
    VECTOR,
    Candidate,
    FusionMethod,
    arm_weights,
    fuse,
)
from hindsight_daemon.engine.relevance import Floor, coverage, cut
from hindsight_daemon.model import Key, MemoryKind

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Found(msgspec.Struct, frozen=True):
    key: Key
    score: float


def hit(
    memory_id: str,
    score: float,
    *,
    key_kind: Literal["text", "question", "goal"] = "text",
    kind: MemoryKind = "fact",
    age_days: float = 0.0,
    terms: str = "",
) -> Found:
    key = Key(
        id=f"{memory_id}:{key_kind}",
        memory_id=memory_id,
        key_kind=key_kind,
        text=terms,
        terms=terms,
        created_at=NOW - timedelta(days=age_days),
        kind=kind,
        layer="semantic",
    )
    return Found(key, score)


def order(candidates: list[Candidate]) -> list[str]:
    return [candidate.memory_id for candidate in candidates]


def test_a_memory_with_several_keys_is_returned_once_by_its_best() -> None:
    found = fuse({KEYWORD: [hit("a", 9, key_kind="goal"), hit("b", 5), hit("a", 2)]})
    assert order(found) == ["a", "b"]
    assert found[0].key.key_kind == "goal"
    assert found[0].arms[KEYWORD].score == 9


@pytest.mark.parametrize("method", ["mix", "rrf"])
def test_what_both_arms_find_beats_what_one_finds(method: FusionMethod) -> None:
    arms = {
        KEYWORD: [hit("only-words", 10), hit("both", 9), hit("c", 1)],
        VECTOR: [hit("only-meaning", 0.9), hit("both", 0.89), hit("d", 0.7)],
    }
    assert order(fuse(arms, method=method))[0] == "both"


def test_ranks_and_scores_of_each_arm_are_kept_for_explaining() -> None:
    found = fuse({KEYWORD: [hit("a", 3), hit("b", 1)], VECTOR: [hit("b", 0.8)]})
    b = next(candidate for candidate in found if candidate.memory_id == "b")
    assert (b.arms[KEYWORD].rank, b.arms[KEYWORD].score) == (2, 1)
    assert (b.arms[VECTOR].rank, b.arms[VECTOR].score) == (1, 0.8)
    a = next(candidate for candidate in found if candidate.memory_id == "a")
    assert VECTOR not in a.arms


def test_the_newest_irrelevant_memory_does_not_come_in_by_recency() -> None:
    arms = {KEYWORD: [hit("old", 3, age_days=400)], RECENT: [hit("new", 1.0)]}
    assert order(fuse(arms)) == ["old"]


def test_recency_decides_between_equals_only() -> None:
    arms = {
        KEYWORD: [hit("old", 5, age_days=9), hit("new", 5), hit("far", 1)],
        RECENT: [],
    }
    assert order(fuse(arms)) == ["new", "old", "far"]
    clear = {KEYWORD: [hit("old", 5, age_days=9), hit("new", 3), hit("far", 1)], RECENT: []}
    assert order(fuse(clear))[0] == "old"


def test_without_any_word_or_meaning_the_newest_come_first() -> None:
    arms = {KEYWORD: [], RECENT: [hit("b", 1.0, age_days=1), hit("a", 2.0)]}
    assert order(fuse(arms)) == ["a", "b"]


def test_an_arm_that_found_nothing_does_not_shrink_the_others() -> None:
    alone = fuse({KEYWORD: [hit("a", 3), hit("b", 1)]})
    beside = fuse({KEYWORD: [hit("a", 3), hit("b", 1)], VECTOR: []})
    assert [c.fused for c in alone] == [c.fused for c in beside]
    assert alone[0].fused == pytest.approx(1.0)


def test_nothing_found_is_an_empty_answer() -> None:
    assert fuse({}) == []
    assert fuse({KEYWORD: [], VECTOR: [], RECENT: []}) == []


def test_a_turn_counts_by_its_words_and_by_what_was_said_before() -> None:
    arms = {
        KEYWORD: [
            hit("echo", 10, kind="turn"),
            hit("answer", 8, kind="turn"),
            hit("answer", 10, kind="turn", key_kind="question"),
            hit("echo", 2, kind="turn", key_kind="question"),
            hit("noise", 1, kind="turn"),
            hit("noise", 1, kind="turn", key_kind="question"),
        ]
    }
    found = fuse(arms)
    assert order(found)[0] == "answer"
    assert found[0].key.key_kind != CONTEXT_KEY_KIND


def test_the_first_turn_of_a_session_does_not_suffer_for_having_none_before_it() -> None:
    arms = {
        KEYWORD: [
            hit("first", 10, kind="turn"),
            hit("later", 9, kind="turn"),
            hit("later", 9, kind="turn", key_kind="question"),
            hit("noise", 1, kind="turn", key_kind="question"),
            hit("noise", 1, kind="turn"),
        ]
    }
    assert order(fuse(arms))[0] == "first"


def test_meaning_weighs_more_where_words_tell_less() -> None:
    question = arm_weights(is_cjk=False)
    for found in (arm_weights(is_cjk=True), arm_weights(is_cjk=False, is_passage=True)):
        assert found[VECTOR] > found[KEYWORD]
        assert found[VECTOR] > question[VECTOR]


def test_a_candidate_that_shares_nothing_with_the_query_is_cut() -> None:
    arms = {
        VECTOR: [hit("near", 0.9, terms="x"), hit("far", 0.6, terms="y")],
        KEYWORD: [hit("word", 3, terms="pool timeout")],
    }
    kept = cut(fuse(arms), ("pool", "timeout"), floor=Floor(), had_vectors=True)
    assert set(order(kept)) == {"near", "word"}


def test_one_common_word_of_many_is_no_reason_where_meaning_was_asked_too() -> None:
    query = ("how", "many", "pool", "timeout", "retri", "config")
    embedded = msgspec.structs.replace(hit("a", 3, terms="config").key, embedder="e5")
    (candidate,) = fuse({KEYWORD: [Found(embedded, 3)], VECTOR: []})
    assert coverage(query, candidate) == pytest.approx(1 / 6)
    assert cut([candidate], query, floor=Floor(), had_vectors=True) == []
    assert cut([candidate], query, floor=None, had_vectors=False) == [candidate]


def test_the_newest_is_no_answer_to_a_question_that_nothing_matches() -> None:
    newest = fuse({KEYWORD: [], RECENT: [hit("a", 2.0)]})
    assert cut(newest, ("pool",), floor=None, had_vectors=False) == []
    assert cut(newest, (), floor=None, had_vectors=False) == newest


def test_a_key_that_waits_for_its_vector_is_not_held_back_by_that() -> None:
    waiting = hit("waits", 9.0)
    embedded = msgspec.structs.replace(hit("embedded", 4.0).key, embedder="e5")
    other = msgspec.structs.replace(hit("other", 1.0).key, embedder="e5")
    arms = {
        KEYWORD: [waiting, Found(embedded, 4.0), Found(other, 1.0)],
        VECTOR: [Found(embedded, 0.9), Found(other, 0.7)],
    }
    assert order(fuse(arms, embedder="e5"))[0] == "waits"
    assert order(fuse(arms))[0] == "embedded"
