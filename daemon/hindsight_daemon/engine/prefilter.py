"""Which literals an expression cannot match without: a quick look that spares the slow one.

Pure; imports nothing of ours. Most sentences and output lines match no rule at all, and looking
for substrings is many times as fast as trying dozens of expressions. The literals are read off the
compiled expressions, so that a rule and its filter cannot drift apart.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

_EXACT_LIMIT = 32
_NEEDLES_LIMIT = 256
_MIN_CHARS = 2


class Prefilter:
    """Tells of a text that none of some expressions can match it.

    `needles` are the literals (folded), at least one of which a matching text holds; empty if
    there is no such set, and then every text may match.
    """

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        wanted: set[str] = set()
        for pattern in patterns:
            found = needles_of(pattern)
            if found is None:
                wanted = set()
                break
            wanted |= found
        needles = _without_longer(wanted)
        self.needles = needles if len(needles) <= _NEEDLES_LIMIT else ()

    def may_match(self, text: str) -> bool:
        """Return False only if none of the expressions matches anywhere in `text`."""
        return not self.needles or self.is_in(folded(text))

    def is_in(self, small: str) -> bool:
        """Do as `may_match`, for a text that is `folded` already."""
        for needle in self.needles:
            if needle in small:
                return True
        return not self.needles


def folded(text: str) -> str:
    """Return the text in small letters, so that needles are found in any case.

    Besides case, the letters that `re.IGNORECASE` takes for ASCII ones become those.
    """
    if text.isascii():
        return text.lower()
    return text.replace("\u0130", "i").lower().replace("\u017f", "s").replace("\u0131", "i")


def needles_of(pattern: re.Pattern[str]) -> frozenset[str] | None:
    """Return folded literals of which each match holds one; None if nothing is sure to occur."""
    parser: Any = importlib.import_module("re._parser")
    try:
        needed = _of_sequence(parser.parse(pattern.pattern, pattern.flags)).best()
    except (re.error, RecursionError):
        return None
    if not needed or any(len(one) < _MIN_CHARS and one.isascii() for one in needed):
        return None
    return needed


class _Needs(NamedTuple):
    """`exact` are all texts a part can stand for, `needed` are texts one of which it holds."""

    exact: frozenset[str] | None
    needed: frozenset[str] | None = None

    def best(self) -> frozenset[str] | None:
        return _better(self.needed, self.exact)


_EMPTY = _Needs(frozenset([""]))
_UNKNOWN = _Needs(None)


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return the set that excludes more texts: the one whose shortest literal is longer."""
    if one is None or other is None:
        return one or other
    # In bytes, because one Chinese character is as rare as several letters.
    worth = [min(len(text.encode()) for text in texts) for texts in (one, other)]
    if worth[0] == worth[1]:
        return one if len(one) <= len(other) else other
    return one if worth[0] > worth[1] else other


def _of_sequence(items: Iterable[Any]) -> _Needs:
    run: frozenset[str] = frozenset([""])
    needed: frozenset[str] | None = None
    is_exact = True
    for operation, argument in items:
        part = _of_item(str(operation), argument)
        if part.exact is not None and len(part.exact) * len(run) <= _EXACT_LIMIT:
            run = frozenset(head + tail for head in run for tail in part.exact)
            continue
        is_exact = False
        needed = _better(_better(needed, run), part.best())
        # What can be told of the next literals begins anew behind the unknown part.
        run = frozenset([""])
    if is_exact:
        return _Needs(run)
    return _Needs(None, _better(needed, run))


def _of_item(operation: str, argument: Any) -> _Needs:
    if operation == "LITERAL":
        return _of_characters([argument])
    if operation == "IN":
        if all(str(kind) == "LITERAL" for kind, _ in argument):
            return _of_characters([value for _, value in argument])
        return _UNKNOWN
    if operation in ("AT", "ASSERT", "ASSERT_NOT"):
        return _EMPTY
    if operation == "SUBPATTERN":
        return _of_sequence(argument[3])
    if operation == "ATOMIC_GROUP":
        return _of_sequence(argument)
    if operation == "BRANCH":
        return _of_branches([_of_sequence(branch) for branch in argument[1]])
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _of_repeat(*argument)
    return _UNKNOWN


def _of_characters(codes: list[int]) -> _Needs:
    characters = {chr(code) for code in codes}
    # Other alphabets have letters whose small form depends on what is around them.
    if any(not one.isascii() and one.lower() != one.upper() for one in characters):
        return _UNKNOWN
    small = frozenset(one.lower() for one in characters)
    return _Needs(small) if len(small) <= _EXACT_LIMIT else _UNKNOWN


def _of_branches(branches: list[_Needs]) -> _Needs:
    exact: set[str] | None = set()
    needed: set[str] | None = set()
    for branch in branches:
        exact = None if exact is None or branch.exact is None else exact | branch.exact
        best = branch.best()
        needed = None if needed is None or best is None else needed | best
    if exact is not None and len(exact) <= _EXACT_LIMIT:
        return _Needs(frozenset(exact))
    return _Needs(None, None if needed is None else frozenset(needed))


def _of_repeat(least: int, most: int, items: Iterable[Any]) -> _Needs:
    part = _of_sequence(items)
    if least == 0:
        if most == 1 and part.exact is not None:
            return _Needs(part.exact | {""})
        return _UNKNOWN
    if least == most and part.exact is not None and len(part.exact) ** least <= _EXACT_LIMIT:
        return _Needs(frozenset("".join(one) for one in product(part.exact, repeat=least)))
    return _Needs(None, part.best())


def _without_longer(needles: set[str]) -> tuple[str, ...]:
    """Leave out needles that hold another one, which is found wherever they are."""
    kept: list[str] = []
    for needle in sorted(needles, key=lambda one: (len(one), one)):
        if not any(shorter in needle for shorter in kept):
            kept.append(needle)
    return tuple(kept)
