"""Traces of Visual Studio's Copilot come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import events_of, story, tally, told


def test_traces_tell_their_story() -> None:
    assert story("copilot-visualstudio") == [
        "prompt 构建",
        "tool_call run_command_in_terminal dotnet build",
        "tool_result run_command_in_terminal dotnet build failed",
    ]


def test_public_traces_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "copilot-visualstudio"
    found = tally(folder)
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        counts = found[path.name.split("__", 1)[-1]]
        calls = text.count('"name":"execute_tool ')
        assert (counts["tool_call"], counts["tool_result"], counts["timeless"]) == (calls, calls, 0)
    assert found["sample-4_VSGitHubCopilot_traces.jsonl"]["sessions"] == 2
    (third,) = folder.glob("*sample-3*")
    assert told(events_of(third)[0]) == "tool_call run_command_in_terminal dotnet test"
