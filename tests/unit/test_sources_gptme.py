"""gptme conversations come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import events_of, lines, story, tally, told


def test_a_conversation_tells_its_story() -> None:
    assert story("gptme") == [
        "prompt count the files",
        "text Counting.\n```shell\nls | wc -l\n```",
        "tool_call shell ls | wc -l",
        "tool_result shell ls | wc -l",
        "text ```save notes.md\n十二个文件\n```",
        "tool_call save notes.md",
        "tool_result save notes.md failed",
        "text Twelve. (end)",
    ]


def test_a_call_in_the_tool_form_is_paired_by_its_id(tmp_path: Path) -> None:
    time = "2026-06-13T10:00:0{}.000000"
    said = 'Looking.\n@shell(call-7): {"command": "ls"}'
    path = lines(
        tmp_path / "conversation.jsonl",
        {"role": "user", "content": "look", "timestamp": time.format(1), "pinned": True},
        {"role": "assistant", "content": said, "timestamp": time.format(2)},
        {"role": "system", "content": "a.py", "timestamp": time.format(3), "call_id": "call-7"},
    )
    assert [told(event) for event in events_of(path)][-2:] == [
        "tool_call shell ls",
        "tool_result shell ls",
    ]


def test_a_public_conversation_holds_what_is_in_it(shared: Path) -> None:
    (counts,) = tally(shared / "transcripts" / "gptme").values()
    assert (counts["human"], counts["text"], counts["tool_result"]) == (2, 2, 2)
    assert (counts["sessions"], counts["timeless"]) == (1, 0)
