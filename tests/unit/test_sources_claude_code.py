"""Claude Code records of all generations come out as the events they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event

SESSION = "11111111-1111-4111-8111-111111111111"


def read(tmp_path: Path, *records: dict[str, Any] | str, name: str = "x.jsonl") -> list[Event]:
    path = tmp_path / name
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    batches = read_transcript(path, source_name="claude-code")
    return [event for batch in batches for event in batch.events]


def record(kind: str, uuid: str, **fields: Any) -> dict[str, Any]:
    shared = {
        "type": kind,
        "uuid": uuid,
        "sessionId": SESSION,
        "timestamp": "2026-08-01T09:00:00.000Z",
        "cwd": "/w/app",
        "gitBranch": "main",
        "isSidechain": False,
    }
    return {**shared, **fields}


def user(uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    return record("user", uuid, message={"role": "user", "content": content}, **fields)


def assistant(uuid: str, *blocks: dict[str, Any], **message: Any) -> dict[str, Any]:
    whole = {"role": "assistant", "model": "claude-x", "content": list(blocks), **message}
    return record("assistant", uuid, message=whole)


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(call_id: str, command: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"command": command}}


def result(call_id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, **fields}


def test_a_turn_gives_prompt_answer_call_and_result(tmp_path: Path) -> None:
    prompt, text, tool_call, tool_result, last = read(
        tmp_path,
        user("u1", "run the tests"),
        assistant("a1", said("Running."), id="m1"),
        assistant("a2", call("t1", "pytest -q"), id="m1", stop_reason="tool_use"),
        user("u2", [result("t1", "Exit code 1\n1 failed", is_error=True)]),
        assistant("a3", said("One test fails."), id="m2", stop_reason="end_turn"),
    )
    assert (prompt.kind, prompt.text, prompt.is_synthetic) == ("prompt", "run the tests", False)
    assert (prompt.cwd, prompt.git_branch, prompt.session_id) == ("/w/app", "main", SESSION)
    assert (text.kind, text.role, text.model) == ("text", "assistant", "claude-x")
    assert tool_call.tool is not None
    assert (tool_call.tool.category, tool_call.tool.command) == ("shell", "pytest -q")
    assert tool_result.tool is not None
    assert (tool_result.tool.exit_code, tool_result.tool.is_error) == (1, True)
    assert (tool_result.tool.name, tool_result.tool.command) == ("Bash", "pytest -q")
    assert last.ends_turn
    assert not text.ends_turn
    assert [one.id for one in (prompt, text)] == ["claude-code:u1:0", "claude-code:a1:0"]
    assert prompt.seq < text.seq < tool_call.seq < tool_result.seq < last.seq


def test_success_of_a_shell_is_exit_code_zero_unless_the_code_was_explained(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        assistant("a1", call("t1", "ls"), call("t2", "grep x y"), call("t3", "sleep 9 &")),
        user("u1", [result("t1", "a")], toolUseResult={"stdout": "a", "interrupted": False}),
        user("u2", [result("t2", "")], toolUseResult={"returnCodeInterpretation": "No matches"}),
        user("u3", [result("t3", "started")], toolUseResult={"backgroundTaskId": "b1"}),
    )
    results = [event.tool for event in events if event.kind == "tool_result" and event.tool]
    assert [(tool.exit_code, tool.status) for tool in results] == [
        (0, ""),
        (None, ""),
        (None, "running"),
    ]


def test_refusals_of_harness_and_user_are_marked(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        assistant("a1", call("t1", "x", "Edit"), call("t2", "rm"), call("t3", "y")),
        user(
            "u1",
            [
                result("t1", "<tool_use_error>File not read yet</tool_use_error>", is_error=True),
                result("t2", "The user doesn't want to proceed with this tool use.", is_error=True),
                result("t3", "[Request interrupted by user for tool use]", is_error=True),
            ],
        ),
    )
    results = [event for event in events if event.kind == "tool_result"]
    assert [one.tool.status for one in results if one.tool] == ["invalid", "denied", "interrupted"]
    assert results[0].text == "File not read yet"


def test_what_the_harness_says_in_the_users_name_is_synthetic(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        user("u1", "<command-name>/clear</command-name>\n<command-args>now</command-args>"),
        user("u2", "<local-command-stdout>ok</local-command-stdout>"),
        user("u3", "context", isMeta=True),
        user("u4", "<bash-input>ls</bash-input>"),
        user("u5", "note", origin={"kind": "task-notification"}),
        user("u6", "real <system-reminder>not said</system-reminder>"),
        user("u7", "<system-reminder>only this</system-reminder>"),
        user("u8", "<ide_opened_file>a.py</ide_opened_file>\nfix it"),
    )
    assert [(event.text, event.is_synthetic) for event in events] == [
        ("/clear now", True),
        ("<local-command-stdout>ok</local-command-stdout>", True),
        ("context", True),
        ("!ls", True),
        ("note", True),
        ("real", False),
        ("fix it", False),
    ]


def test_a_command_of_the_users_own_with_words_is_a_prompt(tmp_path: Path) -> None:
    def command(name: str, words: str) -> str:
        return f"<command-message>x</command-message><command-name>/{name}</command-name>" + (
            f"<command-args>{words}</command-args>"
        )

    events = read(
        tmp_path,
        user("u1", command("orchestrate", "更新 CLAUDE.md")),
        user("u2", command("orchestrate", "")),
        user("u3", command("model", "opus")),
    )
    assert [(event.text, event.is_synthetic) for event in events] == [
        ("/orchestrate 更新 CLAUDE.md", False),
        ("/orchestrate", True),
        ("/model opus", True),
    ]


def test_calls_without_ids_and_calls_on_their_own_lines_find_their_results(tmp_path: Path) -> None:
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    shared = {"sessionId": SESSION, "timestamp": "2026-08-01T09:00:00Z"}
    events = read(
        tmp_path,
        assistant("a1", use),
        user("u1", [{"type": "tool_result", "content": "a"}]),
        {**use, **shared, "uuid": "t1"},
        {**shared, "type": "tool_result", "uuid": "r1", "name": "Bash", "output": "b"},
    )
    found = [(event.kind, event.text, event.tool.command) for event in events if event.tool]
    assert found == [
        ("tool_call", "", "ls"),
        ("tool_result", "a", "ls"),
        ("tool_call", "", "ls"),
        ("tool_result", "b", "ls"),
    ]


def test_a_queued_command_is_a_prompt_and_a_task_notice_is_a_late_result(tmp_path: Path) -> None:
    notice = (
        "<task-notification><task-id>b1</task-id><tool-use-id>t1</tool-use-id>"
        "<status>failed</status><summary>make failed with exit code 2</summary>"
        "</task-notification>"
    )
    queued = {"type": "queued_command", "prompt": "also lint"}
    events = read(
        tmp_path,
        assistant("a1", call("t1", "make")),
        user("u1", [result("t1", "started")], toolUseResult={"backgroundTaskId": "b1"}),
        record("attachment", "x1", attachment=queued),
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "sessionId": SESSION,
            "content": notice,
        },
        user("u2", notice),
    )
    assert [event.kind for event in events] == ["tool_call", "tool_result", "prompt", "tool_result"]
    assert events[2].text == "also lint"
    late = events[3].tool
    assert late is not None
    assert (late.call_id, late.exit_code, late.is_error, late.command) == ("t1", 2, True, "make")


def test_blocks_repeated_by_streaming_snapshots_come_once(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        assistant("a1", said("I will look."), id="m1"),
        assistant("a2", said("I will look."), call("t1", "ls"), id="m1"),
        assistant("a3", said("I will look."), call("t1", "ls"), said("Done."), id="m1"),
    )
    assert [event.text for event in events if event.kind == "text"] == ["I will look.", "Done."]
    assert [event.kind for event in events].count("tool_call") == 1


def test_a_grown_text_replaces_its_former_self(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        assistant("a1", said("I will"), id="m1"),
        assistant("a2", said("I will look at the parser."), id="m1"),
    )
    assert [(event.id, event.text) for event in events] == [
        ("claude-code:a1:0", "I will look at the parser.")
    ]


def test_a_record_that_comes_twice_counts_once(tmp_path: Path) -> None:
    events = read(tmp_path, user("u1", "first"), user("u1", "a false copy"))
    assert [event.text for event in events] == ["first"]


def test_a_fork_keeps_the_ids_of_what_it_replays(tmp_path: Path) -> None:
    original = read(tmp_path, user("u1", "go"), assistant("a1", said("ok")), name="a.jsonl")
    replayed = [{**user("u1", "go"), "sessionId": "other"}, user("u9", "more")]
    fork = read(tmp_path, *replayed, name="b.jsonl")
    assert fork[0].id == original[0].id
    assert fork[0].session_id == "other"


def test_sessions_follow_the_records_not_the_file(tmp_path: Path) -> None:
    events = read(tmp_path, user("u1", "a"), {**user("u2", "b"), "sessionId": "S2"})
    assert [event.session_id for event in events] == [SESSION, "S2"]


def test_a_subagent_is_a_session_of_its_own_below_its_caller(tmp_path: Path) -> None:
    own = {"isSidechain": True, "agentId": "a7"}
    events = read(tmp_path, user("u1", "search", **own), name="agent-a7.jsonl")
    assert events[0].is_sidechain
    assert (events[0].session_id, events[0].parent_session_id) == (f"{SESSION}/a7", SESSION)
    (inline,) = read(tmp_path, user("u1", "search", isSidechain=True))
    assert (inline.session_id, inline.is_sidechain) == (SESSION, True)


def test_compaction_interrupt_and_api_error_are_events(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        record("system", "s1", subtype="compact_boundary", content="Conversation compacted"),
        user("u1", "Summary of it all", isCompactSummary=True),
        user("u2", [said("[Request interrupted by user]")]),
        user("u3", [said("[Request interrupted by user]")]),
        {**assistant("a1", said("API Error: 529")), "isApiErrorMessage": True},
        record("system", "s2", subtype="api_error", retryAttempt=1),
    )
    assert [(event.kind, event.ends_turn) for event in events] == [
        ("compaction", False),
        ("interrupt", True),
        ("error", True),
    ]


def test_a_turn_mark_ends_a_turn_that_gave_no_stop_reason(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        user("u1", "go"),
        assistant("a1", said("done"), stop_reason=None),
        record("system", "s1", subtype="turn_duration", durationMs=5),
        record("system", "s2", subtype="stop_hook_summary"),
    )
    assert [(event.kind, event.role, event.ends_turn) for event in events[1:]] == [
        ("text", "assistant", False),
        ("text", "system", True),
    ]


def test_pictures_are_described_not_kept(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 100}
    (event,) = read(tmp_path, user("u1", [{"type": "image", "source": source}]))
    assert event.kind == "prompt"
    assert event.text.startswith("[image image/png 300 bytes sha256:")


def test_a_long_result_keeps_head_and_tail(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(20000))
    _, event = read(
        tmp_path, assistant("a1", call("t1", "cat log")), user("u1", [result("t1", lines)])
    )
    assert len(event.text) < 17000
    assert event.text.startswith("line 0\n")
    assert event.text.endswith("line 19999")
    assert "characters left out" in event.text


def test_edits_name_their_files(tmp_path: Path) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/w/a.py"}}
    edit, done = read(tmp_path, assistant("a1", block), user("u1", [result("t1", "ok")]))
    assert edit.tool is not None
    assert (edit.tool.category, edit.files, done.files) == ("edit", ("/w/a.py",), ("/w/a.py",))


def test_odd_records_are_counted_or_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    records: list[Any] = [
        user("u1", "hello"),
        {"type": "brand-new", "sessionId": SESSION},
        {"type": "user", "message": None},
        {"type": "assistant", "message": {"content": [None, 7, {"type": "text", "text": 3}]}},
        {"type": "user", "timestamp": {}, "message": {"content": 5}, "sessionId": 9},
        ["not", "an", "object"],
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    (batch,) = read_transcript(path)
    assert [event.text for event in batch.events] == ["hello"]
    assert batch.unknown["brand-new"] == 1
    assert [(skip.line, skip.reason) for skip in batch.skipped] == [(6, "not a JSON object")]


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    high = json.dumps(user("u1", "EMOJI")).replace("EMOJI", "a\\ud83d b \\\\ud83d")
    pair = json.dumps(user("u2", "EMOJI")).replace("EMOJI", "\\ud83d\\ude00 \\uDC00")
    broken = json.dumps(user("u3", "EMOJI")).replace("EMOJI", "\\uD83Eade9 \\n end")
    assert [event.text for event in read(tmp_path, high, pair, broken)] == [
        "a\ufffd b \\ud83d",
        "\U0001f600 \ufffd",
        "\ufffdade9 \n end",
    ]


def test_records_without_ids_get_stable_ones(tmp_path: Path) -> None:
    bare = {"type": "user", "timestamp": "2024-01-01T10:00:00Z", "message": {"content": "hi"}}
    first = read(tmp_path, bare)
    again = read(tmp_path, bare)
    assert first == again
    assert first[0].id.startswith("claude-code:")
    assert first[0].session_id.startswith("x-")


def test_an_export_document_is_read_like_its_records(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    records = [user("u1", "go"), assistant("a1", said("done"), stop_reason="end_turn")]
    path.write_text(json.dumps({"loglines": records}, indent=2), encoding="utf-8")
    (batch,) = read_transcript(path)
    assert batch.source == "claude-code-export"
    assert [event.id for event in batch.events] == ["claude-code:u1:0", "claude-code:a1:0"]
    assert [event.text for event in batch.events] == ["go", "done"]


def test_records_that_name_no_session_belong_to_the_one_named_before_them(tmp_path: Path) -> None:
    start = {"type": "session_start", "sessionId": "S7", "cwd": "/w/app"}
    said = {"type": "user", "message": {"content": "read the file"}}
    (event,) = read(tmp_path, start, said)
    assert (event.session_id, event.cwd) == ("S7", "/w/app")
