"""How a turn of a conversation reads by itself and beside its neighbours.

Pure; imports nothing of ours. In conversations the words of a question are found best in the turn
that asks it again, while the answer comes one turn later in other words; and small talk matches
whatever is friendly. Three properties tell them apart, none of which needs a model: how much a
turn says, how much of it only asks, and whether it answers a question. Steps and their gains are
in `benchmarks/README.md`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

FULL_SUBSTANCE_TERMS = 25
"""Distinct terms from which a turn says as much as any."""

_FEW_WORDS = 0.5
_ASKS = 0.2
_ANSWERS = 0.15
_READ_CHARS = 2000
_ASIDE = re.compile(r"\[[^\]\n]{1,400}\]|```.*?```", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_SENTENCE_AND_SPACE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*[\"'”’)）]*\s*|\n+")
_SPEAKER = re.compile(r"[^\s:][^\n:]{0,39}: ")
_HARDLY_CHARS = 20
_QUESTION_END = re.compile(r"(?:[?？]|[吗呢么][。.]?)[\"'”’)）\s]*$")


def substance(distinct_terms: int) -> float:
    """Return the factor for how much a turn says: a half for nothing, 1 from about 25 terms on."""
    said = math.log1p(distinct_terms) / math.log1p(FULL_SUBSTANCE_TERMS)
    return _FEW_WORDS + (1.0 - _FEW_WORDS) * min(1.0, said)


def asking(text: str) -> float:
    """Return the factor for how much of a turn consists of questions: 1 for a plain statement."""
    return 1.0 - _ASKS * _asked_share(text[-_READ_CHARS:])


def answering(context: str, own: str) -> float:
    """Return the factor for a turn that follows a question: above 1 if one came just before.

    `context` is the text of the key that holds the turn before and this one.
    """
    before = said_before(context, own)
    return 1.0 + _ANSWERS if before and _ends_in_question(before) else 1.0


def said_before(context: str, own: str) -> str:
    """Return the part of a context key that is the turn before."""
    if own and context.endswith(own):
        return context[: -len(own)].rstrip()
    return context.rpartition("\n")[0]


def said_now(context: str) -> str:
    """Return the part of a context key that is the turn itself, as far as can be told."""
    return context.rpartition("\n")[2]


def speaker_prefix(own: str) -> str:
    """Return the `Name: ` that a turn's key starts with, empty if it has none."""
    found = _SPEAKER.match(own)
    return found[0] if found else ""


def stated(own: str) -> str:
    """Return what a turn states, without its questions; the whole if it hardly states anything.

    "Can you recommend a hotel? By the way, I moved to Oslo." is to be found by its second half:
    what was asked in passing says little about who asked it.
    """
    speaker = speaker_prefix(own)
    kept = [
        sentence
        for sentence in _SENTENCE_AND_SPACE.findall(own[len(speaker) :])
        if not _QUESTION_END.search(sentence)
    ]
    said = "".join(kept).strip()
    return speaker + said if len(said) > _HARDLY_CHARS else own


def _ends_in_question(text: str) -> bool:
    return _QUESTION_END.search(_ASIDE.sub(" ", text[-_READ_CHARS:]).rstrip()) is not None


@lru_cache(maxsize=8192)
def _asked_share(text: str) -> float:
    sentences = [s for s in _SENTENCE.findall(_ASIDE.sub(" ", text)) if s.strip()]
    size = sum(len(s) for s in sentences)
    asked = sum(len(s) for s in sentences if _QUESTION_END.search(s))
    return asked / size if size else 0.0
