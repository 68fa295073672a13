"""Factory Droid sessions and streams come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.sources.factory_droid import SOURCE
from tests.support.transcripts import events_of, lines, story, told


def test_a_session_tells_its_story() -> None:
    assert story("factory-droid") == [
        "prompt fix the lint",
        "text Checking.",
        "tool_call Execute ruff check",
        "tool_result Execute ruff check →1",
        "text Fixed. (end)",
    ]


def test_the_stream_of_droid_exec_is_read_too(tmp_path: Path) -> None:
    shared = {"session_id": "d2", "timestamp": "2026-03-01T10:00:00Z"}
    call = {
        "type": "tool_call",
        "id": "t1",
        "toolName": "Execute",
        "parameters": {"command": "make"},
    }
    result = {"type": "tool_result", "id": "r1", "toolCallId": "t1", "toolId": "Execute"}
    result["value"] = {"stdout": "no rule", "exitCode": 2}  # type: ignore[assignment]
    path = lines(
        tmp_path / "out.jsonl",
        {"type": "system", "subtype": "init", "cwd": "/work/shop", "model": "m-1", **shared},
        {"type": "message", "role": "user", "id": "m1", "text": "build", **shared},
        {"type": "message", "role": "assistant", "id": "m2", "text": "Building.", **shared},
        {**call, **shared},
        {**result, **shared},
        {"type": "message", "role": "assistant", "id": "m3", "text": "没有规则", **shared},
        {"type": "completion", "id": "x", "finalText": "没有规则", **shared},
    )
    assert [told(event) for event in events_of(path)] == [
        "prompt build",
        "text Building.",
        "tool_call Execute make",
        "tool_result Execute make →2",
        "text 没有规则",
        "text (synthetic) (end)",
    ]


def test_the_folder_can_be_moved(tmp_path: Path) -> None:
    assert SOURCE.roots({}, tmp_path) == [tmp_path / ".factory" / "sessions"]
