"""Pi and OpenClaw sessions come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.transcripts import events_of, fixture, lines, story, tally


def test_a_session_tells_its_story() -> None:
    assert story("pi") == [
        "prompt build",
        "reasoning make it",
        "tool_call bash make",
        "tool_result bash make →2",
        "text I",
        "interrupt Request was aborted. (end)",
        "prompt !ls (synthetic)",
        "tool_call bash ls",
        "tool_result bash ls →0",
        "compaction tried make (synthetic)",
        "prompt injected (synthetic)",
        "text 没有 Makefile (end)",
        "error overloaded (end)",
    ]


def test_an_openclaw_session_tells_its_story() -> None:
    assert story("openclaw") == [
        "prompt status?",
        "tool_call run_terminal git status",
        "tool_result run_terminal git status",
        "text Clean. (end)",
    ]


def test_a_fork_does_not_double_the_history_it_copies(tmp_path: Path) -> None:
    records = [json.loads(text) for text in fixture("pi").read_text(encoding="utf-8").splitlines()]
    forked = [{**records[0], "id": "p2", "parentSession": "p1"}, *records[1:4]]
    ids = {event.id for event in events_of(fixture("pi"))}
    copies = events_of(lines(tmp_path / "fork.jsonl", *forked))
    assert copies
    assert {event.id for event in copies} <= ids


def test_a_public_session_holds_what_is_in_it(shared: Path) -> None:
    path = shared / "transcripts" / "pi" / "badlogic_pi-mono__before-compaction.jsonl"
    messages = [
        record["message"]
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if record["type"] == "message"
    ]
    roles = [message["role"] for message in messages]
    typed = roles.count("bashExecution")
    stops = [message.get("stopReason") for message in messages]
    calls = sum(
        part["type"] == "toolCall"
        for message in messages
        if message["role"] == "assistant"
        for part in message["content"]
    )
    counts = tally(path.parent)["before-compaction.jsonl"]
    assert counts["human"] == roles.count("user")
    assert counts["tool_call"] == calls + typed
    assert counts["tool_result"] == roles.count("toolResult") + typed
    assert counts["failed"] == sum(message.get("isError", False) for message in messages)
    assert (counts["interrupt"], counts["error"]) == (stops.count("aborted"), stops.count("error"))
    assert (counts["sessions"], counts["timeless"], counts["compaction"]) == (1, 0, 2)


def test_public_sessions_of_openclaw_are_told_from_those_of_pi(shared: Path) -> None:
    for path in sorted((shared / "transcripts" / "openclaw").iterdir()):
        assert {event.agent for event in events_of(path)} == {"openclaw"}
