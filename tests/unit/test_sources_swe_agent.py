"""Trajectories of SWE-agent and mini-SWE-agent come out as the story they tell."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.transcripts import document as as_document
from tests.support.transcripts import events_of, fixture, story, tally, told


def test_a_trajectory_tells_its_story() -> None:
    assert story("swe-agent") == [
        "prompt Fix the tax",
        "text Look first.",
        "tool_call open_file /repo/src/tax.py",
        "tool_result open_file /repo/src/tax.py",
        "text Fix.",
        "tool_call edit /repo/src/tax.py",
        "tool_result edit /repo/src/tax.py",
        "text Test.",
        "tool_call bash python -m pytest",
        "tool_result bash python -m pytest",
        "text exit status: submitted (synthetic) (end)",
    ]


def test_a_trajectory_of_the_small_agent_tells_its_story() -> None:
    assert story("mini-swe-agent") == [
        "prompt Fix the tax",
        "text Test first.\n\n```mswea_bash_command\npytest -q\n```",
        "tool_call bash pytest -q",
        "tool_result bash pytest -q →1",
        "text I forgot the block. (end)",
        "prompt Exactly one action, please. (synthetic)",
        "text ```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff\n```",
        "tool_call bash echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff",
        "tool_result bash echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff →0",
        "error exit status: LimitsExceeded (end)",
    ]


def test_steps_are_rebuilt_from_messages_where_only_these_are_kept(tmp_path: Path) -> None:
    whole = json.loads(fixture("swe-agent").read_text(encoding="utf-8"))
    history = whole["history"]
    for step in whole["trajectory"]:
        answer = {"role": "assistant", "content": step["response"], "agent": "main"}
        history.append({**answer, "thought": step["thought"], "action": step["action"]})
        history.append({"role": "user", "content": step["observation"], "agent": "main"})
    path = as_document(
        tmp_path / "i.traj", {"history": history, "info": {"exit_status": "exit_cost"}}
    )
    events = events_of(path)
    assert [event.kind for event in events].count("tool_result") == 3
    assert told(events[-1]) == "error exit status: exit_cost (end)"


def test_public_trajectories_hold_what_is_in_them(shared: Path) -> None:
    folder = shared / "transcripts" / "swe-agent"
    assert len(tally(folder)) >= 10
    for path in sorted(folder.iterdir()):
        document = json.loads(path.read_text(encoding="utf-8"))
        events = events_of(path)
        steps = [step["action"].strip() for step in document["trajectory"]]
        kinds = [event.kind for event in events]
        assert (kinds.count("tool_call"), kinds.count("tool_result")) == (len(steps), len(steps))
        assert kinds.count("prompt") == 1
        assert not events[0].text.startswith("Here is a demonstration")
        assert told(events[-1]) == "text exit status: submitted (synthetic) (end)"
        assert len({event.session_id for event in events}) == 1


def test_public_trajectories_of_the_small_agent_hold_what_is_in_them(shared: Path) -> None:
    found = tally(shared / "transcripts" / "mini-swe-agent")
    issue = found["github_issue.traj.json"]
    assert (issue["human"], issue["tool_call"], issue["tool_result"], issue["failed"]) == (
        1,
        10,
        10,
        2,
    )
    local = found["local.traj.json"]
    assert (local["human"], local["tool_call"], local["tool_result"], local["failed"]) == (
        1,
        2,
        2,
        0,
    )
