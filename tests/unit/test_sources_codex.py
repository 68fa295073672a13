"""Codex rollouts of all generations come out as the events they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import zstandard

from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event

META = {"id": "S1", "cwd": "/w/app", "git": {"branch": "main", "commit_hash": "ab12"}}


def read(tmp_path: Path, *records: dict[str, Any], name: str = "rollout-x.jsonl") -> list[Event]:
    path = tmp_path / name
    data = "".join(json.dumps(one) + "\n" for one in records).encode()
    path.write_bytes(zstandard.compress(data) if name.endswith(".zst") else data)
    return [event for batch in read_transcript(path) for event in batch.events]


def line(kind: str, payload: dict[str, Any], second: int = 1) -> dict[str, Any]:
    return {"timestamp": f"2026-08-01T10:00:{second:02}.000Z", "type": kind, "payload": payload}


def meta(**fields: Any) -> dict[str, Any]:
    return line("session_meta", {**META, **fields})


def turn(turn_id: str) -> dict[str, Any]:
    return line("turn_context", {"turn_id": turn_id, "cwd": "/w/app", "model": "gpt-x"})


def item(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": role, "content": content})


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", {"type": kind, **fields})


def call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    payload = {"type": "function_call", "name": name, "call_id": call_id, "arguments": text}
    return line("response_item", payload)


def output(call_id: str, value: Any) -> dict[str, Any]:
    payload = {"type": "function_call_output", "call_id": call_id, "output": value}
    return line("response_item", payload)


def results(events: list[Event]) -> list[tuple[str, int | None, bool | None, str]]:
    return [
        (event.text, event.tool.exit_code, event.tool.is_error, event.tool.status)
        for event in events
        if event.kind == "tool_result" and event.tool
    ]


def test_a_turn_gives_each_prompt_and_answer_once(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        turn("t1"),
        message("user_message", message="fix the lint"),
        item("user", "fix the lint"),
        item("assistant", "On it."),
        message("agent_message", message="On it."),
        message("task_complete", turn_id="t1", last_agent_message="On it."),
        message("user_message", message="fix the lint"),
        item("user", "fix the lint"),
    )
    assert [(event.kind, event.text, event.ends_turn) for event in events] == [
        ("prompt", "fix the lint", False),
        ("text", "On it.", False),
        ("text", "", True),
        ("prompt", "fix the lint", False),
    ]
    first = events[0]
    assert (first.session_id, first.cwd, first.git_branch, first.git_commit) == (
        "S1",
        "/w/app",
        "main",
        "ab12",
    )
    assert events[1].model == "gpt-x"
    assert len({event.id for event in events}) == 4


def test_an_answer_known_only_from_the_end_of_its_turn_is_kept(tmp_path: Path) -> None:
    events = read(
        tmp_path, meta(), item("user", "go"), message("task_complete", last_agent_message="Done.")
    )
    assert [(event.text, event.ends_turn) for event in events] == [("go", False), ("Done.", True)]


def test_what_codex_puts_in_the_users_mouth_is_dropped(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        item("developer", "<permissions instructions>x</permissions instructions>"),
        item("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        item("user", "<environment_context>\n<cwd>/w/else</cwd>\n</environment_context>"),
        item("user", "<turn_aborted>\nx\n</turn_aborted>"),
        item("user", "<environment_context><cwd>/w/else</cwd></environment_context>\n\nreal"),
        item(
            "user", "# Context from my IDE setup:\n\n## Open tabs\n\n## My request for Codex:\ngo"
        ),
    )
    assert [(event.text, event.cwd) for event in events] == [
        ("real", "/w/else"),
        ("go", "/w/else"),
    ]


def test_exit_codes_are_read_in_all_their_shapes(tmp_path: Path) -> None:
    wrapped = json.dumps({"output": "bad", "metadata": {"exit_code": 3, "duration_seconds": 1}})
    codes = [
        "Exit code: 0\nWall time: 1 seconds\nOutput:\nfine",
        "Chunk ID: a1\nWall time: 0.8 seconds\nProcess exited with code 1\nOutput:\nF401",
        wrapped,
        "command timed out after 1000 milliseconds",
        "exec command rejected by user",
        "just text",
        [{"type": "input_text", "text": '{"exit_code":2,"output":"no"}'}],
    ]
    records = [meta()]
    for number, value in enumerate(codes):
        records += [call(f"c{number}", "exec_command", {"cmd": "x"}), output(f"c{number}", value)]
    assert results(read(tmp_path, *records)) == [
        ("fine", 0, False, ""),
        ("F401", 1, True, ""),
        ("bad", 3, True, ""),
        ("command timed out after 1000 milliseconds", 124, True, "timeout"),
        ("exec command rejected by user", None, True, "denied"),
        ("just text", None, None, ""),
        ("no", 2, True, ""),
    ]


def test_the_structured_end_of_a_command_wins_over_its_output(tmp_path: Path) -> None:
    ended = {"call_id": "c1", "exit_code": 2, "aggregated_output": "boom", "command": ["make"]}
    events = read(
        tmp_path,
        meta(),
        call("c1", "shell", {"command": ["bash", "-lc", "make all"]}),
        message("exec_command_end", **ended),
        output("c1", "boom"),
    )
    assert [event.tool.command for event in events if event.tool] == ["make all", "make all"]
    assert results(events) == [("boom", 2, True, "")]


def test_a_long_command_ends_with_the_keys_sent_to_it(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        call("c1", "exec_command", {"cmd": "pytest"}),
        output("c1", "Wall time: 10 seconds\nProcess running with session ID 7\nOutput:\n.."),
        call("c2", "write_stdin", {"session_id": 7, "chars": ""}),
        output("c2", "Wall time: 2 seconds\nProcess exited with code 1\nOutput:\n1 failed"),
    )
    assert results(events) == [("..", None, None, "running"), ("1 failed", 1, True, "")]
    last = events[-1].tool
    assert last is not None
    assert last.command == "pytest"


def test_a_patch_names_its_files_and_tells_whether_it_was_applied(tmp_path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    )
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch}
    events = read(
        tmp_path,
        meta(),
        line("response_item", custom),
        message("patch_apply_end", call_id="c1", success=True, stdout="ok", changes={"a.py": {}}),
        call("c2", "shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{patch}\nE"]}),
        output("c2", "apply_patch verification failed: context not found"),
    )
    calls = [event for event in events if event.kind == "tool_call"]
    assert [one.files for one in calls] == [("/w/app/a.py", "/w/app/b.py")] * 2
    assert [one.tool.category for one in calls if one.tool] == ["edit", "edit"]
    assert results(events) == [
        ("ok", None, False, ""),
        ("apply_patch verification failed: context not found", None, True, "invalid"),
    ]


def test_mcp_calls_and_local_shell_calls_are_read(tmp_path: Path) -> None:
    shell = {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls", "-l"]}}
    invocation = {"server": "db", "tool": "query", "arguments": {"q": 1}}
    events = read(
        tmp_path,
        meta(),
        line("response_item", shell),
        message("mcp_tool_call_end", call_id="c2", invocation=invocation, result={"Err": "down"}),
    )
    assert [(event.tool.name, event.tool.category) for event in events if event.tool] == [
        ("local_shell", "shell"),
        ("mcp__db__query", "mcp"),
        ("mcp__db__query", "mcp"),
    ]
    assert results(events) == [("down", None, True, "")]


def test_aborts_rollbacks_compactions_and_errors_are_events(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        item("user", "go"),
        message("turn_aborted", turn_id="t1", reason="interrupted"),
        message("thread_rolled_back", num_turns=2),
        line("compacted", {"message": "so far: …"}),
        message("context_compacted"),
        message("error", message="stream closed"),
        message("task_complete", error={"message": "no quota"}),
    )
    assert [(event.kind, event.text, event.ends_turn) for event in events[1:]] == [
        ("interrupt", "turn aborted: interrupted", True),
        ("interrupt", "rolled back the last 2 turns", False),
        ("compaction", "so far: …", False),
        ("error", "stream closed", False),
        ("error", "no quota", True),
    ]


def test_a_fork_that_replays_its_parent_gives_the_same_ids(tmp_path: Path) -> None:
    past = [
        turn("t1"),
        item("user", "go"),
        call("c1", "shell", {"command": ["ls"]}),
        output("c1", "Exit code: 0\nOutput:\na"),
        item("assistant", "done"),
    ]
    later = [{**one, "timestamp": "2026-09-09T00:00:00Z"} for one in past]
    parent = read(tmp_path, meta(), *past, name="rollout-a.jsonl")
    child = read(
        tmp_path,
        meta(id="S2", forked_from_id="S1"),
        meta(),
        *later,
        turn("t2"),
        item("user", "go"),
        name="rollout-b.jsonl",
    )
    assert [event.id for event in child[:4]] == [event.id for event in parent]
    assert child[4].id not in {event.id for event in parent}
    assert {event.session_id for event in child} == {"S2"}
    assert child[0].parent_session_id == "S1"


def test_subagents_are_marked_and_know_their_parent(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "P", "depth": 1}}}
    (event,) = read(tmp_path, meta(source=source), item("user", "explore"))
    assert (event.is_sidechain, event.parent_session_id) == (True, "P")


def test_a_compressed_rollout_gives_the_same_events(tmp_path: Path) -> None:
    records = [meta(), turn("t1"), item("user", "go"), item("assistant", "done")]
    plain = read(tmp_path, *records)
    packed = read(tmp_path, *records, name="rollout-x.jsonl.zst")
    assert [event.id for event in packed] == [event.id for event in plain]


def test_the_flat_first_generation_is_read(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        {"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c",
            "arguments": '{"command":["ls"]}',
        },
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": '{"output":"a","metadata":{"exit_code":0}}',
        },
    )
    assert {event.session_id for event in events} == {"old"}
    assert [event.kind for event in events] == ["prompt", "tool_call", "tool_result"]
    assert results(events) == [("a", 0, False, "")]


def test_completed_items_alone_tell_the_story(tmp_path: Path) -> None:
    def done(**fields: Any) -> dict[str, Any]:
        return message("item_completed", item=fields)

    run = {"command": ["bash", "-lc", "ls"], "exit_code": 1, "stdout": "", "stderr": "no"}
    events = read(
        tmp_path,
        meta(),
        done(type="UserMessage", id="i1", content=[{"type": "text", "text": "go"}]),
        done(type="CommandExecution", id="i2", status="failed", **run),
        done(type="AgentMessage", id="i3", content=[{"type": "Text", "text": "failed"}]),
    )
    assert [event.kind for event in events] == ["prompt", "tool_call", "tool_result", "text"]
    assert results(events) == [("no", 1, True, "")]


def test_the_document_of_the_first_command_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2025-04-20-x.json"
    session = {"id": "old", "timestamp": "2025-04-20T00:00:00Z", "instructions": ""}
    command = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "c", "output": '{"output":"a"}'}
    spoken = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    path.write_text(json.dumps({"session": session, "items": [spoken, command, done]}, indent=1))
    (batch,) = read_transcript(path)
    assert batch.source == "codex-document"
    assert [event.kind for event in batch.events] == ["prompt", "tool_call", "tool_result"]
    assert {event.session_id for event in batch.events} == {"old"}
