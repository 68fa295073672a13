"""Follows names from what was found to what it rests on: A depends on B, B on C.

Pure; imports its neighbours only. "What breaks when the ledger is down?" finds "the checkout calls
the ledger"; what calls the checkout shares no word with the question. So names that good finds
hold and the question does not are searched for once more, twice at most. What comes in that way
never ranks above what led to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from hindsight_daemon.engine.entities import entities_of
from hindsight_daemon.engine.fusion import KEYWORD, ArmHit, Candidate, Hit
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.model import Record

ENTITY = "entity"
"""Name of the arm."""

HOPS = 2
NAMES_LIMIT = 4
HITS_LIMIT = 24
"""Keys to ask for on each hop."""

_DECAY = 0.6
_LEADERS = 5
_GOOD = 0.5
_NAME = re.compile(
    r"(?<![\w./-])(?:[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+"
    r"|(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?)(?![\w/])"
)
_RELATION = re.compile(
    r"\b(?:depends? on|relies on|rely on|uses?|calls?|requires?|needs?|talks? to|connects? to"
    r"|reads? from|writes? to|runs? on|is (?:owned|managed|led|hosted|maintained) by|reports? to"
    r"|belongs? to|is part of|comes? from) (?:the |an? |our )?((?:[\w.-]+ ){0,2}?[\w-]{3,})"
    r"(?=[.,;:!?]|\s(?:and|which|that|for|in|on|to|via|over|at)\b|\s*$)",
    re.IGNORECASE,
)
_CJK_RELATION = re.compile(
    r"(?:依赖于?|调用|使用|基于|连接到?|部署在|运行在|属于|读取|写入|负责人是|归属于?)"
    r"([\w-]{2,12}?)(?=[，。；、！？,.;]|的|来|并|和|上|$)"
)


class Lead(Record, frozen=True, kw_only=True):
    """A name to follow and how well what it was found in answers."""

    name: str
    terms: tuple[str, ...]
    fused: float


def names_in(text: str) -> tuple[str, ...]:
    """Return what a text speaks of by name, and what it says to depend on."""
    found = [*entities_of(text)]
    found.extend(match.group(0) for match in _NAME.finditer(text))
    for pattern in (_RELATION, _CJK_RELATION):
        found.extend(match.group(1).strip() for match in pattern.finditer(text))
    return tuple(dict.fromkeys(name for name in found if len(name) > 1))


def leads(
    candidates: Sequence[Candidate], query_terms: Collection[str], followed: Collection[str] = ()
) -> list[Lead]:
    """Return the names worth following from the best candidates, best first.

    A candidate leads on if words led to it and it scores at least half of the best. Names that the
    question holds, and those already `followed`, lead nowhere new.
    """
    known = set(query_terms)
    if not candidates:
        return []
    found: dict[str, Lead] = {}
    for one in candidates[:_LEADERS]:
        if one.fused < _GOOD * candidates[0].fused or not {KEYWORD, ENTITY} & one.arms.keys():
            continue
        for name in names_in(one.key.text):
            terms = tuple(dict.fromkeys(terms_of(name)))
            if not terms or name in followed or known.issuperset(terms):
                continue
            found.setdefault(name, Lead(name=name, terms=terms, fused=one.fused))
    return list(found.values())[:NAMES_LIMIT]


def reached(
    candidates: Sequence[Candidate], hits: Sequence[Hit], following: Sequence[Lead]
) -> list[Candidate]:
    """Return the candidates that hits on the names of `following` add to `candidates`.

    A hit counts if it holds every term of a name; it gets a share of what led to it.
    """
    known = {one.memory_id for one in candidates}
    added: dict[str, Candidate] = {}
    for rank, hit in enumerate(hits, 1):
        if hit.key.memory_id in known or hit.key.memory_id in added:
            continue
        held = set(hit.key.terms.split())
        lead = next((lead for lead in following if held.issuperset(lead.terms)), None)
        if lead is None:
            continue
        share = _DECAY / (1.0 + 0.05 * (rank - 1))
        arm = ArmHit(rank=rank, score=hit.score, share=share, key_id=hit.key.id)
        added[hit.key.memory_id] = Candidate(
            memory_id=hit.key.memory_id,
            key=hit.key,
            fused=lead.fused * share,
            arms={ENTITY: arm},
        )
    return list(added.values())


def joined(candidates: Sequence[Candidate], more: Sequence[Candidate]) -> list[Candidate]:
    """Return both, best first; of the same memory the better one with the arms of both."""
    best: dict[str, Candidate] = {one.memory_id: one for one in candidates}
    for one in more:
        other = best.get(one.memory_id)
        if other is None:
            best[one.memory_id] = one
        elif one.fused > other.fused:
            best[one.memory_id] = msgspec.structs.replace(
                other, fused=one.fused, arms={**other.arms, **one.arms}
            )
    return sorted(best.values(), key=lambda one: -one.fused)
