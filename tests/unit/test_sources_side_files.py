"""Folder, branch, model and caller that an agent keeps in a small file near its transcript."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.ingest.side_files import MAX_BYTES
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event
from tests.support.transcripts import document, events_of, lines

VIBE = {"role": "user", "content": "sort a list", "message_id": "m1"}
GEMINI = {"sessionId": "g1", "projectHash": "x", "startTime": "2026-05-01T08:00:00Z"}
SAID = {"id": "m1", "timestamp": "2026-05-01T08:00:03Z", "type": "user", "content": "list files"}
CHAT = {
    "version": 3,
    "sessionId": "v1",
    "requests": [{"requestId": "r1", "timestamp": 1, "message": {"text": "hi"}, "response": []}],
}
TASK = [{"ts": 1740470400000, "type": "say", "say": "text", "text": "Add a health check"}]


def _first(path: Path) -> Event:
    return events_of(path)[0]


def test_vibe_tells_folder_branch_commit_and_caller_in_its_meta_file(tmp_path: Path) -> None:
    file = lines(tmp_path / "session/s1/messages.jsonl", VIBE)
    meta = {
        "parent_session_id": "s0",
        "git_commit": "abc",
        "git_branch": "main",
        "model": "m",
        "environment": {"working_directory": "/w/app"},
    }
    document(file.with_name("meta.json"), meta)
    said = _first(file)
    told = (said.cwd, said.git_branch, said.git_commit, said.parent_session_id)
    assert told == ("/w/app", "main", "abc", "s0")


@pytest.mark.parametrize(
    ("workspace", "cwd"),
    [
        ({"folder": "file:///w/my%20app"}, "/w/my app"),
        ({"folder": "file:///c%3A/Users/x"}, "c:/Users/x"),
        ({"folder": "vscode-remote://ssh-remote%2Bhost/srv/app"}, "/srv/app"),
        ({"workspace": "file:///w/both/x.code-workspace"}, "/w/both"),
        ({"folder": 3}, ""),
        ([], ""),
    ],
)
def test_vs_codes_workspace_says_where_a_chat_was(tmp_path: Path, workspace: Any, cwd: str) -> None:
    file = document(tmp_path / "workspaceStorage/ab12/chatSessions/v1.json", CHAT)
    document(tmp_path / "workspaceStorage/ab12/workspace.json", workspace)
    assert _first(file).cwd == cwd


def test_gemini_marks_the_folder_of_a_project_or_lists_it(tmp_path: Path) -> None:
    tmp = tmp_path / ".gemini/tmp"
    marked = lines(tmp / "app/chats/session-1.jsonl", GEMINI, SAID)
    (tmp / "app/.project_root").write_text("/w/app\n", encoding="utf-8")
    below = lines(tmp / "app/chats/g1/g2.jsonl", {**GEMINI, "kind": "subagent"}, SAID)
    old = hashlib.sha256(b"/w/old").hexdigest()
    hashed = document(tmp / old / "chats/session-2.json", {**GEMINI, "messages": [SAID]})
    slug = lines(tmp / "new/chats/session-3.jsonl", GEMINI, SAID)
    unknown = lines(tmp / "other/chats/session-4.jsonl", GEMINI, SAID)
    document(tmp_path / ".gemini/projects.json", {"projects": {"/w/old": "old", "/w/new": "new"}})
    found = [_first(file).cwd for file in (marked, below, hashed, slug, unknown)]
    assert found == ["/w/app", "/w/app", "/w/old", "/w/new", ""]


def test_cline_and_roo_tell_folder_and_caller_beside_the_task(tmp_path: Path) -> None:
    roo = document(tmp_path / "rooveterinaryinc.roo-cline/tasks/2/ui_messages.json", TASK)
    document(roo.with_name("history_item.json"), {"workspace": "/w/roo", "parentTaskId": "1"})
    cline = document(tmp_path / "saoudrizwan.claude-dev/tasks/3/ui_messages.json", TASK)
    sent = "<environment_details>\n# Current Working Directory (C:\\new\\中) Files\n"
    history = cline.with_name("api_conversation_history.json")
    document(history, [{"role": "user", "content": [{"type": "text", "text": sent}]}])
    assert [(one.cwd, one.parent_session_id) for one in map(_first, (roo, cline))] == [
        ("/w/roo", "1"),
        ("C:\\new\\中", ""),
    ]


def test_clines_store_tells_folder_and_model_in_the_sessions_own_file(tmp_path: Path) -> None:
    messages = [{"id": "1", "role": "user", "content": "hi"}]
    stored = {"version": 1, "updated_at": "x", "agent": "a", "sessionId": "s", "messages": messages}
    file = document(tmp_path / "sessions/s/s.messages.json", stored)
    document(file.with_name("s.json"), {"cwd": "/w/cline", "model": "m"})
    assert _first(file).cwd == "/w/cline"


def test_openhands_tells_the_folder_in_the_state_of_the_conversation(tmp_path: Path) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "fix it"}]}
    record = {
        "id": "e1",
        "timestamp": "2026-05-01T08:00:03",
        "source": "user",
        "kind": "MessageEvent",
        "llm_message": message,
    }
    file = lines(tmp_path / "conversations/c1/events/event-00001-ab.json", record)
    base = {"workspace": {"working_dir": "/w/oh"}, "agent": {"llm": {"model": "m"}}}
    document(tmp_path / "conversations/c1/base_state.json", base)
    assert (_first(file).session_id, _first(file).cwd) == ("c1", "/w/oh")


def test_grok_and_copilot_tell_branch_and_folder_beside_the_log(tmp_path: Path) -> None:
    grok = lines(
        tmp_path / "sessions/%2Fw%2Fgrok/s1/chat_history.jsonl",
        {"type": "user", "prompt_index": 0, "content": [{"type": "text", "text": "read it"}]},
    )
    document(grok.with_name("summary.json"), {"info": {"cwd": "/w"}, "head_branch": "dev"})
    start = {"type": "session.start", "id": "e1", "parentId": None, "data": {"sessionId": "c1"}}
    said = {"type": "user.message", "id": "e2", "parentId": "e1", "data": {"content": "fix"}}
    copilot = lines(tmp_path / "session-state/c1/events.jsonl", start, said)
    yaml = "name: x\ncwd: '/w/copilot'\nbranch: main\n"
    copilot.with_name("workspace.yaml").write_text(yaml, encoding="utf-8")
    found = [(one.cwd, one.git_branch) for one in map(_first, (grok, copilot))]
    assert found == [("/w/grok", "dev"), ("/w/copilot", "main")]


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"environment": 3}', "\ufeff{}", "x" * 9])
def test_a_damaged_side_file_spoils_nothing(tmp_path: Path, content: str) -> None:
    file = lines(tmp_path / "session/s1/messages.jsonl", VIBE)
    file.with_name("meta.json").write_text(content, encoding="utf-8")
    assert (_first(file).text, _first(file).cwd) == ("sort a list", "")


def test_a_side_file_that_is_a_link_a_folder_or_a_pipe_is_passed_over(tmp_path: Path) -> None:
    elsewhere = document(tmp_path / "elsewhere.json", {"environment": {"working_directory": "/x"}})
    for name in ("link", "folder", "pipe"):
        file = lines(tmp_path / name / "messages.jsonl", VIBE)
        beside = file.with_name("meta.json")
        if name == "link":
            beside.symlink_to(elsewhere)
        elif name == "folder":
            beside.mkdir()
        else:
            os.mkfifo(beside)
        assert _first(file).cwd == ""


def test_only_the_beginning_of_a_side_file_is_read(tmp_path: Path) -> None:
    file = document(tmp_path / "saoudrizwan.claude-dev/tasks/3/ui_messages.json", TASK)
    history = file.with_name("api_conversation_history.json")
    history.write_text("x" * MAX_BYTES + "\n# Current Working Directory (/w/c)", encoding="utf-8")
    assert _first(file).cwd == ""


def test_a_piped_transcript_knows_nothing_of_what_lies_beside_its_copy(tmp_path: Path) -> None:
    file = lines(tmp_path / "messages.jsonl", VIBE)
    document(file.with_name("meta.json"), {"environment": {"working_directory": "/x"}})
    (batch,) = read_transcript(file, label="stdin:1")
    assert json.loads(batch.checkpoint.state).get("cwd", "") == batch.events[0].cwd == ""
