"""Amp threads come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.transcripts import document, events_of, fixture, story


def test_a_thread_tells_its_story() -> None:
    assert story("amp") == [
        "prompt run the tests",
        "reasoning pytest",
        "tool_call Bash pytest",
        "tool_result Bash pytest →1",
        "text 一个失败 (end)",
        "prompt fix it",
        "interrupt cancelled (end)",
    ]


def test_a_call_that_still_runs_has_no_result(tmp_path: Path) -> None:
    thread = json.loads(fixture("amp").read_text(encoding="utf-8"))
    thread["messages"][2]["content"][0]["run"] = {"status": "in-progress"}
    events = events_of(document(tmp_path / "T-1.json", thread))
    assert [event.kind for event in events].count("tool_result") == 0


def test_folder_branch_and_times_are_kept() -> None:
    events = events_of(fixture("amp"))
    assert {(event.cwd, event.git_branch) for event in events} == {("/work/shop", "main")}
    assert [event.ts is not None for event in events[:2]] == [True, True]
