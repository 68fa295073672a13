"""What becomes of a new statement beside one that is already known.

Pure; imports records, `sameness` and `conflict`. Says nothing about a single text: whether that
may be stored at all is decided by the gate before.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from hindsight_daemon.engine.conflict import contradiction, is_key_fact, is_local_request
from hindsight_daemon.engine.sameness import form_of, says_the_same
from hindsight_daemon.model import Memory, MemoryKind, Record, Trust

STATEMENT_KINDS: tuple[MemoryKind, ...] = (
    "lesson",
    "preference",
    "decision",
    "solution",
    "fact",
    "procedure",
)
"""Kinds that can be restated or overruled; episodes and turns are occurrences and never are."""

_FROM_A_TASK: tuple[MemoryKind, ...] = ("lesson", "solution", "procedure")
_WEIGHT: dict[Trust, int] = {"user": 2, "tool": 2, "agent": 1, "imported": 1, "external": 0}

_WORTH_OF_WEAKER = 0.5
"""Confidence left to a weaker source that contradicts a stronger one, as a share of that one's."""

Verdict = Literal["unrelated", "same", "replaces", "replaced", "clashes"]


class Finding(Record, frozen=True, kw_only=True):
    """How a new memory stands to a known one.

    `same`: it says nothing new. `replaces`: it is the newer of two that cannot both hold.
    `replaced`: it is the older one of them, told late. `clashes`: they cannot both hold and a
    person has to say which one does.
    """

    verdict: Verdict
    reason: str = ""


UNRELATED = Finding(verdict="unrelated")


def said_at(memory: Memory) -> datetime:
    """Return from when on a memory claims to hold."""
    return memory.valid_from or memory.created_at


def compare(new: Memory, known: Memory) -> Finding:
    """Return how `new` stands to `known`; neither of them may be retired."""
    if not _share_readers(new, known):
        return UNRELATED
    if new.content_hash and new.content_hash == known.content_hash:
        return Finding(verdict="same", reason="the same was known already")
    if says_the_same(form_of(new.text), form_of(known.text)):
        return Finding(verdict="same", reason="the same was known in other words")
    if not _may_overrule(new, known):
        return UNRELATED
    reason = contradiction(new.text, known.text)
    if not reason:
        return UNRELATED
    return _settle(new, known, reason)


def _settle(new: Memory, known: Memory, reason: str) -> Finding:
    is_newer = said_at(new) >= said_at(known)
    later, earlier = (new, known) if is_newer else (known, new)
    if is_key_fact(new.text) or is_key_fact(known.text):
        return Finding(verdict="clashes", reason=f"a key fact was told otherwise: {reason}")
    if _WEIGHT[later.trust] < _WEIGHT[earlier.trust]:
        return Finding(
            verdict="clashes",
            reason=f"the word of a weaker source ({later.trust}) against {earlier.trust}: {reason}",
        )
    return Finding(verdict="replaces" if is_newer else "replaced", reason=reason)


def doubted(new: Memory, known: Memory) -> Memory:
    """Return `new` with what its confidence is worth against the word of a stronger source."""
    if _WEIGHT[new.trust] >= _WEIGHT[known.trust]:
        return new
    doubt = round(min(new.confidence, known.confidence * _WORTH_OF_WEAKER), 4)
    return msgspec.structs.replace(new, confidence=doubt)


def _share_readers(new: Memory, known: Memory) -> bool:
    if new.kind not in STATEMENT_KINDS or known.kind not in STATEMENT_KINDS:
        return False
    if new.project != known.project:
        return False
    if "private" in (new.scope, known.scope):
        return new.scope == known.scope and new.agent == known.agent
    return True


def _may_overrule(new: Memory, known: Memory) -> bool:
    """Tell whether the two are of a kind that can exclude each other, whatever they say."""
    reach = [one.applicability in ("path", "task_type") for one in (new, known)]
    if (new.scope == "global") != (known.scope == "global") or reach[0] != reach[1]:
        # What holds here only is an exception to what holds everywhere, not its end.
        return False
    if is_local_request(new.text) or is_local_request(known.text):
        return False
    # Two remedies or two ways of doing a thing may both be right; only a person rules one out.
    tasks = [one for one in (new, known) if one.kind in _FROM_A_TASK]
    return all(one.trust == "user" for one in tasks)


def strengthened(known: Memory, new: Memory, *, now: datetime) -> Memory:
    """Return `known` with what a restatement adds to it; `known` itself if that is nothing.

    A restatement with evidence counts only if some of it is new, so that reading a transcript
    again changes nothing.
    """
    links = {link.event_ids for link in known.evidence}
    fresh = tuple(link for link in new.evidence if link.event_ids not in links)
    if new.evidence and not fresh:
        return known
    score = max(known.importance_score, new.importance_score)
    louder = new if new.importance_score > known.importance_score else known
    at = max(said_at(known), said_at(new))
    return msgspec.structs.replace(
        known,
        evidence=known.evidence + fresh,
        derived_from=tuple(dict.fromkeys([*known.derived_from, *new.derived_from])),
        confidence=round(known.confidence + (1 - known.confidence) * 0.25, 4),
        importance_score=score,
        importance=louder.importance,
        valid_from=at if known.valid_from or new.valid_from else None,
        expires_at=_later_end(known, new),
        pinned=known.pinned or new.pinned,
        tags=tuple(dict.fromkeys([*known.tags, *new.tags])),
        trust=new.trust if _WEIGHT[new.trust] > _WEIGHT[known.trust] else known.trust,
        updated_at=now,
        version=known.version + 1,
    )


def _later_end(known: Memory, new: Memory) -> datetime | None:
    if known.expires_at is None or new.expires_at is None:
        return None
    return max(known.expires_at, new.expires_at)
