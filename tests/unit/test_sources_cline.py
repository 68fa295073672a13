"""Tasks of Cline, Roo Code and Kilo Code come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from hindsight_daemon.sources.cline import KILO, ROO, SOURCE, STORE
from tests.support.transcripts import document, events_of, story, tally, texts


def test_a_classic_task_tells_its_story() -> None:
    assert story("cline") == [
        "prompt Add a health check",
        "text I will run the tests.",
        "tool_call replace_in_file app.js",
        "tool_call execute_command npm test",
        "tool_result execute_command npm test",
        "prompt 也加一个测试",
        "tool_call execute_command rm -rf dist",
        "tool_result execute_command rm -rf dist denied failed",
        "prompt no, keep dist",
        "interrupt user_cancelled (end)",
        "error app.js",
        "text Health check added. (end)",
    ]


def test_a_task_of_roo_code_tells_its_story() -> None:
    assert story("roo-code") == [
        "prompt Set up CI",
        "compaction began (synthetic)",
        "error overloaded (end)",
        "interrupt the task was interrupted (end)",
    ]


def test_a_task_of_kilo_code_tells_its_story() -> None:
    assert story("kilo-code") == [
        "prompt Limit the rate",
        "text Done. (end)",
    ]


def test_a_session_of_the_store_tells_its_story() -> None:
    assert story("cline-store") == [
        "compaction <SYSTEM_NOTICE>\nEarlier context was compacted.\n</SYSTEM_NOTICE> (synthetic)",
        "prompt summarise\n[file /work/README.md]",
        "reasoning read",
        "tool_call execute_command cat README.md",
        "tool_result execute_command cat README.md →1",
        "text 没有这个文件 (end)",
    ]


def test_the_output_of_a_command_grows_by_portions(tmp_path: Path) -> None:
    path = document(
        tmp_path / "tasks" / "1" / "ui_messages.json",
        [
            {"ts": 1740470400000, "type": "say", "say": "text", "text": "go"},
            {"ts": 1740470401000, "type": "ask", "ask": "command", "text": "make"},
            {"ts": 1740470402000, "type": "say", "say": "command_output", "text": "one"},
            {"ts": 1740470403000, "type": "say", "say": "command_output", "text": "two"},
        ],
    )
    assert texts(events_of(path), "tool_result") == ["one\ntwo"]


def test_what_is_sent_to_the_model_is_read_only_where_nothing_else_tells_it(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "<task>\nadd a check\n</task>\n<environment_details>\n"
         "# Current Working Directory (/work/shop) Files\n</environment_details>"},
        {"role": "assistant", "content": "Run it.\n<execute_command>\n<command>npm test</command>\n"
         "</execute_command>"},
        {"role": "user", "content": "[execute_command for 'npm test'] Result:\n3 passing"},
        {"role": "assistant", "content": "<attempt_completion>\n<result>Added.</result>\n"
         "</attempt_completion>"},
    ]  # fmt: skip
    name = "api_conversation_history.json"
    events = events_of(document(tmp_path / "cline" / name, history))
    assert [event.kind for event in events if event.kind != "text"] == [
        "prompt",
        "tool_call",
        "tool_result",
    ]
    assert events[0].text == "add a check"
    assert {event.cwd for event in events} == {"/work/shop"}
    assert texts(events, "text")[-1] == "Added."
    assert events_of(document(tmp_path / "cline" / "tasks" / "1" / name, history)) == []


def test_each_agent_has_its_own_folders(tmp_path: Path) -> None:
    roots = [str(root) for one in (SOURCE, ROO, KILO) for root in one.roots({}, tmp_path)]
    for extension in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code"):
        assert any(f"/globalStorage/{extension}/tasks" in root for root in roots)
    assert STORE.roots({"CLINE_DATA_DIR": "/d"}, tmp_path)[0] == Path("/d/sessions")
    assert STORE.roots({"CLINE_DIR": "/c"}, tmp_path)[0] == Path("/c/data/sessions")


def test_public_tasks_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts"
    for name in ("cline", "roo-code", "kilo-code"):
        for path in sorted((folder / name).glob("*ui_messages.json")):
            messages = json.loads(path.read_text(encoding="utf-8"))
            counts = tally(path.parent)["ui_messages.json"]
            feedback = sum(message.get("say") == "user_feedback" for message in messages)
            assert (counts["human"], counts["timeless"]) == (1 + feedback, 0)
            last = events_of(path)[-1]
            assert (last.ends_turn, last.agent) == (True, name)
            assert last.text == messages[-1]["text"]


def test_public_sessions_of_the_store_hold_what_is_in_them(shared: Path) -> None:
    found = tally(shared / "transcripts" / "cline")
    success = found["success.messages.json"]
    assert (success["human"], success["tool_call"], success["tool_result"]) == (1, 1, 1)
    basic = found["basic.compaction.json"]
    assert (basic["human"], basic["compaction"], basic["text"]) == (5, 4, 5)
    agentic = found["agentic.compaction.json"]
    assert (agentic["human"], agentic["compaction"], agentic["text"]) == (1, 1, 1)
