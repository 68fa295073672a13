"""Cursor's agent transcripts come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import events_of, lines, story, tally


def test_a_transcript_tells_its_story() -> None:
    assert story("cursor") == [
        "prompt run ls",
        "text Running.",
        "tool_call Shell ls",
        "tool_result Shell ls",
        "text 一个文件",
        "text (synthetic) (end)",
        "prompt and?",
        "error upstream timeout (end)",
    ]


def test_a_transcript_in_text_form_tells_its_story() -> None:
    assert story("cursor-text") == [
        "prompt run the tests",
        "reasoning pytest then",
        "tool_call Shell pytest -q",
        "tool_result Shell pytest -q",
        "text 一个失败",
    ]


def test_a_subagent_belongs_to_the_session_its_folder_names(tmp_path: Path) -> None:
    record = {"role": "user", "message": {"content": [{"type": "text", "text": "look"}]}}
    folder = tmp_path / "agent-transcripts" / "parent" / "subagents"
    (event,) = events_of(lines(folder / "child.jsonl", record))
    assert (event.session_id, event.parent_session_id) == ("child", "parent")
    assert event.is_sidechain


def test_results_stand_for_the_oldest_call_since_calls_have_no_ids(tmp_path: Path) -> None:
    def message(role: str, *parts: object) -> dict[str, object]:
        return {"role": role, "message": {"content": list(parts)}}

    path = lines(
        tmp_path / "x.jsonl",
        message("user", {"type": "text", "text": "go"}),
        message(
            "assistant",
            {"type": "tool_use", "name": "Shell", "input": {"command": "one"}},
            {"type": "tool_use", "name": "Shell", "input": {"command": "two"}},
        ),
        message("user", {"type": "tool_result", "tool_use_id": "x", "content": "1"}),
        message("user", {"type": "tool_result", "tool_use_id": "y", "content": "2"}),
    )
    results = [event for event in events_of(path) if event.kind == "tool_result"]
    assert [(event.tool.command, event.text) for event in results if event.tool] == [
        ("one", "1"),
        ("two", "2"),
    ]


def test_public_transcripts_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "cursor"
    found = tally(folder)
    assert sum(name.endswith(".jsonl") for name in found) == 12
    for path in sorted(folder.glob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        if not text:
            continue
        counts = found[path.name.split("__", 1)[-1]]
        calls = text.count('"type":"tool_use"') + text.count('"type":"tool_call"')
        results = text.count('"tool_result"') + text.count('"tool-result"')
        assert (counts.get("tool_call", 0), counts.get("tool_result", 0)) == (calls, results)
        assert counts.get("prompt", 0) == text.count('"role":"user"') - results
        assert counts.get("error", 0) == text.count('"type":"error"')
