"""How a family is told by the beginning of a transcript: share of lines, outline of documents.

For `sources` only; pure functions over text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from hindsight_daemon.sources.json_text import decode_objects, head_lines

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
_MAX_DEPTH = 6
FULL = 0.95


def line_share(
    head: str, path: str, weigh: Callable[[dict[str, Any]], float | None], *, hint: str = ""
) -> float:
    """Rate a beginning by the share of its records that `weigh` finds to be of a family.

    `weigh` gives what a record says for the family, 0 if it speaks against it, None if it says
    nothing. Where most lines are no objects, there are no records. `hint` is a part of a path that
    adds a little.
    """
    good = bad = 0.0
    records, broken = _records(head)
    if broken > len(records):
        return 0.0
    for record in records:
        weight = weigh(record)
        if weight:
            good += weight
        elif weight is not None:
            bad += 1
    if not good:
        return 0.0
    added = 0.04 if hint and hint in path.replace("\\", "/") else 0.0
    return min(1.0, FULL * good / (good + bad) + added)


@functools.lru_cache(maxsize=4)
def _records(head: str) -> tuple[tuple[dict[str, Any], ...], int]:
    """Return the first records of a beginning, and how many lines are none.

    Kept, because every family asks for them.
    """
    if head.lstrip()[:1] == "[":
        return (), 0
    records, broken = [], 0
    for text in head_lines(head):
        try:
            records.append(decode_objects(text)[0])
        except ValueError:
            broken += 1
    return tuple(records), broken


@functools.lru_cache(maxsize=4)
def outline(head: str) -> frozenset[str]:
    """Return the paths of keys in the one document that a text begins with.

    `{"a": [{"b": 1}]}` gives `a` and `a[].b`; a list at the top gives `[].…`. The document may be
    cut off. Empty if the text holds several documents (JSON Lines) or none.
    """
    if head.lstrip()[:1] not in ("{", "["):
        return frozenset()
    paths: set[str] = set()
    stack: list[str] = []
    waiting = ""
    string_before = ""
    for match in _TOKEN.finditer(head):
        token = match[0]
        if not stack and paths:
            return frozenset()
        if token == ":":
            waiting = string_before
            if stack and len(stack) <= _MAX_DEPTH:
                paths.add(f"{stack[-1]}{waiting}")
        elif token in "{[":
            begin = f"{stack[-1]}{waiting}" if stack else ""
            stack.append(begin + ("." if token == "{" and begin else "[]" if token == "[" else ""))
            waiting = ""
        elif token in "}]":
            if stack:
                stack.pop()
            waiting = ""
            paths.add("")
        elif token == ",":
            waiting = ""
        else:
            string_before = token[1:-1] if len(token) < 200 else ""
    return frozenset(paths - {""})


def has(head: str, *paths: str) -> bool:
    """Tell whether a document's outline holds all these paths."""
    return set(paths) <= outline(head)
