"""Joins the answers of several search arms into one ranking of memories.

Pure; imports records only. An arm finds keys; a memory has several keys and counts once per arm,
by its best key. Turns are the exception: beside their own words they have a key that also holds
the turn before them (key kind `question`), and both count half, because either alone misleads:
"Yes, last May!" answers nothing by itself, and a window without the answer looks like one with it.

Two methods: `mix` adds the arms' scores after scaling each to 0..1 (min-max over what the arm
returned), `rrf` adds 1/(60 + rank) (Cormack, Clarke & Büttcher, SIGIR 2009). Defaults and the
measurements behind them are in `benchmarks/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from hindsight_daemon.model import Key, Record

FusionMethod = Literal["mix", "rrf"]

VECTOR = "vector"
KEYWORD = "keyword"
RECENT = "recent"

RRF_K = 60
"""Rank offset of reciprocal rank fusion; 60 as in the paper."""

CONTEXT_KEY_KIND = "question"
"""Kind of the key that holds a turn together with the turn before it."""

SESSION_WEIGHT = 0.5
"""What the best turn of a session gives to its other turns."""

_QUESTION_WEIGHTS = {KEYWORD: 0.5, VECTOR: 0.5, RECENT: 0.05}
_MEANING_WEIGHTS = {KEYWORD: 0.4, VECTOR: 0.6, RECENT: 0.05}


class Hit(Protocol):
    """A key that an arm found; `store.port.KeyHit` is one."""

    @property
    def key(self) -> Key:
        """The key found."""

    @property
    def score(self) -> float:
        """The arm's own score, higher is better."""


class ArmHit(Record, frozen=True, kw_only=True):
    """What one arm says of a memory: rank from 1, its own best score, and the share it gives.

    `share` is within 0..1 and comparable between arms; `key_id` is the key the arm found best.
    """

    rank: int
    score: float
    share: float
    key_id: str = ""


class Candidate(Record, frozen=True, kw_only=True):
    """A memory that at least one arm found; `key` is the key that speaks for it."""

    memory_id: str
    key: Key
    fused: float
    arms: dict[str, ArmHit]
    context: str = ""
    """Of a turn: the text of its key that also holds the turn before, if an arm found that."""


def arm_weights(*, is_cjk: bool, is_passage: bool = False) -> dict[str, float]:
    """Return the default weight of each arm for a query.

    Meaning counts for more where words have no borders (CJK), and where the query is a passage
    rather than a question: most of its words are not those of the memory it hints at. Recency
    only decides between equals.
    """
    return dict(_MEANING_WEIGHTS if is_cjk or is_passage else _QUESTION_WEIGHTS)


def fuse(
    arms: Mapping[str, Sequence[Hit]],
    *,
    method: FusionMethod = "mix",
    weights: Mapping[str, float] | None = None,
    embedder: str | None = None,
) -> list[Candidate]:
    """Return the memories that the arms found, best first; `fused` is within 0..1.

    An arm that found nothing (no model, no word in common) takes no part, so the others keep
    their full range; nor does the vector arm for keys that have no vector of `embedder` yet.
    `recent` ranks what the other arms found and adds nothing of its own, unless they found
    nothing at all: newest is not relevant. Ties go to the newer memory.
    """
    weights = arm_weights(is_cjk=False) if weights is None else weights
    relevant = {
        name: _roll_up(hits)
        for name, hits in arms.items()
        if name != RECENT and hits and weights.get(name, 0.0) > 0
    }
    keys = _speaking_keys(arms, relevant, weights)
    if not relevant:
        return _newest_only(arms.get(RECENT, ()))
    if RECENT in arms and weights.get(RECENT, 0.0) > 0:
        relevant[RECENT] = _recency(keys)
    total = sum(weights[name] for name in relevant)
    contexts = _contexts(arms, relevant)
    candidates = []
    for memory_id, key in keys.items():
        found = {name: arm[memory_id] for name, arm in relevant.items() if memory_id in arm}
        fused = sum(weights[name] * _contribution(hit, method) for name, hit in found.items())
        # A key that waits for its vector cannot be found by it: that is no sign against it.
        waits = embedder is not None and VECTOR not in found and key.embedder != embedder
        heard = total - weights[VECTOR] if waits and VECTOR in relevant else total
        candidates.append(
            Candidate(
                memory_id=memory_id,
                key=key,
                fused=fused / (heard or total),
                arms=found,
                context=contexts.get(memory_id, ""),
            )
        )
    candidates = _with_their_session(candidates)
    candidates.sort(key=_order)
    return candidates


def _order(candidate: Candidate) -> tuple[float, float, str]:
    return (-candidate.fused, -candidate.key.created_at.timestamp(), candidate.memory_id)


def _with_their_session(candidates: list[Candidate]) -> list[Candidate]:
    """Lift turns of sessions in which another turn matches well: what is told takes many turns."""
    best: dict[str, float] = {}
    for one in candidates:
        if one.key.kind == "turn":
            best[one.key.session_id] = max(one.fused, best.get(one.key.session_id, 0.0))
    if len(best) < 2:
        return candidates
    return [
        msgspec.structs.replace(
            one,
            fused=(one.fused + SESSION_WEIGHT * best[one.key.session_id]) / (1 + SESSION_WEIGHT),
        )
        if one.key.kind == "turn"
        else one
        for one in candidates
    ]


def _contribution(hit: ArmHit, method: FusionMethod) -> float:
    # RRF is scaled so that the first of every arm has 1, which keeps both methods in 0..1.
    return (RRF_K + 1) / (RRF_K + hit.rank) if method == "rrf" else hit.share


def _is_context(key: Key) -> bool:
    return key.kind == "turn" and key.key_kind == CONTEXT_KEY_KIND


def _scaled(hits: Sequence[Hit]) -> list[float]:
    scores = [hit.score for hit in hits]
    low, high = min(scores), max(scores)
    if high <= low:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def _best_shares(hits: Sequence[Hit]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for hit, share in zip(hits, _scaled(hits), strict=True) if hits else ():
        shares[hit.key.memory_id] = max(share, shares.get(hit.key.memory_id, 0.0))
    return shares


def _roll_up(hits: Sequence[Hit]) -> dict[str, ArmHit]:
    own = _best_shares([hit for hit in hits if not _is_context(hit.key)])
    context = _best_shares([hit for hit in hits if _is_context(hit.key)])
    best: dict[str, Hit] = {}
    for hit in hits:
        former = best.get(hit.key.memory_id)
        if former is None or hit.score > former.score:
            best[hit.key.memory_id] = hit
    shares: dict[str, float] = {}
    for memory_id, hit in best.items():
        if context and hit.key.kind == "turn":
            # The first turn of a session has no turn before it and must not suffer from that.
            own_share = own.get(memory_id, context.get(memory_id, 0.0) / 2)
            shares[memory_id] = (own_share + context.get(memory_id, own_share)) / 2
        else:
            shares[memory_id] = own.get(memory_id, 0.0)
    ranked = sorted(best, key=lambda memory_id: (-shares[memory_id], -best[memory_id].score))
    return {
        memory_id: ArmHit(
            rank=rank,
            score=best[memory_id].score,
            share=shares[memory_id],
            key_id=best[memory_id].key.id,
        )
        for rank, memory_id in enumerate(ranked, 1)
    }


def _speaking_keys(
    arms: Mapping[str, Sequence[Hit]],
    relevant: Mapping[str, Mapping[str, ArmHit]],
    weights: Mapping[str, float],
) -> dict[str, Key]:
    # The own words of a turn speak for it wherever they were found at all: its other key starts
    # with what somebody else said.
    speaking: dict[str, tuple[tuple[int, float], Key]] = {}
    for name in relevant:
        hits = arms[name]
        for hit, share in zip(hits, _scaled(hits), strict=True):
            worth = (0 if _is_context(hit.key) else 1, weights[name] * share)
            former = speaking.get(hit.key.memory_id)
            if former is None or worth > former[0]:
                speaking[hit.key.memory_id] = (worth, hit.key)
    return {memory_id: key for memory_id, (_, key) in speaking.items()}


def _contexts(arms: Mapping[str, Sequence[Hit]], names: Iterable[str]) -> dict[str, str]:
    return {
        hit.key.memory_id: hit.key.text
        for name in names
        for hit in arms[name]
        if _is_context(hit.key)
    }


def _newest_first(times: Mapping[str, datetime]) -> list[str]:
    return sorted(times, key=lambda memory_id: (-times[memory_id].timestamp(), memory_id))


def _recency(keys: Mapping[str, Key]) -> dict[str, ArmHit]:
    order = _newest_first({memory_id: key.created_at for memory_id, key in keys.items()})
    last = max(1, len(order) - 1)
    return {
        memory_id: ArmHit(
            rank=rank,
            score=keys[memory_id].created_at.timestamp(),
            share=1.0 - (rank - 1) / last,
            key_id=keys[memory_id].id,
        )
        for rank, memory_id in enumerate(order, 1)
    }


def _newest_only(hits: Sequence[Hit]) -> list[Candidate]:
    keys: dict[str, Key] = {}
    for hit in hits:
        keys.setdefault(hit.key.memory_id, hit.key)
    arm = _recency(keys)
    return [
        Candidate(memory_id=memory_id, key=keys[memory_id], fused=hit.share, arms={RECENT: hit})
        for memory_id, hit in arm.items()
    ]
