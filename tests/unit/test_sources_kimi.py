"""Kimi wire logs come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.transcripts import events_of, fixture, story, tally


def test_a_wire_log_tells_its_story() -> None:
    assert story("kimi") == [
        "prompt 跑一下测试",
        "reasoning Use pytest.",
        "tool_call Bash pytest -q",
        "tool_result Bash pytest -q →1",
        "text One test fails.",
        "text (synthetic) (end)",
        "prompt more",
        "prompt stop",
        "interrupt cancelled (end)",
        "compaction ran tests (synthetic)",
    ]


def test_a_subagents_log_is_a_side_line_of_its_session(tmp_path: Path) -> None:
    text = fixture("kimi").read_text(encoding="utf-8")
    path = tmp_path / "session_k1" / "agents" / "agent-0" / "wire.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    event = events_of(path)[0]
    assert (event.session_id, event.parent_session_id) == ("session_k1/agent-0", "session_k1")
    assert event.is_sidechain


def test_public_wire_logs_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "kimi"
    found = tally(folder)
    for path in sorted(folder.iterdir()):
        records = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        kinds = [record["type"] for record in records]
        inner = [record["event"]["type"] for record in records if "event" in record]
        counts = found[path.name.split("__", 1)[-1]]
        assert counts.get("prompt", 0) == kinds.count("turn.prompt") + kinds.count("turn.steer")
        assert counts.get("interrupt", 0) == kinds.count("turn.cancel")
        assert counts.get("tool_call", 0) == inner.count("tool.call")
        assert counts.get("tool_result", 0) == inner.count("tool.result")
        assert counts["timeless"] == 0
    assert found["assistant_tools.jsonl"]["failed"] == 1
    sidechain = events_of(folder / "jazzyalex_agent-sessions__subagent_agent-0.jsonl")
    assert all(event.is_sidechain for event in sidechain)
    assert sidechain[0].cwd == "/private/tmp/as-agent-lab/kimi/project"
