"""What a memory's nature adds to how well it matches: age, importance, trust, status, fit.

Pure; imports records and its neighbours only. Every factor is near 1 and bounded, so that it
orders what matches about equally well and never lifts the irrelevant over the relevant. Each is
returned by name for `--explain`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from hindsight_daemon.engine import conversation
from hindsight_daemon.engine.fusion import CONTEXT_KEY_KIND, Candidate
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.model import Key, MemoryKind, Record, Status

HALF_LIFE_DAYS: dict[MemoryKind, float] = {
    "episode": 30.0,
    "fact": 180.0,
    "solution": 180.0,
    "lesson": 180.0,
    "decision": 365.0,
    "procedure": 365.0,
    "preference": 730.0,
}
"""Days after which half of what may fade has faded; turns are a record and never fade."""

FADE_LIMIT = 0.3
"""Share of its score that a memory without any importance loses in the end."""

STATUS_FACTORS: dict[Status, float] = {
    "valid": 1.05,
    "unverified": 1.0,
    "stale": 0.75,
    "archived": 0.5,
    "superseded": 0.3,
    "contradicted": 0.2,
}

TURN_FACTOR = 0.85
"""Distilled memories go first where both are asked for; a turn must answer clearly better."""

_FADELESS_IMPORTANCE = 0.7
_DAY_S = 86400.0


class Weighed(Record, frozen=True, kw_only=True):
    """A candidate with its factors; `final` is `fused` times all of them."""

    candidate: Candidate
    factors: dict[str, float]
    final: float


class Asker(Record, frozen=True, kw_only=True):
    """Who asks and from where, as far as it bears on the order; empty fields say nothing.

    `since`/`until` are a preference (from "last week"), not a filter.
    """

    now: datetime
    project: str = ""
    session_id: str = ""
    agent_role: str = ""
    task_type: str = ""
    wants_turns_only: bool = False
    since: datetime | None = None
    until: datetime | None = None


def decay(kind: MemoryKind, importance: float, age_s: float) -> float:
    """Return the factor for age, within 1 - `FADE_LIMIT`..1; high importance does not fade."""
    half_life_days = HALF_LIFE_DAYS.get(kind)
    if half_life_days is None or importance >= _FADELESS_IMPORTANCE or age_s <= 0:
        return 1.0
    faded = 1.0 - math.exp2(-age_s / (half_life_days * _DAY_S))
    return 1.0 - FADE_LIMIT * (1.0 - importance / _FADELESS_IMPORTANCE) * faded


def weigh(candidate: Candidate, asker: Asker) -> Weighed:
    """Return the candidate with the factors that its best key's columns give."""
    key = candidate.key
    age_s = (asker.now - key.created_at).total_seconds()
    factors = {
        "decay": decay(key.kind, key.importance_score, age_s),
        "importance": 1.0 + 0.1 * (key.importance_score - 0.5),
        "confidence": 1.0 + 0.2 * (key.confidence - 0.5),
        "status": STATUS_FACTORS.get(key.status, 1.0),
        "scope": _scope_fit(key, asker),
        "kind": TURN_FACTOR if key.kind == "turn" and not asker.wants_turns_only else 1.0,
        "time": _time_fit(key.created_at, asker),
    }
    if key.kind == "turn":
        factors.update(_turn_fit(candidate))
    final = candidate.fused
    for factor in factors.values():
        final *= factor
    return Weighed(candidate=candidate, factors=factors, final=final)


def weigh_all(candidates: Sequence[Candidate], asker: Asker) -> list[Weighed]:
    """Return all candidates weighed, best first; equals keep their order."""
    weighed = [weigh(candidate, asker) for candidate in candidates]
    weighed.sort(key=lambda one: -one.final)
    return weighed


def _turn_fit(candidate: Candidate) -> dict[str, float]:
    key = candidate.key
    if key.key_kind == CONTEXT_KEY_KIND:
        own = conversation.said_now(key.text)
        said = len(set(terms_of(own)))
    else:
        own = key.text
        said = len(set(key.terms.split()))
    return {
        "substance": conversation.substance(said),
        "asks": conversation.asking(own),
        "answers": conversation.answering(candidate.context, own),
    }


def _scope_fit(key: Key, asker: Asker) -> float:
    fit = 1.0
    if asker.project and key.project != asker.project:
        # What holds everywhere is no worse a match, only a less specific one.
        fit *= 0.97 if not key.project or key.scope == "global" else 0.9
    if asker.task_type and key.task_type and key.task_type != asker.task_type:
        fit *= 0.95
    if asker.agent_role and key.agent_role and key.agent_role != asker.agent_role:
        fit *= 0.95
    if asker.session_id and key.session_id == asker.session_id:
        fit *= 1.03
    return fit


def _time_fit(at: datetime, asker: Asker) -> float:
    if asker.since is None and asker.until is None:
        return 1.0
    after = asker.since is None or at >= asker.since
    before = asker.until is None or at < asker.until
    return 1.15 if after and before else 1.0
