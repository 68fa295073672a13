"""Tells whether a text says again what was forgotten: in other words, but with the same value.

Pure; imports normal forms, numbers and terms only. Similarity of meaning alone cannot tell: "port
9090" is nearer to "port 8080" than most paraphrases are. So a restatement has to agree in what is
asserted and what is denied, in every number and name, and in the words that carry the content;
similarity is a floor on top of that. Where a word was replaced by an unknown one the text passes:
that a true statement is blocked is worse than that a reworded one is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hindsight_daemon.engine.lang import has_han
from hindsight_daemon.engine.lookalikes import folded
from hindsight_daemon.engine.restatement_words import (
    CHINESE_GLUE,
    CHINESE_SYNONYMS,
    COMPARATORS,
    CORRECTIONS,
    GLUE,
    LEAD_INS,
    NEGATIONS,
    NUMBER_WORDS,
    SYNONYMS,
    TRAILERS,
)
from hindsight_daemon.engine.terms import stem
from hindsight_daemon.model import Record

SIMILARITY_FLOOR = 0.92
"""Cosine (multilingual-e5-small, passages) below which nothing counts as a restatement."""

ENOUGH = 0.7
"""Share of the words of a forgotten statement that a restatement has to have."""

_MAX_CHARS = 600
_CLAUSE = re.compile(
    r"[,;:!?()\n]+|\.(?:\s|$)|[。，；：！？、（）]|\s-\s|\b(?:and|but|while|yet)\b|但是|但|而且"
)
_TOKEN = re.compile(r"[a-z0-9_]+(?:[./@+#:-]+[a-z0-9_]+)*|[^\W\da-z_]")
_VALUE = re.compile(r"\d|[./@+#:_]|(?<=\w)-(?=\w)")
_UNIT = re.compile(r"^(\d+(?:\.\d+)?)(s|ms|m|h|d|k|g|kb|mb|gb|%)$")
_CLITIC = re.compile(r"(\w+?)n't\b|\bcannot\b|'s\b|'(?:re|ve|ll|d|m)\b")


class Statement(Record, frozen=True, kw_only=True):
    """What a text asserts and denies, as sets of word stems and Chinese characters.

    `values` are numbers, identifiers and names: what a correction changes.
    """

    form: str
    asserted: frozenset[str]
    denied: frozenset[str]
    values: frozenset[str]
    corrects: bool

    @property
    def words(self) -> frozenset[str]:
        """Everything that carries content."""
        return self.asserted | self.denied


def corrects(text: str) -> bool:
    """Tell whether a text says that something is otherwise than it was."""
    return CORRECTIONS.search(folded(text)) is not None


def statement_form(text: str) -> str:
    """Return the text as tombstones are keyed: folded, without lead-in, punctuation and spacing."""
    form = folded(text)
    for _ in range(3):
        shorter = TRAILERS.sub("", LEAD_INS.sub("", form)).strip(" .,;:!?-~")
        if shorter == form or not shorter:
            break
        form = shorter
    return " ".join(_TOKEN.findall(form))


@lru_cache(maxsize=4096)
def statement_of(text: str) -> Statement:
    """Return what `text` (up to 600 characters of it) asserts and denies."""
    form = LEAD_INS.sub("", folded(text[:_MAX_CHARS]))
    is_chinese = has_han(form)
    for pattern, word in CHINESE_SYNONYMS if is_chinese else ():
        form = pattern.sub(word, form)
    asserted: set[str] = set()
    denied: set[str] = set()
    values: set[str] = set()
    for clause in _CLAUSE.split(_CLITIC.sub(_spelled_out, form)):
        _read_clause(clause or "", is_chinese, asserted, denied, values)
    return Statement(
        form=statement_form(text),
        asserted=frozenset(asserted),
        denied=frozenset(denied),
        values=frozenset(values),
        corrects=CORRECTIONS.search(form) is not None,
    )


def restates(forgotten: Statement, said: Statement, similarity: float | None = None) -> bool:
    """Tell whether `said` brings back what was forgotten.

    `similarity` is the cosine of both texts; None where no model can tell, which asks for every
    word of the forgotten statement.
    """
    if forgotten.form == said.form:
        return True
    if similarity is not None and similarity < SIMILARITY_FLOOR:
        return False
    if said.corrects and not forgotten.corrects:
        return False
    if _contradict(forgotten, said) or forgotten.values - said.values:
        return False
    if not forgotten.words:
        return False
    missing = forgotten.words - said.words
    added = said.words - forgotten.words
    if said.values - forgotten.values and (missing or not forgotten.values):
        return False
    if missing and added:
        return False
    if missing:
        kept = 1 - len(missing) / len(forgotten.words)
        return similarity is not None and kept >= ENOUGH
    return len(added) <= max(2, len(forgotten.words) // 2)


def _contradict(one: Statement, other: Statement) -> bool:
    """Tell whether something that only one of them asserts is denied by the other."""
    for_against = (one.asserted - one.denied) & (other.denied - other.asserted)
    against_for = (one.denied - one.asserted) & (other.asserted - other.denied)
    if one.asserted and one.denied and other.asserted and other.denied:
        # "A rather than B" turned round; a word may change sides with the wording.
        return bool(for_against and against_for)
    return bool(for_against or against_for)


def _read_clause(
    clause: str, is_chinese: bool, asserted: set[str], denied: set[str], values: set[str]
) -> None:
    tokens = _TOKEN.findall(clause)
    denies = not NEGATIONS.isdisjoint(tokens)
    mode = asserted
    for token in tokens:
        if token in NEGATIONS:
            continue
        if token in COMPARATORS:
            mode = denied
            continue
        token = NUMBER_WORDS.get(token, token)
        if unit := _UNIT.match(token):
            token = unit[1]
        if token in GLUE or token in CHINESE_GLUE:
            continue
        is_latin = token[0].isascii()
        word = SYNONYMS.get(token, token) if is_latin else token
        is_value = is_latin and (_VALUE.search(word) is not None or is_chinese)
        if is_value:
            values.add(word)
        else:
            word = stem(word) if is_latin else word
        if word in GLUE:
            continue
        (denied if denies else mode).add(word)


def _spelled_out(found: re.Match[str]) -> str:
    if found.group() == "cannot":
        return "can not"
    return f"{found[1]} not" if found[1] else ""
