"""Copilot Chat sessions of VS Code come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from hindsight_daemon.sources.copilot_vscode import replayed
from tests.support.transcripts import events_of, story, tally, texts


def test_a_session_document_tells_its_story() -> None:
    assert story("copilot-vscode") == [
        "prompt run the tests",
        "text Running `tests` now.",
        "tool_call run_in_terminal pytest",
        "tool_result run_in_terminal pytest →1",
        "text 一个失败",
        "text (synthetic) (end)",
        "prompt fix",
        "interrupt cancelled (end)",
        "prompt again",
        "error quota (end)",
    ]


def test_a_log_of_operations_tells_its_story() -> None:
    assert story("copilot-vscode-log") == [
        "prompt hi",
        "text Hello.",
        "text (synthetic) (end)",
        "prompt 再见",
    ]


def test_operations_on_what_is_not_there_change_nothing() -> None:
    operations = [
        {"kind": 1, "k": ["a", "b"], "v": 1},
        {"kind": 2, "k": ["list"], "v": [2], "i": 99},
        {"kind": 3, "k": ["nothing"]},
        {"kind": 3, "k": ["list", 7]},
        {"kind": 1, "k": [], "v": 3},
    ]
    document: object = {"list": [1]}
    for operation in operations:
        document = replayed(document, operation)
    assert document == {"list": [1, 2]}


def test_public_sessions_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "copilot-vscode"
    found = tally(folder)
    for path in sorted(folder.iterdir()):
        requests = json.loads(path.read_text(encoding="utf-8"))["requests"]
        events = events_of(path)
        assert texts(events, "prompt") == [one["message"]["text"] for one in requests]
        assert {event.model for event in events} - {""} == {one["modelId"] for one in requests}
        assert sum(event.ends_turn for event in events) == len(requests)
        assert found[path.name.split("__", 1)[-1]]["sessions"] == 1
