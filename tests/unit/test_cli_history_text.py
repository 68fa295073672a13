"""The history of a memory for reading."""

from __future__ import annotations

from typing import Any

from hindsight_cli.history_text import history_lines
from hindsight_cli.output import Output


def entry(action: str, **fields: Any) -> dict[str, Any]:
    return {
        "at": "2026-05-01T12:00:00.000Z",
        "actor": "me",
        "action": action,
        "reason": "",
        "before": None,
        "after": None,
        **fields,
    }


def told(*entries: dict[str, Any]) -> list[str]:
    return [line.strip() for line in history_lines(entries, Output())]


def test_a_change_shows_what_went_and_what_came() -> None:
    before = {"id": "1", "text": "The port is 5432.", "confidence": 0.6, "version": 1}
    after = {"id": "1", "text": "The port is 5433, 端口已改.", "confidence": 0.7, "version": 2}
    lines = told(entry("superseded", before=before, after=after, reason="told anew"))
    assert lines == [
        "2026-05-01 12:00 superseded by me (version 2): told anew",
        "text The port is 5432. → The port is 5433, 端口已改.",
        "confidence 0.6 → 0.7",
    ]


def test_long_texts_and_lists_are_told_line_by_line() -> None:
    old, new = "a" * 50, "b" * 50
    before = {"text": old, "tags": ["x", "y"], "evidence": [{"quote": "said so"}]}
    after = {"text": new, "tags": ["y", "z"], "evidence": []}
    assert told(entry("updated", before=before, after=after))[1:] == [
        f"- text: {old}",
        f"+ text: {new}",
        "- tags: x",
        "+ tags: z",
        "- evidence: said so",
    ]


def test_a_change_without_its_past_is_compared_with_the_one_before() -> None:
    first = entry("learned", after={"text": "Use uv.", "status": "unverified"})
    second = entry("verified", after={"text": "Use uv.", "status": "valid", "version": 2})
    lines = told(first, second)
    assert lines[1] == "+ text: Use uv."
    assert lines[3] == "status unverified → valid"


def test_a_removal_shows_what_was_there() -> None:
    lines = told(entry("forgotten", before={"text": "Use pip."}, reason="wrong"))
    assert lines == ["2026-05-01 12:00 forgotten by me: wrong", "- text: Use pip."]
