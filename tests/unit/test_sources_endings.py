"""How each agent says that a turn is over, was stopped or failed; see `docs/transcripts.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.engine.ending import end_after
from tests.support.transcripts import document, events_of, lines

AT = "2026-08-01T09:00:00.000Z"


def _claude(kind: str, uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    shared = {"type": kind, "uuid": uuid, "sessionId": "S", "timestamp": AT}
    return {**shared, "message": message, **fields}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


CLAUDE = [_claude("user", "u1", "go")]
CLAUDE_CALL = _claude("assistant", "a1", [{"type": "tool_use", "id": "t", "name": "Bash",
                                           "input": {"command": "ls"}}])  # fmt: skip


def _codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


CODEX = [
    _codex("session_meta", id="S", cwd="/w"),
    _codex("event_msg", type="task_started", turn_id="t1"),
    _codex("event_msg", type="user_message", message="go"),
]
GEMINI = [
    {"sessionId": "g", "projectHash": "x", "startTime": AT, "kind": "main"},
    {"id": "m1", "timestamp": AT, "type": "user", "content": "go"},
]
GEMINI_SAID = {"id": "m2", "timestamp": AT, "type": "gemini", "content": "Done."}
COPILOT = [
    {"type": "session.start", "id": "e1", "timestamp": AT, "data": {"sessionId": "c"}},
    {"type": "user.message", "id": "e2", "timestamp": AT, "data": {"content": "go"}},
]
PI = [
    {"type": "session", "version": 3, "id": "p1", "timestamp": AT, "cwd": "/w"},
    {"type": "message", "id": "aa", "parentId": None, "timestamp": AT,
     "message": {"role": "user", "content": _text("go")}},
]  # fmt: skip
QWEN = [{"uuid": "q1", "sessionId": "Q", "timestamp": AT, "type": "user", "cwd": "/w",
         "message": {"role": "user", "parts": [{"text": "go"}]}}]  # fmt: skip
OPENHANDS = [{"id": "0", "timestamp": AT, "source": "user", "kind": "MessageEvent",
              "llm_message": {"role": "user", "content": _text("go")}}]  # fmt: skip


def _said(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "id": kind, "parentId": "e2", "timestamp": AT, "data": data}


def _pi(**message: Any) -> dict[str, Any]:
    entry = {"type": "message", "id": "bb", "parentId": "aa", "timestamp": AT}
    return {**entry, "message": {"role": "assistant", "content": _text("Done."), **message}}


def _qwen(kind: str, **fields: Any) -> dict[str, Any]:
    return {"uuid": "q2", "sessionId": "Q", "timestamp": AT, "type": kind, "cwd": "/w", **fields}


def _hands(kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": kind, "timestamp": AT, "source": "agent", "kind": kind, **fields}


QWEN_CALL = {"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "ls"}}}

ENDINGS: list[tuple[str, list[dict[str, Any]], str]] = [
    ("claude-code: text with a stop reason",
     [*CLAUDE, _claude("assistant", "a1", _text("Done."), message={"stop_reason": "end_turn"})],
     "ended"),
    ("claude-code: text and the mark of a turn",
     [*CLAUDE, _claude("assistant", "a1", _text("Done.")),
      {**_claude("system", "s1", ""), "subtype": "turn_duration", "durationMs": 5}], "ended"),
    ("claude-code: text alone", [*CLAUDE, _claude("assistant", "a1", _text("Well,"))], ""),
    ("claude-code: an open call", [*CLAUDE, CLAUDE_CALL], ""),
    ("claude-code: interrupted",
     [*CLAUDE, CLAUDE_CALL, _claude("user", "u2", _text("[Request interrupted by user]"))],
     "interrupted"),
    ("claude-code: the API failed",
     [*CLAUDE, {**_claude("assistant", "a1", _text("API Error: 529")),
                "isApiErrorMessage": True}], "failed"),
    ("claude-code: a retry is no end",
     [*CLAUDE, {**_claude("system", "s1", ""), "subtype": "api_error", "retryAttempt": 1}], ""),
    ("claude-code: it goes on after an end",
     [*CLAUDE, _claude("assistant", "a1", _text("Done."), message={"stop_reason": "end_turn"}),
      _claude("user", "u2", "and now the tests")], ""),
    ("codex: task complete",
     [*CODEX, _codex("event_msg", type="task_complete", turn_id="t1", last_agent_message="Ok.")],
     "ended"),
    ("codex: turn complete by its other name",
     [*CODEX, _codex("event_msg", type="turn_complete", turn_id="t1", last_agent_message="Ok.")],
     "ended"),
    ("codex: aborted",
     [*CODEX, _codex("event_msg", type="turn_aborted", turn_id="t1", reason="interrupted")],
     "interrupted"),
    ("codex: running", CODEX, ""),
    ("gemini-cli: text and nothing called", [*GEMINI, GEMINI_SAID], "ended"),
    ("gemini-cli: a call is open",
     [*GEMINI, {**GEMINI_SAID, "toolCalls": [{"id": "t", "name": "run_shell_command",
                                              "args": {"command": "ls"},
                                              "status": "executing"}]}], ""),
    ("gemini-cli: cancelled",
     [*GEMINI, {"id": "m3", "timestamp": AT, "type": "info", "content": "Request cancelled."}],
     "interrupted"),
    ("copilot-cli: idle", [*COPILOT, _said("assistant.message", content="Done."),
                           _said("session.idle")], "ended"),
    ("copilot-cli: end of a turn", [*COPILOT, _said("assistant.message", content="Done."),
                                    _said("assistant.turn_end", turnId="1")], "ended"),
    ("copilot-cli: task complete",
     [*COPILOT, _said("session.task_complete", success=True, summary="Done.")], "ended"),
    ("copilot-cli: shutdown", [*COPILOT, _said("session.shutdown", shutdownType="routine")],
     "ended"),
    ("copilot-cli: aborted", [*COPILOT, _said("abort", reason="user_initiated")], "interrupted"),
    ("copilot-cli: shut down by an error",
     [*COPILOT, _said("session.shutdown", shutdownType="error", errorReason="boom")], "failed"),
    ("pi: stop", [*PI, _pi(stopReason="stop")], "ended"),
    ("pi: aborted", [*PI, _pi(stopReason="aborted", content=[])], "interrupted"),
    ("pi: error", [*PI, _pi(stopReason="error", errorMessage="boom", content=[])], "failed"),
    ("pi: a tool is used",
     [*PI, _pi(stopReason="toolUse", content=[{"type": "toolCall", "id": "t", "name": "bash",
                                               "arguments": {"command": "ls"}}])], ""),
    ("qwen-code: text without a call",
     [*QWEN, _qwen("assistant", message={"role": "model", "parts": [{"text": "Done."}]})],
     "ended"),
    ("qwen-code: a call",
     [*QWEN, _qwen("assistant", message={"role": "model", "parts": [QWEN_CALL]})], ""),
    ("openhands: finish",
     [*OPENHANDS, _hands("ActionEvent", tool_name="finish", tool_call_id="c",
                         action={"kind": "FinishAction", "message": "Done."})], "ended"),
    ("openhands: paused", [*OPENHANDS, _hands("PauseEvent")], "interrupted"),
    ("openhands: stuck",
     [*OPENHANDS, _hands("ConversationStateUpdateEvent", key="execution_status", value="stuck")],
     "failed"),
    ("openhands: finished by its state",
     [*OPENHANDS, _hands("MessageEvent", llm_message={"role": "assistant",
                                                      "content": _text("Done.")}),
      _hands("ConversationStateUpdateEvent", key="execution_status", value="finished")], "ended"),
]  # fmt: skip


@pytest.mark.parametrize(("records", "end"), [one[1:] for one in ENDINGS],
                         ids=[one[0] for one in ENDINGS])  # fmt: skip
def test_the_end_of_a_turn_is_what_the_agent_says(
    tmp_path: Path, records: list[dict[str, Any]], end: str
) -> None:
    assert end_after("", events_of(lines(tmp_path / "x.jsonl", *records))) == end


TASK = {"ts": 1740470400000, "type": "say", "say": "text", "text": "Add a health check"}


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ({"type": "ask", "ask": "completion_result", "text": ""}, "ended"),
        ({"type": "say", "say": "completion_result", "text": "Added."}, "ended"),
        ({"type": "ask", "ask": "resume_task"}, "interrupted"),
        ({"type": "ask", "ask": "api_req_failed", "text": "529"}, "failed"),
        ({"type": "ask", "ask": "mistake_limit_reached", "text": "too many"}, "failed"),
        ({"type": "ask", "ask": "command", "text": "npm test"}, ""),
    ],
)
def test_a_task_of_clines_ends_with_what_it_asks(
    tmp_path: Path, last: dict[str, Any], end: str
) -> None:
    path = document(tmp_path / "tasks/1/ui_messages.json", [TASK, {"ts": 1740470405000, **last}])
    assert end_after("", events_of(path)) == end


@pytest.mark.parametrize(
    ("status", "end"),
    [("submitted", "ended"), ("exit_cost", "failed"), ("exit_format", "failed"), (None, "")],
)
def test_a_trajectory_of_swe_agent_ends_with_its_exit_status(
    tmp_path: Path, status: str | None, end: str
) -> None:
    step = {"response": "r", "thought": "look", "action": "ls", "observation": "a.py", "state": {}}
    history = [{"role": "user", "content": "fix it", "agent": "main"}]
    run = {"trajectory": [step], "history": history, "info": {"exit_status": status}}
    path = document(tmp_path / "i.traj", run)
    assert end_after("", events_of(path)) == end
