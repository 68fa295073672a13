"""How the history of a memory reads: each change with what it took away and what it put there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hindsight_cli.output import Output, plain
from hindsight_cli.wording import exact

_NOT_TOLD = frozenset(
    ("id", "updated_at", "version", "content_hash", "source_hash", "schema_version")
)
_FIRST_TOLD = ("text", "status", "verdict_reason", "confidence", "importance")


def history_lines(history: Sequence[dict[str, Any]], out: Output) -> list[str]:
    """Return the changes, oldest first, like a diff: `-` goes, `+` comes, `→` between numbers.

    A change that did not record what was before is compared with the change before it.
    """
    lines: list[str] = []
    known: dict[str, Any] | None = None
    for entry in history:
        before, after = entry["before"] or known, entry["after"]
        reason = f": {entry['reason']}" if entry["reason"] else ""
        version = (after or {}).get("version", 1) if after else ""
        head = f"{exact(entry['at'])} {entry['action']} by {entry['actor'] or 'hindsight'}"
        told = plain(head + (f" (version {version})" if version else "") + reason)
        lines += [out.style(line, "bold") for line in out.wrapped(told, "  ")]
        lines += _change(before, after, out)
        known = after
    return lines


def _change(before: dict[str, Any] | None, after: dict[str, Any] | None, out: Output) -> list[str]:
    if after is None:
        return _side("-", "text", (before or {}).get("text", ""), out) if before else []
    if before is None:
        return _side("+", "text", after.get("text", ""), out)
    names = dict.fromkeys([*_FIRST_TOLD, *before, *after])
    lines: list[str] = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if name not in _NOT_TOLD and old != new:
            lines += _field(name, old, new, out)
    return lines


def _field(name: str, old: Any, new: Any, out: Output) -> list[str]:
    if isinstance(old, list) or isinstance(new, list):
        was, now = [_said(one) for one in old or []], [_said(one) for one in new or []]
        gone = [one for one in was if one not in now]
        come = [one for one in now if one not in was]
        return [
            *(line for one in gone for line in _side("-", name, one, out)),
            *(line for one in come for line in _side("+", name, one, out)),
        ]
    if _is_short(old) and _is_short(new):
        arrow = f"{_said(old) or 'nothing'} → {_said(new) or 'nothing'}"
        return out.wrapped(plain(f"{_word(name)} {arrow}"), "    ")
    return [*_side("-", name, old, out), *_side("+", name, new, out)]


def _side(sign: str, name: str, value: Any, out: Output) -> list[str]:
    said = plain(_said(value))
    if not said:
        return []
    colour = "green" if sign == "+" else "red"
    lines = out.wrapped(f"{sign} {_word(name)}: {said}", "    ")
    return [out.style(line, colour) for line in lines]


def _word(name: str) -> str:
    return name.replace("_", " ")


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, int | float) or len(str(value)) <= 40


def _said(value: Any) -> str:
    if isinstance(value, dict):
        # Evidence, steps and anchors: what a person would know them by.
        for name in ("quote", "action", "value", "transcript"):
            if value.get(name):
                return str(value[name])
    return "" if value is None else str(value)
