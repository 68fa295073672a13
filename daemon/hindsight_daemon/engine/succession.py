"""Puts the newer of two statements about the same thing first.

Pure; imports records only. "The service runs on port 8080" and, later, "… on port 8443" match a
question equally well, and only their age tells which one holds. Nothing is judged here: whether
the older one is superseded is decided elsewhere and shown in its status. Turns are left alone,
because in a conversation likeness is no sign of one statement replacing another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from hindsight_daemon.engine.weights import Weighed

DEPTH = 50
"""Candidates looked at; the comparison is quadratic."""

_SHARED = 0.5
_WORTH = 0.5
_SURE_ENOUGH = 0.6


def newer_first(ranked: Sequence[Weighed], query_terms: Collection[str]) -> list[Weighed]:
    """Return `ranked` with a newer statement moved before the older one it may replace.

    It moves if both share half the words of the longer one, it holds every query term that the
    older one holds, scores at least half as much and is not much less sure: a guess does not pass
    what the user said. It takes over the score of the one it
    passes, with the factor by which it was lifted as `newer`.
    """
    wanted = set(query_terms)
    placed: list[tuple[Weighed, set[str]]] = []
    for one in ranked[:DEPTH]:
        terms = set(one.candidate.key.terms.split())
        at = len(placed)
        if one.candidate.key.kind != "turn" and wanted & terms:
            for i, (other, other_terms) in enumerate(placed):
                if _may_replace(one, terms, other, other_terms, wanted):
                    at, one = i, _lifted(one, other)
                    break
        placed.insert(at, (one, terms))
    return [one for one, _ in placed] + list(ranked[DEPTH:])


def _may_replace(
    new: Weighed, new_terms: set[str], old: Weighed, old_terms: set[str], wanted: set[str]
) -> bool:
    key, other = new.candidate.key, old.candidate.key
    return (
        other.kind != "turn"
        and key.created_at > other.created_at
        and key.project == other.project
        and new.final >= old.final * _WORTH
        and key.confidence >= other.confidence * _SURE_ENOUGH
        and len(new_terms & old_terms) >= _SHARED * max(len(new_terms), len(old_terms))
        and wanted & old_terms <= new_terms
    )


def _lifted(one: Weighed, other: Weighed) -> Weighed:
    if one.final <= 0:
        return one
    factors = {**one.factors, "newer": other.final / one.final}
    return msgspec.structs.replace(one, final=other.final, factors=factors)
