"""OpenHands events of both generations come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.transcripts import events_of, fixture, story


def test_a_log_of_events_tells_its_story() -> None:
    assert story("openhands") == [
        "prompt run the tests",
        "reasoning pytest",
        "text Running.",
        "tool_call terminal pytest",
        "tool_result terminal pytest →1",
        "tool_result sing failed",
        "interrupt paused (end)",
        "text 一个失败 (end)",
        "error error (end)",
    ]


def test_an_exported_trajectory_tells_its_story() -> None:
    assert story("openhands-document") == [
        "prompt add a licence",
        "text Create it.",
        "tool_call execute_bash touch LICENSE",
        "tool_result execute_bash touch LICENSE →1",
        "text Not possible. (end)",
        "text task completed: false (synthetic) (end)",
    ]


def test_events_that_are_files_of_their_own_make_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "conversations" / "conv1" / "events"
    folder.mkdir(parents=True)
    records = fixture("openhands").read_text(encoding="utf-8").splitlines()
    for number, text in enumerate(records):
        (folder / f"event-{number:05}-{number:08x}.json").write_text(text, encoding="utf-8")
    events = [
        event
        for path in sorted(folder.iterdir())
        if "stats" not in path.read_text(encoding="utf-8")
        for event in events_of(path)
    ]
    assert {event.session_id for event in events} == {"conv1"}
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    (result,) = [event for event in events if event.tool and event.tool.exit_code is not None]
    assert result.tool
    assert (result.tool.name, result.tool.command) == ("terminal", "pytest")


def test_public_events_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "openhands"
    events = events_of(folder / "OpenHands_software-agent-sdk__events.jsonl")
    results = [event.tool for event in events if event.kind == "tool_result" and event.tool]
    assert [tool.exit_code for tool in results] == [None, None, 1]
    assert [tool.is_error for tool in results] == [True, True, True]
    assert all(tool.command.startswith("SESSION_URL=") for tool in results)
    assert [event.kind for event in events].count("tool_call") == 2
    assert all(event.ts is not None for event in events)


def test_public_evaluations_hold_what_is_in_them(shared: Path) -> None:
    (path,) = (shared / "transcripts" / "openhands").glob("All-Hands*")
    records = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    events = events_of(path)
    assert {event.session_id for event in events} == {"neubig/pr-viewer#5", "neubig/pr-viewer#1"}
    history = [entry for record in records for entry in record["history"]]
    runs = sum(entry.get("action") in ("run", "run_ipython") for entry in history)
    assert [event.kind for event in events].count("tool_call") == runs
    seen = sum("observation" in entry for entry in history)
    assert [event.kind for event in events].count("tool_result") == seen
    assert [event.kind for event in events].count("prompt") == len(records)
    verdicts = [event.text for event in events if event.text.startswith("evaluated as solved")]
    assert len(verdicts) == 2
