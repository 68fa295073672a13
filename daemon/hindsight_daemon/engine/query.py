"""Turns what somebody asked into what the arms search for.

Pure; imports only its neighbours. A query may be a word, a question in two languages, or a whole
prompt with a stack trace pasted into it: the long ones are cut down to what tells something.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import datetime

from hindsight_daemon.engine.terms import has_cjk, is_cjk_term, terms_of
from hindsight_daemon.engine.timephrases import TimePreference, find_time
from hindsight_daemon.model import Record

MAX_QUERY_TERMS = 96
"""Terms that reach the keyword arm; each costs it a posting list."""

PASSAGE_TERMS = 12
"""More distinct terms than a question has."""

MAX_QUERY_CHARS = 800
"""Characters that reach the embedder: about what a small model reads of a query anyway."""

_LONG_TEXT_CHARS = 20_000
"""Of a longer query only the two ends are read."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_TAG = re.compile(
    r"</?(?:system-reminder|command-\w+|local-command-\w+|context|user_query)\b[^>]*>"
)
_FENCE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_SPACE = re.compile(r"[ \t]+")
_LEAD = re.compile(
    r"^(?:hey|hi|hello|ok(?:ay)?|please|pls|can you|could you|would you|tell me|show me|"
    r"do you (?:remember|know|recall)|i (?:want|need) to know|remind me|"
    r"请问|请|麻烦|帮我|帮忙|告诉我|你还?记得|你知道|我想知道|查一下|看一下|看看)[\s,，:：!！。]*",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_DIGITS = re.compile(r"\d+")
_IDENTIFIER = re.compile(r"[\d_./:\\#]")


class Query(Record, frozen=True, kw_only=True):
    """A query as the arms need it.

    `text` goes to the embedder, `terms` (distinct, most telling first) to the keyword arm;
    `time` is what a phrase like "last week" speaks of, as a preference.
    """

    raw: str
    text: str
    terms: tuple[str, ...]
    is_cjk: bool
    is_compressed: bool = False
    time: TimePreference | None = None

    @property
    def is_passage(self) -> bool:
        """Whether it is long for a question, such as a whole prompt or piece of dialogue."""
        return len(self.terms) > PASSAGE_TERMS

    @property
    def since(self) -> datetime | None:
        """Start of the time the query speaks of, if it does."""
        return self.time.since if self.time else None

    @property
    def until(self) -> datetime | None:
        """End of the time the query speaks of, if it does."""
        return self.time.until if self.time else None


def prepare(query: str, *, now: datetime | None = None) -> Query:
    """Return the query cleaned, cut down if long, and split into terms.

    With `now` (aware, in the zone of whoever asks) time expressions are dated, and relative ones
    leave the terms. An empty query, or
    one of noise only, gives no terms and an empty text: then only recency can answer.
    """
    text = clean(query)
    short = compress(text)
    time = find_time(short, now) if now is not None else None
    # "Last week" was hardly ever written down in the week it speaks of.
    searched = short.replace(time.phrase, " ") if time and time.is_relative else short
    terms = telling_terms(terms_of(searched))
    return Query(
        raw=query,
        text=short,
        terms=terms,
        is_cjk=has_cjk(short),
        is_compressed=short != text or len(terms) == MAX_QUERY_TERMS,
        time=time,
    )


def clean(query: str) -> str:
    """Return the query without control characters, markup of agents and polite openings."""
    if len(query) > _LONG_TEXT_CHARS:
        half = _LONG_TEXT_CHARS // 2
        query = f"{query[:half]}\n{query[-half:]}"
    text = _CONTROL.sub(" ", query)
    text = _FENCE.sub("", _TAG.sub(" ", text))
    text = "\n".join(line for raw in text.splitlines() if (line := _SPACE.sub(" ", raw).strip()))
    for _ in range(3):
        shorter = _LEAD.sub("", text)
        if shorter == text or not shorter:
            break
        text = shorter
    return text.strip()


def compress(text: str, limit: int = MAX_QUERY_CHARS) -> str:
    """Return `text` if it is short, else its most telling sentences in their order.

    The first and the last sentence weigh more: people open with the matter and close with the
    question, and paste logs between.
    """
    if len(text) <= limit:
        return text
    sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
    frequency = Counter(term for s in sentences for term in set(terms_of(s)))
    ranked = sorted(
        range(len(sentences)),
        key=lambda i: (-_worth(sentences[i], i, len(sentences), frequency), i),
    )
    kept: list[int] = []
    room = limit
    shapes: set[str] = set()
    for i in ranked:
        size = min(len(sentences[i]), limit // 3) + 1
        shape = _DIGITS.sub("0", sentences[i])
        if size > room or shape in shapes:  # log lines that differ in their numbers tell nothing
            continue
        shapes.add(shape)
        kept.append(i)
        room -= size
    return "\n".join(sentences[i][: limit // 3] for i in sorted(kept))


def telling_terms(terms: list[str], limit: int = MAX_QUERY_TERMS) -> tuple[str, ...]:
    """Return distinct terms, at most `limit`: in their order if they all fit, else the best.

    Identifiers and long words tell most; a single CJK character least.
    """
    counts = Counter(terms)
    if len(counts) <= limit:
        return tuple(counts)
    order = {term: i for i, term in enumerate(counts)}
    ranked = sorted(
        counts, key=lambda term: (-_telling(term) - math.sqrt(counts[term]), order[term])
    )
    return tuple(sorted(ranked[:limit], key=order.__getitem__))


def _telling(term: str) -> float:
    if is_cjk_term(term):
        return 2.0 if len(term) > 1 else 0.5
    if _IDENTIFIER.search(term) and len(term) > 2:
        return 4.0
    return min(len(term), 12) / 4


def _worth(sentence: str, i: int, count: int, frequency: Counter[str]) -> float:
    terms = set(terms_of(sentence[:2000]))
    if not terms:
        return 0.0
    # Lines that repeat each other, as logs do, share their worth.
    worth = sum(_telling(term) / frequency[term] for term in terms) / math.sqrt(len(terms))
    if i in (0, count - 1):
        worth *= 2.0
    if sentence.endswith(("?", "？")):
        worth *= 1.5
    return worth
