"""Goose sessions come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.sources.goose import SOURCE
from tests.support.transcripts import events_of, story, tally


def test_a_session_tells_its_story() -> None:
    assert story("goose") == [
        "prompt 检查代码",
        "text Checking.",
        "tool_call developer__shell ruff check",
        "tool_result developer__shell ruff check failed",
        "text One finding. (end)",
    ]


def test_a_public_session_holds_what_is_in_it(shared: Path) -> None:
    (counts,) = tally(shared / "transcripts" / "goose").values()
    assert (counts["human"], counts["text"], counts["sessions"], counts["timeless"]) == (1, 1, 1, 0)
    (path,) = (shared / "transcripts" / "goose").iterdir()
    assert {(event.session_id, event.cwd) for event in events_of(path)} == {
        ("20250724_1", "/workspace/demo")
    }


def test_the_data_folder_can_be_moved(tmp_path: Path) -> None:
    assert SOURCE.roots({}, tmp_path) == [tmp_path / ".local/share/goose/sessions"]
    assert SOURCE.roots({"XDG_DATA_HOME": "/d"}, tmp_path) == [Path("/d/goose/sessions")]
    assert SOURCE.roots({"GOOSE_PATH_ROOT": "/g"}, tmp_path) == [Path("/g/data/sessions")]
