"""The benchmark's figures on rankings whose figures can be told by hand."""

from __future__ import annotations

import math

import pytest

from benchmarks.metrics import (
    Answer,
    any_at,
    by_category,
    ndcg_at,
    newest_above_stale,
    percentile,
    recall_at,
    reciprocal_rank,
    summarise,
)


def answer(*ranked: str, gold: str = "a b", stale: str = "", **fields: object) -> Answer:
    return Answer(
        ranked=ranked,
        gold=frozenset(gold.split()),
        stale=frozenset(stale.split()),
        **fields,  # type: ignore[arg-type]
    )


def test_recall_is_the_share_of_gold_found() -> None:
    assert recall_at(["x", "a", "b"], {"a", "b"}, 1) == 0.0
    assert recall_at(["x", "a", "b"], {"a", "b"}, 2) == 0.5
    assert recall_at(["x", "a", "b"], {"a", "b"}, 9) == 1.0
    assert recall_at(["x"], set(), 5) == 0.0


def test_any_needs_one() -> None:
    assert any_at(["x", "a"], {"a", "b"}, 2) == 1.0
    assert any_at(["x", "a"], {"a", "b"}, 1) == 0.0


def test_the_reciprocal_rank_counts_the_first_hit() -> None:
    assert reciprocal_rank(["x", "b", "a"], {"a", "b"}) == 0.5
    assert reciprocal_rank([], {"a"}) == 0.0


def test_ndcg_is_one_for_a_perfect_order_and_discounts_by_rank() -> None:
    assert ndcg_at(["a", "b", "x"], {"a", "b"}, 10) == pytest.approx(1.0)
    expected = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert ndcg_at(["x", "a"], {"a", "b"}, 10) == pytest.approx(expected)
    assert ndcg_at(["a", "a"], {"a", "b"}, 10) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg_at([f"g{i}" for i in range(10)], {f"g{i}" for i in range(30)}, 10) == 1.0


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [("new old", 1.0), ("old new", 0.0), ("x new", 1.0), ("x", 0.0), ("old", 0.0), ("", 0.0)],
)
def test_the_newest_must_be_found_above_every_stale_one(ranked: str, expected: float) -> None:
    found = answer(*ranked.split(), gold="new other", stale="old older", newest="new")
    assert newest_above_stale(found) == expected


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(i) for i in range(1, 21)]
    assert percentile(values, 0.5) == 10.0
    assert percentile(values, 0.95) == 19.0
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([], 0.5) == 0.0


def test_stale_figures_count_only_queries_that_have_stale_ids() -> None:
    answers = [
        answer("a", "b", took_ms=2.0),
        answer("new", "old", gold="new", stale="old", newest="new", unmarked=frozenset({"old"})),
        answer("old", "new", gold="new", stale="old", newest="new", valid=frozenset({"old"})),
    ]
    figures = summarise(answers)
    assert figures["n"] == 3
    assert figures["stale_n"] == 2
    assert figures["newest_above_stale"] == 0.5
    assert figures["stale_as_valid"] == 0.5
    assert figures["stale_unmarked"] == 0.5
    assert "stale_n" not in summarise(answers[:1])


def test_each_category_is_shown_beside_all() -> None:
    figures = by_category([answer("a", category="x"), answer("q", category="y")])
    assert list(figures) == ["all", "x", "y"]
    assert figures["x"]["recall@1"] == 0.5
    assert figures["y"]["recall@20"] == 0.0
    assert list(by_category([answer("a", category="all")])) == ["all"]
