"""Antigravity transcripts come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.sources.antigravity import SOURCE
from tests.support.transcripts import events_of, fixture, story


def test_a_transcript_tells_its_story() -> None:
    assert story("antigravity") == [
        "prompt build it",
        "text Building.",
        "reasoning make",
        "tool_call run_command make",
        "tool_result run_command make →2",
        "compaction tried make (synthetic)",
        "text 没有规则 (end)",
    ]


def test_a_step_that_goes_on_keeps_its_place() -> None:
    events = events_of(fixture("antigravity"))
    (answer,) = [event for event in events if event.text == "Building."]
    assert answer.seq < min(event.seq for event in events if event.kind == "tool_call")
    assert not [event for event in events if event.text == "Bui"]


def test_both_programs_are_looked_for(tmp_path: Path) -> None:
    folders = [tmp_path / ".gemini" / name / "brain" for name in ("antigravity-cli", "antigravity")]
    assert SOURCE.roots({}, tmp_path) == folders
