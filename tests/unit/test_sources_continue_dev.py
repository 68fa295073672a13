"""Continue sessions come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.sources.continue_dev import SOURCE
from tests.support.transcripts import events_of, fixture, story


def test_a_session_tells_its_story() -> None:
    assert story("continue") == [
        "prompt run the tests",
        "reasoning pytest",
        "text Running.",
        "tool_call run_terminal_command pytest",
        "tool_result run_terminal_command pytest failed",
        "text 一个失败 (end)",
    ]


def test_the_folder_can_be_moved_and_the_index_is_no_session(tmp_path: Path) -> None:
    assert SOURCE.roots({}, tmp_path) == [tmp_path / ".continue" / "sessions"]
    assert SOURCE.roots({"CONTINUE_GLOBAL_DIR": "/c"}, tmp_path) == [Path("/c/sessions")]
    assert not SOURCE.matches(Path("/c/sessions/sessions.json"))


def test_a_session_has_the_folder_it_was_opened_in() -> None:
    assert {event.cwd for event in events_of(fixture("continue"))} == {"/work/my shop"}
