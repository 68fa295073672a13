"""Nothing that a transcript contains may raise, whatever agents write into it."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.sources.registry import SOURCES

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)

_BLOCKS = [
    {"type": "text", "text": "hi"},
    {"type": "thinking", "thinking": "hm"},
    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": ["bash", "-c", "x"]}},
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "ok"}]},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
]
_RESULT = {"stdout": "", "interrupted": True, "filePath": "/a", "exitCode": 1}
_ENDED = {"call_id": "c1", "exit_code": 1, "command": ["ls"], "changes": {"a": {}}, "success": True}


def _claude(kind: str, **fields: Any) -> dict[str, Any]:
    shared = {"uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "agentId": "a"}
    return {"type": kind, "isSidechain": True, **shared, **fields}


def _codex(kind: str, inner: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": {"type": inner, **fields}}


RECORDS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        _claude("user", message={"role": "user", "content": _BLOCKS}, toolUseResult=_RESULT),
        _claude("assistant", message={"id": "m", "model": "x", "content": _BLOCKS}),
        _claude("assistant", isApiErrorMessage=True, message={"content": "API Error"}),
        _claude("system", subtype="error", error={"message": "x"}),
        _claude("attachment", attachment={"type": "queued_command", "prompt": "go", "origin": {}}),
        _claude("attachment", attachment={"type": "goal_status", "met": True, "reason": "r"}),
        _claude("attachment", attachment={"type": "hook_blocking_error", "blockingError": {}}),
        _claude("queue-operation", content="<task-notification><tool-use-id>t1</tool-use-id>"),
        _claude("tool_result", name="Bash", output="x"),
    ],
    "codex": [
        _codex("session_meta", "", id="s", cwd="/w", git={"branch": "b"}, source={"subagent": {}}),
        _codex("turn_context", "", turn_id="t", cwd="/w", model="m"),
        _codex("response_item", "message", role="user", content=[{"text": "hi"}]),
        _codex("response_item", "reasoning", summary=[{"text": "hm"}]),
        _codex("response_item", "function_call", name="shell", call_id="c1", arguments="{}"),
        _codex("response_item", "function_call", name="write_stdin", call_id="c2", arguments="{}"),
        _codex("response_item", "function_call_output", call_id="c1", output={"content": [1]}),
        _codex("response_item", "local_shell_call", call_id="c3", action={"command": ["ls"]}),
        _codex("response_item", "web_search_call", action={"query": "q"}),
        _codex("event_msg", "user_message", message="hi"),
        _codex("event_msg", "exec_command_end", **_ENDED),
        _codex("event_msg", "patch_apply_end", **_ENDED),
        _codex("event_msg", "mcp_tool_call_end", call_id="c4", invocation={}, result={"Ok": {}}),
        _codex("event_msg", "item_completed", item={"type": "CommandExecution", **_ENDED}),
        _codex("event_msg", "item_completed", item={"type": "UserMessage", "content": []}),
        _codex("event_msg", "task_complete", last_agent_message="x", error={"message": "e"}),
        _codex("event_msg", "thread_rolled_back", num_turns=1),
        _codex("compacted", "", message="x"),
    ],
    "generic": [
        {"id": "1", "session": "s", "ts": 1, "role": "user", "speaker": "x", "text": "t"},
        {"role": "assistant", "tool": {"name": "bash", "input": "ls", "exit_code": 1}},
        {"role": "tool", "tool": "bash", "content": [{"text": "x"}]},
    ],
    "chat-lines": [
        {"role": "user", "content": _BLOCKS},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"messages": [{"role": "user", "content": "x"}]},
        {"mapping": {"a": {"message": {"author": {"role": "user"}}}}, "current_node": "a"},
    ],
}
RECORDS["claude-code-export"] = [{"loglines": RECORDS["claude-code"]}]
RECORDS["chat"] = [{"messages": RECORDS["chat-lines"]}]


def _spoil(value: Any, path: list[int], junk: Any) -> Any:
    """Replace the value that `path` leads to; every step picks a child by number."""
    if not path or not isinstance(value, dict | list) or not value:
        return junk
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    chosen = keys[path[0] % len(keys)]
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[chosen] = _spoil(value[chosen], path[1:], junk)
    return copied


@pytest.mark.parametrize("name", sorted(RECORDS))
@given(data=st.data())
def test_spoiled_records_are_read_without_failing(name: str, data: st.DataObject) -> None:
    records: list[Any] = []
    for record in data.draw(st.lists(st.sampled_from(RECORDS[name]), min_size=1, max_size=6)):
        path = data.draw(st.lists(st.integers(0, 9), max_size=5))
        records.append(_spoil(record, path, data.draw(JUNK)) if path else record)
    if name in ("chat", "claude-code-export"):
        records = records[:1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.jsonl")
        file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        try:
            batches = list(read_transcript(file, source_name=name))
        except HindsightError:
            return
        for event in (event for batch in batches for event in batch.events):
            assert event.id.split(":")[0]
            assert event.session_id
            event.text.encode("utf-8")


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_or_refused_politely(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.jsonl")
        file.write_bytes(data)
        for source in SOURCES:
            with contextlib.suppress(HindsightError):
                for batch in read_transcript(file, source_name=source.name):
                    assert batch.checkpoint.offset <= len(data)
