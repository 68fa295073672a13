"""Gemini CLI sessions come out as the story they tell, patched or whole."""

from __future__ import annotations

import re
from pathlib import Path

from hindsight_daemon.sources.gemini_cli import SOURCE
from tests.support.transcripts import events_of, lines, story, tally


def test_a_session_log_tells_its_story() -> None:
    assert story("gemini-cli") == [
        "prompt 修复税率测试",
        "reasoning Testing: Run it first.",
        "tool_call run_shell_command pytest -q",
        "tool_result run_shell_command pytest -q →1",
        "tool_call replace /work/shop/tax.py",
        "tool_result replace /work/shop/tax.py interrupted failed",
        "interrupt Request cancelled. (end)",
        "prompt go on",
        "text wrong way (end)",
        "interrupt rewound to an earlier message (synthetic)",
        "text Rounded half-even now. (end)",
        "error quota exceeded",
    ]


def test_an_old_session_document_tells_its_story() -> None:
    assert story("gemini-cli-document") == [
        "prompt list files",
        "text Looking.",
        "tool_call list_directory",
        "tool_result list_directory failed",
        "text There is none. (end)",
    ]


def test_a_message_written_again_keeps_its_place_and_ids(tmp_path: Path) -> None:
    header = {"sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T08:00:00Z"}
    user = {"id": "m1", "timestamp": "2026-05-01T08:00:01Z", "type": "user", "content": "go"}
    begun = {"id": "m2", "timestamp": "2026-05-01T08:00:02Z", "type": "gemini", "content": "He"}
    late = {"id": "m3", "timestamp": "2026-05-01T08:00:03Z", "type": "user", "content": "ok"}
    grown = {**begun, "content": "Hello."}
    events = events_of(lines(tmp_path / "x.jsonl", header, user, begun, late, grown))
    assert [event.text for event in sorted(events, key=lambda one: one.seq)] == [
        "go",
        "Hello.",
        "ok",
    ]


def test_a_snapshot_of_all_messages_replaces_what_was_there(tmp_path: Path) -> None:
    header = {"sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T08:00:00Z"}
    user = {"id": "m1", "timestamp": "2026-05-01T08:00:01Z", "type": "user", "content": "go"}
    done = {"id": "m2", "timestamp": "2026-05-01T08:00:02Z", "type": "gemini", "content": "Done."}
    patch = {"$set": {"messages": [user, done]}}
    events = events_of(lines(tmp_path / "x.jsonl", header, user, patch))
    assert [event.text for event in events] == ["go", "Done."]


def test_a_subagent_belongs_to_the_session_its_folder_names(tmp_path: Path) -> None:
    header = {"sessionId": "child", "projectHash": "h", "startTime": "x", "kind": "subagent"}
    user = {"id": "m1", "timestamp": "2026-05-01T08:00:01Z", "type": "user", "content": "look"}
    (event,) = events_of(lines(tmp_path / "chats" / "parent" / "child.jsonl", header, user))
    assert (event.session_id, event.parent_session_id) == ("child", "parent")
    assert event.is_sidechain


def test_the_home_can_be_moved(tmp_path: Path) -> None:
    assert SOURCE.roots({}, tmp_path) == [tmp_path / ".gemini" / "tmp"]
    assert SOURCE.roots({"GEMINI_CLI_HOME": "/g"}, tmp_path) == [Path("/g/.gemini/tmp")]
    assert not SOURCE.matches(Path("/g/.gemini/tmp/x/logs.json"))


def test_public_sessions_hold_what_is_in_them(shared: Path) -> None:
    found = tally(shared / "transcripts" / "gemini-cli")
    for path in sorted((shared / "transcripts" / "gemini-cli").iterdir()):
        counts = found[path.name.split("__", 1)[-1]]
        text = path.read_text(encoding="utf-8")
        people = len(re.findall(r'"(?:type|role)": ?"user"', text))
        assert (counts.get("prompt", 0), counts["sessions"], counts["timeless"]) == (people, 1, 0)
        assert counts.get("tool_call", 0) == len(re.findall(r'"args": ?', text))
    assert found["large.json"]["failed"] == 1
    assert found["large.json"]["interrupt"] == 1
    assert found["system_messages.json"] == {"error": 1, "sessions": 1, "human": 0} | {
        "failed": 0,
        "timeless": 0,
    }
