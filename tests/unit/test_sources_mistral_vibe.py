"""Mistral Vibe sessions come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import story, tally


def test_a_session_tells_its_story() -> None:
    assert story("mistral-vibe") == [
        "prompt run the tests",
        "reasoning pytest",
        "text Running.",
        "tool_call bash pytest",
        "tool_result bash pytest →1",
        "text 一个失败 (end)",
    ]


def test_public_sessions_hold_what_is_in_them(shared: Path) -> None:
    found = tally(shared / "transcripts" / "mistral-vibe")
    assert sorted(found) == ["messages.jsonl", "vibe~session_with_tools~messages.jsonl"]
    assert (found["messages.jsonl"]["human"], found["messages.jsonl"]["text"]) == (2, 3)
    tools = found["vibe~session_with_tools~messages.jsonl"]
    assert (tools["human"], tools["tool_call"], tools["tool_result"], tools["text"]) == (1, 1, 1, 2)
