"""Tells whether two statements say the same in other words, by their words alone.

Pure; imports `normalize` and `terms` only. Two texts say the same if what tells them apart is only
what carries no meaning: case, width, punctuation, fillers, small changes of order, a few words of
equal meaning. A number, a name, a piece of code or a negation that only one of them has always
makes a difference, and so does what stands after a word of direction (`before`, `over`, `而不是`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from hindsight_daemon.engine.equal_wording import (
    DIRECTIONS,
    FILLERS,
    HAN_FILLERS,
    NEGATIONS,
    canonical,
    negations_in,
)
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.terms import CJK_STOP_CHARACTERS, has_cjk, is_cjk_term, terms_of
from hindsight_daemon.model import Record

SAME_ORDER_CJK = 0.5
"""Share of the pairs of characters that two Chinese statements must have in common, so that the
same characters in a wholly other order are not taken for the same; see `benchmarks/duplicates.py`.
"""

_TELLING = re.compile(r"[\d_/\\.:@#$%=<>+]|[a-z][A-Z]")
_LIGHT_VERBS = frozenset({"run", "use", "start"})
"""What is done before the tests is done before running the tests."""
_MAX_CHARS = 4000


class Form(Record, frozen=True, kw_only=True):
    """What a statement is compared by.

    `soft` are its words in a canonical form, `hard` what must agree exactly (numbers, names,
    identifiers), `after` pairs of a word of direction with the word behind it.
    """

    normal: str
    soft: frozenset[str]
    hard: frozenset[str]
    after: frozenset[tuple[str, str]]
    negations: int
    is_cjk: bool


@lru_cache(maxsize=8192)
def form_of(text: str) -> Form:
    """Return the form of a statement; texts are compared by their first 4,000 characters."""
    text = text[:_MAX_CHARS]
    normal = normalize(text)
    words = canonical(normal)
    terms = terms_of(words)
    is_cjk = has_cjk(normal)
    # What is Latin in a Chinese sentence is a name.
    hard = frozenset(
        term for term in terms if _TELLING.search(term) or (is_cjk and not is_cjk_term(term))
    )
    soft = frozenset(
        term
        for term in terms
        if term not in hard
        and term not in FILLERS
        and term not in NEGATIONS
        and term not in HAN_FILLERS
    )
    return Form(
        normal=normal,
        soft=soft,
        hard=hard,
        after=_directions(words),
        negations=negations_in(words),
        is_cjk=is_cjk,
    )


def says_the_same(one: Form, other: Form) -> bool:
    """Tell whether two statements are the same but for their wording."""
    if one.normal == other.normal:
        return True
    if one.hard != other.hard or one.negations != other.negations or one.after != other.after:
        return False
    if not one.is_cjk and not other.is_cjk:
        return one.soft == other.soft and bool(one.soft or one.hard)
    # Pairs of characters come and go with every particle; single characters carry the content.
    return {term for term in one.soft if len(term) == 1} == {
        term for term in other.soft if len(term) == 1
    } and overlap(one, other) >= SAME_ORDER_CJK


def overlap(one: Form, other: Form) -> float:
    """Return the Jaccard overlap of the words of two statements."""
    both = one.soft | one.hard | other.soft | other.hard
    if not both:
        return 0.0
    return len((one.soft | one.hard) & (other.soft | other.hard)) / len(both)


def _directions(words: str) -> frozenset[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for match in DIRECTIONS.finditer(words):
        rest = [
            term
            for term in terms_of(words[match.end() : match.end() + 60])
            if term not in FILLERS
            and term not in _LIGHT_VERBS
            and not (is_cjk_term(term) and term in CJK_STOP_CHARACTERS)
        ]
        found.add((match.group(), rest[0] if rest else ""))
    return frozenset(found)
