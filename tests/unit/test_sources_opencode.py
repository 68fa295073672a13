"""OpenCode's sessions come out of its database as the story they tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.ingest.file_stamp import stamp_of
from tests.support.databases import START_MS, Follower, OpenCodeWriter
from tests.support.transcripts import events_of, told


@pytest.fixture
def writer(tmp_path: Path) -> OpenCodeWriter:
    made = OpenCodeWriter(tmp_path / "opencode.db")
    made.session("ses_1")
    return made


def bash(command: str, output: str, **metadata: object) -> dict[str, object]:
    return {
        "type": "tool",
        "callID": f"call {command}",
        "tool": "bash",
        "state": {
            "status": "completed",
            "input": {"command": command},
            "output": output,
            "metadata": metadata,
            "time": {"start": START_MS, "end": START_MS + 3000},
        },
    }


def story(writer: OpenCodeWriter) -> list[str]:
    return [told(event) for event in events_of(writer.path)]


def test_a_session_tells_its_story(writer: OpenCodeWriter) -> None:
    writer.prompt("ses_1", "msg_1", "修复舍入错误")
    writer.message("ses_1", "msg_2", "assistant", modelID="m-1", path={"cwd": "/work/shop/tax"})
    writer.part("ses_1", "msg_2", "prt_21", type="step-start", snapshot="abc")
    writer.part("ses_1", "msg_2", "prt_22", type="reasoning", text="Look first.", time={"end": 1})
    writer.part("ses_1", "msg_2", "prt_23", **bash("pytest -q", "1 failed\n", exit=1))
    writer.part("ses_1", "msg_2", "prt_24", type="text", text="now fixed", synthetic=True)
    writer.part("ses_1", "msg_2", "prt_25", type="step-finish", reason="tool-calls")
    writer.answer("ses_1", "msg_3", "Rounded half-even.")
    assert story(writer) == [
        "prompt 修复舍入错误",
        "reasoning Look first.",
        "tool_call bash pytest -q",
        "tool_result bash pytest -q →1",
        "text Rounded half-even.",
        "text (synthetic) (end)",
    ]
    call = events_of(writer.path)[2]
    assert (call.cwd, call.model) == ("/work/shop/tax", "m-1")
    assert call.ts is not None and call.ts.timestamp() == START_MS / 1000


@pytest.mark.parametrize(
    ("state", "tool", "expected"),
    [
        ({"status": "error", "error": "The user rejected permission"}, "edit", "denied"),
        ({"status": "completed", "output": "no such tool"}, "invalid", "invalid"),
        ({"status": "completed", "output": "", "metadata": {"timeout": 1}}, "bash", "timeout"),
    ],
)
def test_results_say_how_a_call_ended(
    writer: OpenCodeWriter, state: dict[str, object], tool: str, expected: str
) -> None:
    writer.message("ses_1", "msg_2", "assistant")
    writer.part("ses_1", "msg_2", "prt_1", type="tool", callID="c", tool=tool, state=state)
    result = events_of(writer.path)[1].tool
    assert result is not None and (result.status, result.is_error) == (expected, True)


def test_an_interrupt_ends_the_turn_and_an_error_says_what_it_was(writer: OpenCodeWriter) -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    refused = {"name": "ProviderAuthError", "data": {"message": "no key"}}
    writer.message("ses_1", "msg_1", "assistant", error=aborted)
    writer.message("ses_1", "msg_2", "assistant", error=refused)
    assert story(writer) == [
        "interrupt The operation was aborted. (end)",
        "error no key (end)",
    ]


def test_what_is_still_written_is_left_until_it_is_done(writer: OpenCodeWriter) -> None:
    follower = Follower(writer.path)
    writer.prompt("ses_1", "msg_1", "Run the tests")
    running = {"status": "running", "input": {"command": "make"}, "time": {"start": START_MS}}
    tool = {"type": "tool", "callID": "c", "tool": "bash"}
    writer.message("ses_1", "msg_2", "assistant")
    writer.part("ses_1", "msg_2", "prt_1", type="text", text="I wi", time={"start": 1})
    writer.part("ses_1", "msg_2", "prt_2", **tool, state={"status": "pending", "input": {}})
    assert [told(event) for event in follower.read()] == ["prompt Run the tests"]
    writer.part("ses_1", "msg_2", "prt_1", type="text", text="I will", time={"start": 1, "end": 2})
    writer.part("ses_1", "msg_2", "prt_2", **tool, state=running)
    assert [told(event) for event in follower.read()] == ["text I will", "tool_call bash make"]
    done = {**running, "status": "completed", "output": "ok", "metadata": {"exit": 0}}
    writer.part("ses_1", "msg_2", "prt_2", **tool, state=done)
    assert [told(event) for event in follower.read()] == ["tool_result bash make →0"]
    assert [event.seq for event in follower.events.values()] == sorted(
        event.seq for event in follower.events.values()
    )


def test_calls_side_by_side_keep_their_order_whichever_ends_first(writer: OpenCodeWriter) -> None:
    writer.message("ses_1", "msg_2", "assistant")
    follower = Follower(writer.path)
    for name in ("a", "b"):
        state = {"status": "running", "input": {"command": name}}
        writer.part(
            "ses_1", "msg_2", f"prt_{name}", type="tool", callID=name, tool="bash", state=state
        )
    follower.read()
    for name in ("b", "a"):
        state = {"status": "completed", "input": {"command": name}, "output": name}
        writer.part(
            "ses_1", "msg_2", f"prt_{name}", type="tool", callID=name, tool="bash", state=state
        )
        follower.read()
    ordered = sorted(follower.events.values(), key=lambda event: event.seq)
    assert [told(event) for event in ordered] == [
        "tool_call bash a",
        "tool_result bash a",
        "tool_call bash b",
        "tool_result bash b",
    ]


def test_a_crash_in_an_answer_leaves_what_was_written_to_the_last_reading(
    writer: OpenCodeWriter,
) -> None:
    writer.message("ses_1", "msg_2", "assistant")
    writer.part("ses_1", "msg_2", "prt_1", type="text", text="Half a sen", time={"start": 1})
    follower = Follower(writer.path)
    assert follower.read() == []
    assert follower.checkpoint is not None
    assert follower.checkpoint.mtime_ns != stamp_of(writer.path).mtime_ns
    follower.final = True
    assert [event.text for event in follower.read()] == ["Half a sen", ""]
    assert follower.read() == []
    assert follower.checkpoint.mtime_ns == stamp_of(writer.path).mtime_ns


def test_a_subagent_has_its_caller_and_what_was_reverted_is_left_out(
    writer: OpenCodeWriter,
) -> None:
    writer.session("ses_2", parent_id="ses_1", revert='{"messageID": "msg_b"}')
    writer.prompt("ses_2", "msg_a", "Search the logs")
    writer.prompt("ses_2", "msg_b", "Never mind")
    (event,) = events_of(writer.path)
    assert told(event) == "prompt Search the logs (sidechain)"
    assert event.parent_session_id == "ses_1"


def test_compaction_summaries_are_no_answers(writer: OpenCodeWriter) -> None:
    writer.message("ses_1", "msg_1", "user")
    writer.part("ses_1", "msg_1", "prt_1", type="compaction", auto=True)
    writer.message("ses_1", "msg_2", "assistant", summary=True, finish="stop")
    writer.part("ses_1", "msg_2", "prt_2", type="text", text="So far: two bugs", time={"end": 1})
    assert story(writer)[:2] == [
        "compaction (synthetic)",
        "compaction So far: two bugs (synthetic)",
    ]


def test_unknown_parts_are_counted(writer: OpenCodeWriter) -> None:
    writer.message("ses_1", "msg_2", "assistant")
    writer.part("ses_1", "msg_2", "prt_1", type="hologram")
    (batch,) = Follower(writer.path, final=True).batches()
    assert batch.unknown == {"part hologram": 1}
