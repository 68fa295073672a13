"""What counts as our own: commands, memory tools, probes and sessions that we run."""

from __future__ import annotations

import pytest

from hindsight_daemon.engine.own_tail import (
    OWN_SESSION_MARK,
    OwnTail,
    is_memory_tool,
    is_own_command,
    is_probe,
    without_memories,
)
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.model import ToolUse
from tests.support.event_builders import Session


@pytest.mark.parametrize(
    "line",
    [
        "hindsight recall 'login'",
        "cd /w && HINDSIGHT_HOME=/x hindsight show 1a2b3c4d | head -5",
        "~/.local/bin/hindsight why 1a2b3c4d",
        "python -m hindsight_cli recall x",
        "uvx hindsight recall x",
        "bash -lc 'hindsight recall x'",
        "echo $(hindsight recall --format context deploy)",
    ],
)
def test_our_own_commands_are_recognised_in_any_dress(line: str) -> None:
    assert is_own_command(line)


@pytest.mark.parametrize(
    "line",
    [
        "cd hindsight && make test",
        "git commit -m 'hindsight: fix a typo'",
        "pytest tests/hindsight",
        "grep -rn hindsight .",
        "ls ~/src/hindsight/",
    ],
)
def test_commands_that_only_mention_the_name_are_not_ours(line: str) -> None:
    assert not is_own_command(line)


def test_servers_named_after_memory_are_memory_tools_and_others_are_not() -> None:
    for name in ("mcp__hindsight__recall", "mcp__memory__search_nodes", "mcp__openmemory__add"):
        assert is_memory_tool(ToolUse(name=name, category="mcp"))
    for name in ("mcp__github__search", "Read", "mcp__docs__memory_limits"):
        assert not is_memory_tool(ToolUse(name=name, category="mcp"))


def test_blocks_of_other_memory_tools_are_cut_and_other_markup_is_not() -> None:
    for tag in ("claude-mem-context", "relevant_memories", "supermemory-context", "user-memories"):
        assert without_memories(f"fix <{tag} n='1'>\nold news\n</{tag}> it") == "fix  it"
    for text in (
        "set <memory unit='KiB'>512</memory> in the domain",
        "what does <hindsight-memories> mean?",
        "the </memories> tag is never opened",
        "a memory of <b>bold</b> hindsight",
    ):
        assert without_memories(text) == text


def test_the_answer_of_our_own_command_is_left_out_and_the_task_goes_on() -> None:
    session = Session().user("Make the build pass again").run("hindsight recall build", "a secret")
    session.run("make", "ok").say("Built.", ends_turn=True)
    taken = OwnTail().take(session.events)
    assert [e.is_synthetic for e in taken] == [False, True, True, False, False, False]
    assert taken[2].text == ""
    (task,) = segment(taken)
    assert [e.tool.command for e in task.events if e.tool] == ["make", "make"]


def test_a_result_that_does_not_repeat_its_command_is_known_by_its_call() -> None:
    tool = ToolUse(name="Bash", category="shell", call_id="c7", command="hindsight list")
    result = ToolUse(name="Bash", category="shell", call_id="c7")
    tail = OwnTail()
    tail.take(Session().add("assistant", "tool_call", tool=tool).events)
    (taken,) = tail.take(Session().add("tool", "tool_result", "a memory", tool=result).events)
    assert (taken.text, taken.is_synthetic) == ("", True)


@pytest.mark.parametrize("text", ["Warmup", "warm up", "/usage", " /cost ", "ping"])
def test_probes_and_their_answers_are_synthetic_until_a_person_asks_something(text: str) -> None:
    assert is_probe(text)
    session = Session().user(text).say("I am ready").user("Add a health check").say("Added")
    tail = OwnTail()
    taken = [event for one in session.events for event in tail.take([one])]
    assert [e.is_synthetic for e in taken] == [True, True, False, False]


def test_questions_that_begin_like_a_probe_are_none() -> None:
    for text in ("ping the gateway and tell me why it hangs", "/review the diff", "warmup fails"):
        assert not is_probe(text)


def test_sessions_that_hindsight_runs_itself_teach_nothing() -> None:
    asked = Session().user(f"{OWN_SESSION_MARK}\nDistil this task").run("ls").say("{}")
    assert all(event.is_synthetic for event in OwnTail().take(asked.events))
    ours = Session(cwd="/home/x/.local/share/hindsight/judge").user("Distil this task")
    folders = ("/home/x/.local/share/hindsight",)
    assert OwnTail().take(ours.events, folders)[0].is_synthetic
    assert (
        not OwnTail()
        .take(Session(cwd="/home/x/hindsight").user("Do it").events, folders)[0]
        .is_synthetic
    )
