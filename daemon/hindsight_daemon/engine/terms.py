"""The keyword arm's view of a text: what counts as a term, for stored keys and queries alike.

Pure; imports nothing of ours. Both sides must go through `terms_of`, or they do not meet.
A term never holds whitespace and is at most `TERM_LIMIT_BYTES` long, so that a whitespace
tokenizer reads `terms_text` back exactly.

Words are lowercased, accents folded, English stemmed (Snowball) and freed of stop words. Runs of
Chinese, Japanese or Korean become character bigrams and single characters. Identifiers, paths,
error codes, versions and numbers are kept whole and also split, so that `src/db/pool.py:88` is
found by itself, by `pool.py` and by `pool`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import snowballstemmer

TERM_LIMIT_BYTES = 39
"""Full-text engines drop tokens of 40 bytes and more; longer terms are cut alike on both sides."""

_PARTS_LIMIT = 24
_CACHED_TOKEN_LIMIT = 64
_TOKEN_LIMIT = 400

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Combining marks are no word characters to `re`, but scripts such as Hindi and Thai need them.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e4e"
_WORD = rf"(?:(?![{_CJK}])[\w{_MARKS}])"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)|{_WORD}+(?:(?:[.:/\\@'’+&,=~-]|::|://){_WORD}+)*(?:\+\+|\#)?"
)
_ASCII_TOKEN = re.compile(r"\w+(?:(?:[.:/\\@'&+,=~-]|::|://)\w+)*(?:\+\+|\#)?", re.ASCII)
"""What `_TOKEN` comes to in texts of ASCII only, which are most."""
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")

_SEPARATOR = re.compile(rf"(?:(?![{_MARKS}])[\W_])+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_HAS_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d[A-Za-z]")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:[.:/-]\d+)*")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_PIECE = re.compile(r"[/\\@]|:+")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATED = re.compile(r"(?P<word>\w+)n['’]t", re.IGNORECASE)
_SENTENCE_JOIN = re.compile(r"[a-z]{2,}[.,:][A-Z][a-z]+")

_STOP_TEXT = """
    a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from had has have having he her here hers him his how i if in into is it
    its itself just me my of on or our ours out over own she should so some such than that the
    their theirs them then there these they this those through to too up us very was we were what
    when where which while who whom whose why will with would you your yours
    ll ve re don doesn didn isn wasn won http https www
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""English words that tell nothing; small, because a missing word can never be asked for."""

CJK_STOP_CHARACTERS = frozenset("是在我你他她它们这那就都也很和与或之其而且被把给让")
"""Chinese characters that tell nothing alone, nor in a pair of them."""

# Particles end a word rather than belong to one: no pair reaches across them.
_PARTICLES = re.compile(r"[的了吗呢吧啊哦嗯呀么]+")

_ENGLISH: Any = snowballstemmer.stemmer("english")


def terms_of(text: str) -> list[str]:
    """Return the terms of `text` in order, repeats kept (BM25 counts them)."""
    found: list[str] = []
    if text.isascii():
        for token in _ASCII_TOKEN.findall(text):
            if len(token) <= _CACHED_TOKEN_LIMIT:
                found += _token_terms(token)
            else:
                found.extend(_split(token[:_TOKEN_LIMIT]))
        return found
    text = unicodedata.normalize("NFKC", text)
    for match in _TOKEN.finditer(text):
        token = match.group()
        if match.lastgroup == "cjk":
            _add_cjk(token, found)
        elif len(token) <= _CACHED_TOKEN_LIMIT:
            found.extend(_token_terms(token))
        else:
            found.extend(_split(token[:_TOKEN_LIMIT]))
    return found


def terms_text(text: str) -> str:
    """Return `terms_of(text)` joined by single spaces, the form of `Key.terms`."""
    return " ".join(terms_of(text))


def has_cjk(text: str) -> bool:
    """Tell whether `text` holds any Chinese, Japanese or Korean character."""
    return not text.isascii() and _CJK_CHARACTER.search(text) is not None


def is_cjk_term(term: str) -> bool:
    """Tell whether a term came from a run of Chinese, Japanese or Korean."""
    return not term.isascii() and _CJK_CHARACTER.match(term) is not None


def _add_cjk(run: str, found: list[str]) -> None:
    for piece in _PARTICLES.split(run):
        is_stop = [character in CJK_STOP_CHARACTERS for character in piece]
        found.extend(
            piece[i : i + 2] for i in range(len(piece) - 1) if not (is_stop[i] and is_stop[i + 1])
        )
        found.extend(character for character, stop in zip(piece, is_stop, strict=True) if not stop)


@lru_cache(maxsize=65536)
def _token_terms(token: str) -> tuple[str, ...]:
    return tuple(_split(token))


def _split(token: str) -> Iterator[str]:
    if token.isalpha() and (token.islower() or token.istitle() or token.isupper()):
        yield from _plain(token)
        return
    if negated := _NEGATED.fullmatch(token):
        yield from _plain(negated["word"])
        yield "not"
        return
    token = _CLITIC.sub("", token)
    if _NUMBER.fullmatch(token):
        yield from _number_terms(token)
        return
    if token.endswith(("++", "#")):
        yield _cut(token.lower())
        token = token.rstrip("+#")
    seen: set[str] = set()
    for term in _compound(token):
        if term and term not in seen:
            seen.add(term)
            yield term
            if len(seen) >= _PARTS_LIMIT:
                return


def _compound(token: str) -> Iterator[str]:
    parts = [part for part in _SEPARATOR.split(token) if part]
    if len(parts) > 1 and not _SENTENCE_JOIN.fullmatch(token):
        yield from _wholes(token, parts)
    for part in parts:
        yield from _plain(part)
        if _HAS_HUMP.search(part):
            for hump in _HUMP.findall(part):
                if len(hump) > 1:
                    yield from _plain(hump)


def _wholes(token: str, parts: list[str]) -> Iterator[str]:
    # Hyphens come and go (`utf-8`, `e-mail`, `--dry-run`), so the joined form is the one kept.
    if "-" in token and token.replace("-", "").isalnum():
        joined = "".join(parts)
        yield from _plain(joined) if joined.isalpha() else (_cut(_fold(joined)),)
    elif "'" not in token and "’" not in token:
        yield _cut(_fold(token))
        place, _, line = token.rpartition(":")
        while place and line.isdigit():
            yield _cut(_fold(place))
            place, _, line = place.rpartition(":")
        for piece in _PIECE.split(token):
            if "_" in piece or "." in piece:
                yield _cut(_fold(piece))
    for version in _VERSION.findall(token):
        yield _cut(version)


def _number_terms(token: str) -> Iterator[str]:
    if "," in token:
        yield _cut(token.replace(",", ""))
        return
    yield _cut(token)
    pieces = re.split(r"[.:/-]", token)
    if len(pieces) > 1:
        if token.count(".") >= 2:
            yield ".".join(pieces[:2])
        yield from (piece for piece in pieces if len(piece) > 2)


def _plain(word: str) -> Iterator[str]:
    folded = _fold(word)
    if not folded or folded in STOP_WORDS:  # stray combining marks fold to nothing
        return
    yield _cut(stem(folded) if folded.isascii() and folded.isalpha() else folded)


def _fold(word: str) -> str:
    word = word.lower()
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word)
    bare = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFKC", bare)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of an English word in small letters."""
    if len(word) < 3 or len(word) > TERM_LIMIT_BYTES:
        return word
    return str(_ENGLISH.stemWord(word))


def _cut(term: str) -> str:
    if len(term) <= TERM_LIMIT_BYTES // 4:
        return term
    raw = term.encode("utf-8", "ignore")
    return (
        term if len(raw) <= TERM_LIMIT_BYTES else raw[:TERM_LIMIT_BYTES].decode("utf-8", "ignore")
    )
