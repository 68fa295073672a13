"""Puts the newer of two turns first when the same person told the same thing again.

Pure; imports its neighbours only. "I ran my 5K in 26 minutes", three weeks later "… in 25:50": both
answer "what is my best time", and the newer holds. In a conversation likeness alone is no sign of
that, so more is asked than of distilled statements: the same speaker in another session, words in
common that few of the other finds have, and nearly as good an answer; a question about how things
are now lowers the bar. What that brings and costs is in `benchmarks/README.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import msgspec

from hindsight_daemon.engine import conversation
from hindsight_daemon.engine.fusion import CONTEXT_KEY_KIND
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.engine.weights import Weighed
from hindsight_daemon.model import Key

DEPTH = 20
"""Turns that may be moved; the comparison is quadratic."""

_POOL = 100
_NEARLY = 0.7
_PRESENT_BONUS = 1.2
_SHARED_WEIGHT = 4.0

_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|now(?:adays)?|latest|(?:most )?recent(?:ly)?|these days|so far|still"
    r"|usually|at the moment|to date|already|anymore|present(?:ly)?)\b"
    r"|目前|现在|如今|最新|最近|当前|还在|通常|平时|一直",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:initially|originally|previously|formerly|used to|at first|back then|in the beginning)\b"
    r"|当初|原来|最初|曾经|起初|那时|以前|之前",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(do|does|is|are|am|have|has|did|was|were|had|will|would|can|could|should)\b", re.IGNORECASE
)
_PRESENT_AUXILIARIES = frozenset(("do", "does", "is", "are", "am", "have", "has"))


def asks_for_present(question: str) -> bool:
    """Tell whether a question is about how things are rather than about what happened once."""
    if _PRESENT.search(question):
        return True
    if _PAST.search(question):
        return False
    first = _AUXILIARY.search(question)
    return first is not None and first[1].lower() in _PRESENT_AUXILIARIES


def newer_told_first(
    ranked: Sequence[Weighed], query_terms: Collection[str], *, question: str
) -> list[Weighed]:
    """Return `ranked` with newer turns moved before older ones that they tell again.

    A moved turn takes over the score of the one it passes, with the factor by which it was lifted
    as `retold`. The query is given by its terms and by its text.
    """
    pool = [_terms(one.candidate.key) for one in ranked[:_POOL]]
    weight = _weights(pool)
    wanted = {term: weight(term) for term in query_terms}
    bonus = _PRESENT_BONUS if asks_for_present(question) else 1.0
    placed: list[tuple[Weighed, set[str], float]] = []
    for one, terms in zip(ranked[:DEPTH], pool, strict=False):
        covered = sum(worth for term, worth in wanted.items() if term in terms)
        at = len(placed)
        for i, (other, other_terms, other_covered) in enumerate(placed):
            if not other_covered or not _is_later(one.candidate.key, other.candidate.key):
                continue
            near = one.final / other.final if other.final > 0 else 0.0
            near *= bonus * math.sqrt(min(1.0, covered / other_covered))
            shared = sum(weight(term) for term in terms & other_terms)
            if near >= _NEARLY and shared >= _SHARED_WEIGHT:
                at, one = i, _lifted(one, other)
                break
        placed.insert(at, (one, terms, covered))
    return [one for one, _, _ in placed] + list(ranked[DEPTH:])


def _is_later(key: Key, other: Key) -> bool:
    return (
        key.kind == other.kind == "turn"
        and key.created_at > other.created_at
        and key.session_id != other.session_id
        and key.project == other.project
        and _speaker(key) == _speaker(other)
    )


def _speaker(key: Key) -> str:
    own = conversation.said_now(key.text) if key.key_kind == CONTEXT_KEY_KIND else key.text
    return conversation.speaker_prefix(own)


def _terms(key: Key) -> set[str]:
    if key.key_kind == CONTEXT_KEY_KIND:
        return set(terms_of(conversation.said_now(key.text)))
    return set(key.terms.split())


def _weights(pool: Sequence[set[str]]) -> Callable[[str], float]:
    """Return inverse frequency among the finds: what most of them say tells least."""
    counts = Counter(term for terms in pool for term in terms)
    return lambda term: math.log1p((len(pool) - counts[term] + 0.5) / (counts[term] + 0.5))


def _lifted(one: Weighed, other: Weighed) -> Weighed:
    if one.final <= 0 or one.final >= other.final:
        return one
    factors = {**one.factors, "retold": other.final / one.final}
    return msgspec.structs.replace(one, final=other.final, factors=factors)
