"""Exports of chats come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import document, events_of, fixture, story, texts


def test_a_chatgpt_export_tells_its_story() -> None:
    assert story("chatgpt-export") == [
        "prompt 你好",
        "tool_call python",
        "tool_result python failed",
        "text Not defined. (end)",
    ]


def test_a_claude_ai_export_tells_its_story() -> None:
    assert story("claude-ai-export") == [
        "prompt hello\n[a.csv]",
        "text 你好 (end)",
        "prompt only text",
    ]


def test_a_sharegpt_document_tells_its_story() -> None:
    assert story("sharegpt") == [
        "prompt 天气?",
        "tool_call weather",
        "tool_result weather",
        "text Rain. (end)",
        "prompt and tomorrow?",
    ]


def test_sharegpt_lines_tell_their_story() -> None:
    assert story("sharegpt-lines") == [
        "prompt q",
        "text a (end)",
        "prompt 问",
    ]


def test_each_conversation_is_a_session_under_its_own_id() -> None:
    assert {event.session_id for event in events_of(fixture("claude-ai-export"))} == {"k1", "k2"}
    assert {event.session_id for event in events_of(fixture("sharegpt-lines"))} == {"h2", "h3"}
    shown = [event.external_id for event in events_of(fixture("chatgpt-export"))]
    assert shown == ["a", "c0", "d", "c"]


def test_a_branch_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    message = {"id": "a", "author": {"role": "user"}, "content": {"parts": ["hi"]}}
    nodes = {
        "a": {"parent": "b", "children": ["b"], "message": message},
        "b": {"parent": "a", "children": ["a"], "message": None},
    }
    export = [{"title": "t", "id": "x", "mapping": nodes, "current_node": "a"}]
    assert texts(events_of(document(tmp_path / "x.json", export)), "prompt") == ["hi"]
