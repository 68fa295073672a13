"""Takes a statement apart: what it is about, what it says of it, and the value it gives.

Pure; imports `terms` and the tables of wordings. No grammar is attempted: the first finite verb
(or Chinese predicate) parts a sentence in subject and object, a preposition behind the value
begins its circumstances. What cannot be taken apart this way is never held against another.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from hindsight_daemon.engine.claim_words import (
    ACTIVE_ROLES,
    ADDITIVE,
    AUXILIARY,
    CIRCUMSTANCE,
    COPULA,
    EVENTS,
    GENERIC,
    HAN_COPULA,
    HAN_DROPPED,
    HAN_LIST,
    HAN_PLACE,
    HAN_ROLE,
    LEAD_IN,
    LIST_LIKE,
    LIST_VERBS,
    PARTICIPLES,
    PLACE_VERBS,
    REASON,
    ROLES,
    UPDATE_WORDS,
)
from hindsight_daemon.engine.equal_wording import canonical
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.terms import STOP_WORDS, has_cjk, terms_of
from hindsight_daemon.model import Record

Predicate = Literal["single", "list", "event", "other", "rule"]
"""`single`: the subject has one such value at a time. `list`: it may have many. `event`: told once
and true for good. `rule`: an instruction. `other`: unknown."""

_WORD = re.compile(r"https?://[^\s,，。;；]+|[\w~.@#+%-]*[\w/~][\w./:@#+%'-]*[\w/#+%]|[\w%#]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_TOKEN = re.compile(
    r"https?://[^\s,，。;；\u3400-\u9fff]+|[\u3400-\u9fff]"
    r"|[^\W\u3400-\u9fff][^\s,，。;；:：()（）\u3400-\u9fff]*"
)
_DETERMINERS = frozenset(("the", "a", "an", "our", "my", "your", "their", "its", "his", "her"))
_RELATIVE = frozenset(("that", "where", "which", "who", "whom", "whose"))
_DEFINITE = frozenset(("the", "our", "my"))
_MAX_CHARS = 400


class Token(Record, frozen=True, kw_only=True):
    """A word that carries meaning: its stem, the word itself and its place."""

    term: str
    word: str
    at: int


class Claim(Record, frozen=True, kw_only=True):
    """A statement in parts; places are indices of words.

    The subject is what comes before `verb_at`, the value from `value_at` up to `value_end`, behind
    which its circumstances (`rest`) stand. `roles`: whether the subject names a role that only one
    can fill, such as "the owner of". `inverted`: whether it says "X is the role of …".
    """

    tokens: tuple[Token, ...]
    predicate: Predicate
    verb: str
    verb_at: int
    value_at: int
    value_end: int
    rest: str
    has_role: bool = False
    is_inverted: bool = False
    is_additive: bool = False
    is_cjk: bool = False
    value: str = ""
    subject: str = ""


@lru_cache(maxsize=8192)
def claim_of(text: str) -> Claim | None:
    """Return the claim that a sentence makes; None if it is too long to be one."""
    text = text[: _MAX_CHARS + 1]
    if len(text) > _MAX_CHARS:
        return None
    normal = LEAD_IN.sub("", normalize(text))
    normal = REASON.sub("", normal)
    if has_cjk(normal) and len(_HAN.findall(normal)) >= 2:
        return _chinese(normal)
    return _english(normal)


def _english(normal: str) -> Claim | None:
    words = _WORD.findall(normal)
    is_additive = any(word in ADDITIVE for word in words) or "as well" in normal
    words = [word for word in words if word not in UPDATE_WORDS]
    if len(words) < 2:
        return None
    verb_at = _verb_at(words)
    tokens = tuple(
        Token(term=term, word=word, at=at) for at, word in enumerate(words) if (term := _term(word))
    )
    if verb_at is None:
        value_at, verb, predicate, is_role = 1, words[0], "rule", False
        verb_at = 0
    else:
        value_at, verb, predicate, is_role = _value_at(words, verb_at)
    value_end = _value_end(words, value_at)
    return Claim(
        tokens=tokens,
        predicate=predicate,  # type: ignore[arg-type]
        verb=verb,
        verb_at=verb_at,
        value_at=value_at,
        value_end=value_end,
        rest=" ".join(word for word in words[value_end:] if word not in _DETERMINERS),
        has_role=is_role or _has_role(words[:verb_at]),
        is_inverted=_is_inverted(words, verb_at),
        is_additive=is_additive,
        value=" ".join(words[value_at:value_end]),
        subject=" ".join(words[:verb_at]),
    )


def _term(word: str) -> str:
    if word in STOP_WORDS or word in AUXILIARY:
        return ""
    if word.isalpha():
        found = terms_of(word)
        return found[0] if found else ""
    if word.endswith("'s"):
        return _term(word[:-2])
    return word


def _verb_at(words: list[str]) -> int | None:
    start = 1
    relative = next((i for i, word in enumerate(words) if word in _RELATIVE), None)
    if relative is not None and words[0] in _DETERMINERS:
        # "The sport that she plays is …": the verb of the clause is not the verb of the sentence.
        copulas = [i for i, word in enumerate(words) if word in COPULA and i > relative]
        if copulas:
            return copulas[-1]
    known = COPULA | AUXILIARY | LIST_VERBS | PLACE_VERBS | ACTIVE_ROLES | EVENTS
    for i in range(start, len(words)):
        if words[i] in known and words[i - 1] not in _DETERMINERS:
            return i
    for i in range(start, len(words) - 1):
        word = words[i]
        if (
            word.isalpha()
            and len(word) > 3
            and word.endswith(("s", "ed"))
            and not word.endswith(("ss", "us", "is"))
            and words[i - 1] not in _DETERMINERS
            and words[0] not in GENERIC
        ):
            return i
    return None


def _value_at(words: list[str], verb_at: int) -> tuple[int, str, str, bool]:
    """Return where the value begins, the verb with its particle, what sort of verb it is, and
    whether its object names a role ("the sport of")."""
    at, verb = verb_at, words[verb_at]
    predicate = "other"
    if verb in AUXILIARY and at + 1 < len(words):
        at += 1
        if words[at] in ("not", "be") and at + 1 < len(words):
            at += 1
        verb = words[at]
        predicate = "rule"
    if words[at] in COPULA or words[at] == "be":
        at += 1
        if at >= len(words):
            return at, verb, "other", False
        following = words[at + 1] if at + 1 < len(words) else ""
        word = words[at]
        if _is_participle(word):
            verb = f"{verb} {word}"
            at += 1
            predicate = "list" if word in LIST_LIKE else "single"
            if following in CIRCUMSTANCE or following in ("by", "to", "of", "from", "as", "than"):
                verb = f"{verb} {following}"
                at += 1
        elif word in LIST_LIKE:
            return at, verb, "list", False
        elif following in CIRCUMSTANCE:
            # "is in eu-west-1", "is at 9:30" start with the preposition; adjectives take one too.
            predicate = "other"
        if word in CIRCUMSTANCE:
            verb, at, predicate = f"{verb} {word}", at + 1, "single"
    else:
        word = words[at]
        if word in EVENTS:
            predicate = "event"
        elif word in LIST_VERBS:
            predicate = "list"
        elif word in PLACE_VERBS:
            predicate = "single"
        at += 1
        if at < len(words) and (words[at] in CIRCUMSTANCE or words[at] in ("to", "of", "from")):
            verb = f"{verb} {words[at]}"
            at += 1
        elif word in PLACE_VERBS:
            predicate = "other"
    at, is_role = _past_role(words, at)
    if is_role and predicate in ("other", "list", "single"):
        predicate = "single"
    return at, verb, predicate, is_role


def _past_role(words: list[str], at: int) -> tuple[int, bool]:
    """Step over "the sport of" and "a citizen of": they belong to the attribute."""
    if at + 2 < len(words) and words[at] in ("the", "a", "an"):
        for end in range(at + 2, min(at + 4, len(words) - 1)):
            if words[end] == "of":
                head = words[end - 1]
                if words[at] == "the" or head not in LIST_LIKE:
                    return end + 1, True
                return at, False
    return at, False


def _is_participle(word: str) -> bool:
    return word in PARTICIPLES or (len(word) > 4 and word.endswith("ed"))


def _value_end(words: list[str], value_at: int) -> int:
    for i in range(value_at + 1, len(words)):
        if words[i] in CIRCUMSTANCE:
            return i
    return len(words)


def _has_role(subject: list[str]) -> bool:
    if any(word.endswith("'s") for word in subject[:-1]) and subject[-1] not in LIST_LIKE:
        return True
    if subject and subject[0] in _DEFINITE and ("of" in subject or _RELATIVE & set(subject)):
        return True
    return any(word in ROLES for word in subject)


def _is_inverted(words: list[str], verb_at: int) -> bool:
    if words[verb_at] in ACTIVE_ROLES:
        return True
    after = words[verb_at + 1 : verb_at + 2]
    return words[verb_at] in COPULA and bool(after) and after[0] in _DEFINITE


def _chinese(normal: str) -> Claim | None:
    text = canonical(normal)
    is_additive = bool(re.search(r"也|还|另外|同时|以及|之一|另一|再用", text))
    text = HAN_DROPPED.sub("", text)
    match = HAN_COPULA.search(text, 1) or HAN_PLACE.search(text, 1)
    predicate: str = "other"
    if match is not None and match.re is HAN_PLACE:
        predicate = "single"
    listed = HAN_LIST.search(text)
    if listed is not None and (match is None or listed.start() < match.start()):
        match, predicate = listed, "list"
    words = _HAN_TOKEN.findall(text)
    if len(words) < 2:
        return None
    tokens = tuple(Token(term=word, word=word, at=at) for at, word in enumerate(words))
    if match is None:
        return Claim(
            tokens=tokens,
            predicate="rule",
            verb="",
            verb_at=0,
            value_at=0,
            value_end=len(words),
            rest="",
            is_additive=is_additive,
            is_cjk=True,
        )
    subject, value = text[: match.start()], text[match.end() :]
    kind = "=" if match.re is HAN_COPULA else "@" if match.re is HAN_PLACE else match.group()
    has_role = bool(HAN_ROLE.search(subject))
    if match.re is HAN_COPULA and has_role:
        predicate = "single"
    verb_at = len(_HAN_TOKEN.findall(subject))
    value_at = verb_at + len(_HAN_TOKEN.findall(match.group()))
    return Claim(
        tokens=tokens,
        predicate=predicate,  # type: ignore[arg-type]
        verb=kind,
        verb_at=verb_at,
        value_at=value_at,
        value_end=len(words),
        rest="",
        has_role=has_role,
        is_additive=is_additive,
        is_cjk=True,
        value=value.strip(" 了:："),
        subject=subject.strip(),
    )
