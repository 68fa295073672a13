"""Grok Build histories come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import events_of, fixture, story, tally


def test_a_history_tells_its_story() -> None:
    assert story("grok-build") == [
        "prompt <user_info>\nWorkspace Path: /work/shop\n</user_info> (synthetic)",
        "prompt run it",
        "reasoning Run the script.",
        "text Running.",
        "tool_call run_terminal_cmd python3 a.py",
        "tool_result run_terminal_cmd python3 a.py",
        "text It greets. (end)",
        "interrupt mid_turn_abort (end)",
        "prompt and now?",
    ]


def test_the_folders_name_session_and_working_folder() -> None:
    last = events_of(fixture("grok-build"))[-1]
    assert (last.session_id, last.cwd) == ("g1", "/work/shop")


def test_a_public_history_holds_what_is_in_it(shared: Path) -> None:
    (counts,) = tally(shared / "transcripts" / "grok-build").values()
    assert counts == {
        "prompt": 3,
        "human": 2,
        "interrupt": 1,
        "reasoning": 2,
        "text": 1,
        "tool_call": 3,
        "tool_result": 2,
        "sessions": 1,
        "failed": 0,
        "timeless": 12,
    }
