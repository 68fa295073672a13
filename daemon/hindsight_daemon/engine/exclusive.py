"""Statements that keep something for one: "only alice may deploy", "只有张三可以发布".

Pure; imports terms only. Two of them about the same thing exclude each other by their very words,
whoever they name.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.terms import terms_of

_ENGLISH = re.compile(
    r"^\W*(?:only|nobody (?:but|except)|no one (?:but|except))\s+(?P<who>[^,.;]{1,60}?)\s+"
    r"(?:may|can|should|must|is allowed to|are allowed to|is permitted to|has permission to"
    r"|have permission to)\s+(?P<what>[^.;]{3,120})",
    re.I,
)
_CHINESE = re.compile(
    r"^\W*(?:只有|仅有|仅限?|除了)(?P<who>[^，,。；]{1,20}?)(?:之?外没有人|才)?"
    r"(?:可以|能够?|允许|有权限?)(?P<what>[^，,。；]{2,60})"
)


def exclusive_of(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return for whom and what, as terms, if the statement keeps something for one."""
    match = _ENGLISH.match(text) or _CHINESE.match(text)
    if match is None:
        return None
    who, what = (frozenset(terms_of(match[name])) for name in ("who", "what"))
    return (who, what) if who and what else None


def claimed_by_two(one: str, other: str) -> str:
    """Return why two statements exclude each other; empty if they do not keep the same thing."""
    mine, its = exclusive_of(one), exclusive_of(other)
    if mine is None or its is None or mine[1] != its[1]:
        return ""
    # "Only alice" and "only alice and bob" may be said of two moments; a person decides.
    return "" if mine[0] == its[0] else "both keep it for one alone, and not for the same"
