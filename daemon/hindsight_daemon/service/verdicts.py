"""A second opinion on one memory: is it still true in the light of a context?

For what rules leave open. The answer space is closed; whoever asks weighs the answer against its
own evidence. The same question is answered from what was kept, without a call.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from hindsight_daemon.engine.lang import detect, has_han
from hindsight_daemon.engine.own_tail import OWN_SESSION_MARK
from hindsight_daemon.engine.slots import language_of
from hindsight_daemon.engine.steering import steers
from hindsight_daemon.judge.schema import BadAnswer
from hindsight_daemon.model import Record
from hindsight_daemon.service.judging import Question
from hindsight_daemon.service.services import Services

MAX_SENTENCE_CHARS = 300
_MAX_CONTEXT_CHARS = 24_000
_WORDS = {"zh": "Chinese (简体中文)", "en": "English", "": "the memory's own language"}
_ASK = f"""[{OWN_SESSION_MARK}]
You check one stored memory of a coding agent against a newer context. You have no tools.

{{fence}}

Answer
- CONTRADICTED if the context says that the memory is wrong or was replaced: another value, a
  negation, a cancelled plan;
- STALE if the context gives reason to doubt it without saying so;
- VALID if the context agrees with it or does not touch it. A wish for this once does not overturn
  a standing preference.
confidence is from 0 to 1. sentence says why in one sentence in {{language}}, naming what in the
context decides it."""


class VerdictSlots(Struct, frozen=True, forbid_unknown_fields=True):
    """The closed answer."""

    verdict: Literal["VALID", "STALE", "CONTRADICTED"]
    confidence: float
    sentence: str


class SecondOpinion(Record, frozen=True, kw_only=True):
    """What the judge holds of a memory; `is_kept` if it was asked the same before."""

    verdict: Literal["VALID", "STALE", "CONTRADICTED"]
    confidence: float
    sentence: str
    model: str
    is_kept: bool = False
    tokens: int = 0


async def verdict(
    s: Services, memory_text: str, context: str, *, timeout_s: float | None = None
) -> SecondOpinion:
    """Ask the judge whether a memory still holds given `context`.

    Raises `ConfigProblem` if there is no judge, `BudgetSpent`, `JudgeUnavailable` and
    `JudgeRefused`; the caller then goes by its rules.
    """
    language = language_of(memory_text)
    question = Question(
        name="verdict",
        system=_ASK.replace("{language}", _WORDS[language]),
        data=f"[memory]\n{memory_text}\n\n[context]\n{context[-_MAX_CONTEXT_CHARS:]}",
    )

    def rules(slots: VerdictSlots) -> VerdictSlots:
        return _checked(slots, language)

    filled = await s.judging.fill("verify", question, VerdictSlots, rules, timeout_s=timeout_s)
    return SecondOpinion(
        verdict=filled.value.verdict,
        confidence=filled.value.confidence,
        sentence=" ".join(filled.value.sentence.split()),
        model=filled.model,
        is_kept=filled.is_kept,
        tokens=filled.tokens_in + filled.tokens_out,
    )


def _checked(slots: VerdictSlots, language: str) -> VerdictSlots:
    sentence = " ".join(slots.sentence.split())
    if not (math.isfinite(slots.confidence) and 0 <= slots.confidence <= 1):
        raise BadAnswer(f"the confidence {slots.confidence} is not from 0 to 1")
    if not 4 <= len(sentence) <= MAX_SENTENCE_CHARS:
        raise BadAnswer(f"the sentence has {len(sentence)} characters")
    if language == "zh" and not has_han(sentence):
        raise BadAnswer("the sentence is not in the memory's language")
    if language == "en" and detect(sentence) in ("zh", "other"):
        raise BadAnswer("the sentence is not in the memory's language")
    if why := steers(sentence):
        raise BadAnswer(f"the sentence {why}")
    return slots
