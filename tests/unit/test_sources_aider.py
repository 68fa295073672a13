"""Aider's chat history comes out as the story it tells."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from tests.support.transcripts import events_of, fixture, story, tally


def test_a_history_tells_its_story() -> None:
    assert story("aider") == [
        "prompt fix the off-by-one\nin pager.py",
        "text The change:\n\n#### Step 1\n\n```md\n# aider chat started at 2020-01-01 00:00:00\n"
        "#### not typed\n> not a note\n```",
        "tool_call edit_file pager.py",
        "tool_result edit_file pager.py",
        "text Commit 1a2b3c4 fix: correct page bound (synthetic)",
        "prompt /run pytest -q (synthetic)",
        "tool_call bash pytest -q",
        "tool_result bash pytest -q",
        "prompt 再试一次",
        "interrupt ^C again to exit (end)",
        "prompt hello",
        "error litellm.APIError: overloaded",
    ]


def test_each_run_is_a_session_and_later_runs_change_nothing(tmp_path: Path) -> None:
    text = fixture("aider").read_text(encoding="utf-8")
    path = tmp_path / "x.aider.chat.history.md"
    path.write_text(text, encoding="utf-8")
    before = events_of(path)
    assert len({event.session_id for event in before}) == 2
    path.write_text(
        text + "\n# aider chat started at 2026-01-06 08:00:00\n\n#### more  \n\nok\n",
        encoding="utf-8",
    )
    after = events_of(path)
    assert [event.id for event in after[: len(before)]] == [event.id for event in before]
    assert len({event.session_id for event in after}) == 3


def test_the_start_of_a_run_is_local_time() -> None:
    begun = datetime(2026, 1, 5, 9, 30).astimezone()
    assert events_of(fixture("aider"))[0].ts == begun


def test_public_histories_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "aider"
    found = tally(folder)
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        counts = found[path.name.split("__", 1)[-1]]
        if path.name.startswith("Aider-AI"):
            assert counts["prompt"] == len(re.findall(r"(?<!  \n)^#### ", text, re.MULTILINE))
        edited = len(re.findall(r"^> (?:Applied edit to|Creating empty file) ", text, re.MULTILINE))
        ran = len(re.findall(r"^#### /run ", text, re.MULTILINE))
        assert counts.get("tool_call", 0) == edited + ran
    assert found[".aider.chat.history.md"]["sessions"] == 2
    assert found[".aider.chat.history.md"]["prompt"] == 2
