"""Figures of ranked answers: pure, so that they can be tested by hand-made rankings.

All shares are numbers from 0 to 1. Imports nothing of the product.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

RECALL_DEPTHS = (1, 5, 10, 20)
ANY_DEPTH = 5
NDCG_DEPTH = 10
STALE_DEPTH = 10


class Answer(Struct, frozen=True, kw_only=True):
    """What came back for one query.

    `ranked` are the found ids, best first; `newest` is the youngest gold id; `valid` are the
    returned ids whose status claims that they hold, `unmarked` those without any warning.
    """

    ranked: tuple[str, ...]
    gold: frozenset[str]
    stale: frozenset[str] = frozenset()
    newest: str = ""
    valid: frozenset[str] = frozenset()
    unmarked: frozenset[str] = frozenset()
    category: str = ""
    took_ms: float = 0.0


def recall_at(ranked: Sequence[str], gold: Collection[str], depth: int) -> float:
    """Return the share of `gold` among the first `depth`."""
    return len(set(ranked[:depth]) & set(gold)) / len(gold) if gold else 0.0


def any_at(ranked: Sequence[str], gold: Collection[str], depth: int) -> float:
    """Return 1 if any of `gold` is among the first `depth`, else 0."""
    return float(not set(gold).isdisjoint(ranked[:depth]))


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """Return one over the rank of the first hit, 0 without one."""
    for rank, found in enumerate(ranked, 1):
        if found in gold:
            return 1.0 / rank
    return 0.0


def ndcg_at(ranked: Sequence[str], gold: Collection[str], depth: int) -> float:
    """Return the normalised discounted cumulative gain with all gold equally good."""
    seen: set[str] = set()
    gain = 0.0
    for rank, found in enumerate(ranked[:depth], 1):
        if found in gold and found not in seen:
            seen.add(found)
            gain += 1.0 / math.log2(rank + 1)
    ideal = sum(1.0 / math.log2(rank + 1) for rank in range(1, min(len(gold), depth) + 1))
    return gain / ideal if ideal else 0.0


def newest_above_stale(answer: Answer) -> float:
    """Return 1 if the newest gold was found and no stale id ranks above it, else 0."""
    for found in answer.ranked:
        if found == answer.newest:
            return 1.0
        if found in answer.stale:
            return 0.0
    return 0.0


def percentile(values: Iterable[float], share: float) -> float:
    """Return the nearest-rank percentile (`share` from 0 to 1), 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summarise(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the figures of some answers; the stale ones only over queries that have any."""
    figures: dict[str, float] = {"n": len(answers)}
    for depth in RECALL_DEPTHS:
        shares = [recall_at(answer.ranked, answer.gold, depth) for answer in answers]
        figures[f"recall@{depth}"] = _mean(shares)
    figures[f"any@{ANY_DEPTH}"] = _mean(any_at(a.ranked, a.gold, ANY_DEPTH) for a in answers)
    figures["mrr"] = _mean(reciprocal_rank(a.ranked, a.gold) for a in answers)
    figures[f"ndcg@{NDCG_DEPTH}"] = _mean(ndcg_at(a.ranked, a.gold, NDCG_DEPTH) for a in answers)
    with_stale = [answer for answer in answers if answer.stale]
    if with_stale:
        figures["stale_n"] = len(with_stale)
        figures["newest_above_stale"] = _mean(map(newest_above_stale, with_stale))
        figures["stale_as_valid"] = _mean(_returned(a, a.valid) for a in with_stale)
        figures["stale_unmarked"] = _mean(_returned(a, a.unmarked) for a in with_stale)
    times = [answer.took_ms for answer in answers]
    figures["p50_ms"] = round(percentile(times, 0.5), 2)
    figures["p95_ms"] = round(percentile(times, 0.95), 2)
    return figures


def by_category(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """Return the figures of all answers as `all`, and of each category by its name."""
    figures = {"all": summarise(answers)}
    for category in sorted({answer.category for answer in answers} - {"", "all"}):
        figures[category] = summarise([a for a in answers if a.category == category])
    return figures


def _returned(answer: Answer, claimed: Collection[str]) -> float:
    return float(any(i in answer.stale and i in claimed for i in answer.ranked[:STALE_DEPTH]))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 4) if listed else 0.0
