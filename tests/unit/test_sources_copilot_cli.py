"""Copilot CLI event logs come out as the story they tell."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.support.transcripts import events_of, fixture, story, tally


def test_an_event_log_tells_its_story() -> None:
    assert story("copilot-cli") == [
        "prompt fix the lint",
        "reasoning ruff",
        "text Linting.",
        "tool_call bash ruff check",
        "tool_result bash ruff check →1",
        "tool_call task",
        "text Found it. (sidechain) (end)",
        "tool_result task",
        "text Removed the import. (end)",
        "prompt 谢谢，再跑一次",
        "interrupt user_initiated (end)",
        "text task completed: lint is clean (synthetic) (end)",
    ]


def test_a_subagent_is_a_session_of_its_callers() -> None:
    (event,) = [one for one in events_of(fixture("copilot-cli")) if one.is_sidechain]
    assert (event.session_id, event.parent_session_id) == ("c0b1/t2", "c0b1")


def test_where_it_was_and_what_model_are_kept() -> None:
    last = events_of(fixture("copilot-cli"))[-3]
    assert (last.cwd, last.git_branch, last.git_commit) == ("/work/shop", "main", "ab12cd3")


def test_public_event_logs_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "copilot-cli"
    found = tally(folder)
    for path in sorted(folder.iterdir()):
        counts = Counter(event.kind for event in events_of(path))
        types = [json.loads(text)["type"] for text in path.read_text(encoding="utf-8").splitlines()]
        assert counts["prompt"] == types.count("user.message")
        assert counts["interrupt"] == types.count("abort")
        assert counts["error"] == types.count("session.error")
    assert found["large.jsonl"]["tool_call"] == 2
    assert found["schema_drift.jsonl"]["failed"] == 1
    assert found["small.jsonl"]["sessions"] == 2
