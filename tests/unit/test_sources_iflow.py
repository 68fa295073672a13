"""iFlow sessions are read like those of Claude Code, under their own name."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_lines import ClaudeSession
from tests.support.transcripts import events_of, told


def test_a_session_below_its_folder_is_iflows(tmp_path: Path) -> None:
    session = ClaudeSession("s1").prompt("跑测试").runs("make", "no rule", exit_code=2).says("没有")
    folder = tmp_path / ".iflow" / "projects" / "-work"
    folder.mkdir(parents=True)
    path = folder / "session-s1.jsonl"
    path.write_text(session.text(), encoding="utf-8")
    events = events_of(path)
    assert [told(event) for event in events] == [
        "prompt 跑测试",
        "tool_call Bash make",
        "tool_result Bash make →2",
        "text 没有 (end)",
    ]
    assert {(event.agent, event.id.split(":")[0]) for event in events} == {("iflow", "iflow")}


def test_the_same_session_elsewhere_is_claude_codes(tmp_path: Path) -> None:
    path = tmp_path / "session-s1.jsonl"
    path.write_text(ClaudeSession("s1").prompt("go").text(), encoding="utf-8")
    assert {event.agent for event in events_of(path)} == {"claude-code"}
