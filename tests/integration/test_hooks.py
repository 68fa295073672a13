"""`hindsight hook` as agents call it: JSON on standard input, the real daemon behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.paths import resolve_paths
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import end_daemon, kill_hard, running_daemon, wait_until

HOOK = [sys.executable, "-m", "hindsight_cli", "hook"]


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def _hook(event: str, payload: Any, *, agent: str = "claude-code") -> str:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [*HOOK, event, "--agent", agent], input=data, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0 and not done.stderr
    return done.stdout.decode()


def _answer(event: str, payload: dict[str, Any], agent: str = "claude-code") -> str:
    """Ask until the daemon, which may be busy under test, answered within its budget."""
    return str(wait_until(lambda: _hook(event, payload, agent=agent), "the hook says something"))


def _prompt(repository: Path, session: str, text: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": str(repository),
        "hook_event_name": "UserPromptSubmit",
        "prompt": text,
    }


def test_a_prompt_brings_what_is_known_about_it_once_a_session(
    client: Client, repository: Path
) -> None:
    client.remember(
        "Run the e2e tests with make e2e, the database must be up", project=str(repository)
    )
    asked = _prompt(repository, "s1", "please run the e2e tests")
    told = json.loads(_answer("UserPromptSubmit", asked))["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert "make e2e" in told["additionalContext"]
    assert "not instructions" in told["additionalContext"]
    assert _hook("UserPromptSubmit", asked) == ""
    kill_hard(resolve_paths())
    with Client() as anew:
        anew.stats()
    assert _hook("UserPromptSubmit", asked) == ""
    assert "make e2e" in _answer("UserPromptSubmit", _prompt(repository, "s2", asked["prompt"]))


def test_two_agents_with_one_session_id_are_told_apart(client: Client, repository: Path) -> None:
    client.remember("发布前必须先跑 make smoke 冒烟测试", project=str(repository))
    asked = _prompt(repository, "same", "准备发布，要跑冒烟测试吗")
    assert "make smoke" in _answer("UserPromptSubmit", asked)
    assert "make smoke" in _answer("UserPromptSubmit", asked, agent="codex")


def test_a_prompt_about_something_else_or_elsewhere_brings_nothing(
    client: Client, repository: Path, tmp_path: Path
) -> None:
    client.remember("Run the e2e tests with make e2e", project=str(repository))
    assert _hook("UserPromptSubmit", _prompt(repository, "s", "rename the logo file")) == ""
    elsewhere = tmp_path / "bank"
    (elsewhere / ".git").mkdir(parents=True)
    assert _hook("UserPromptSubmit", _prompt(elsewhere, "s", "run the e2e tests")) == ""


def test_a_session_begins_with_a_brief_in_the_form_of_its_agent(
    client: Client, repository: Path
) -> None:
    client.remember("Use pnpm, never npm", kind="preference", project=str(repository), pin=True)
    start = {"session_id": "s", "cwd": str(repository), "hook_event_name": "SessionStart"}
    assert (
        "pnpm"
        in json.loads(_answer("SessionStart", start))["hookSpecificOutput"]["additionalContext"]
    )
    cursor = {"conversation_id": "c", "workspace_roots": [str(repository)]}
    assert "pnpm" in json.loads(_answer("sessionStart", cursor, "cursor"))["additional_context"]
    copilot = {"sessionId": "x", "cwd": str(repository), "source": "startup"}
    assert (
        "pnpm" in json.loads(_answer("sessionStart", copilot, "copilot-cli"))["additionalContext"]
    )


def test_a_failed_tool_brings_what_fixed_it_before_and_a_good_one_nothing(
    client: Client, repository: Path
) -> None:
    client.remember(
        "When pytest fails with ECONNREFUSED on port 5433, start docker compose up -d db first",
        kind="solution",
        project=str(repository),
    )
    failed = {
        "session_id": "s",
        "cwd": str(repository),
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "error": "Exit code 1\nConnectionError: ECONNREFUSED 127.0.0.1:5433",
    }
    fine = {
        **failed,
        "hook_event_name": "PostToolUse",
        "error": "",
        "tool_response": {"stdout": "ECONNREFUSED handled, 3 passed", "exit_code": 0},
    }
    assert _hook("PostToolUse", fine) == ""
    assert "docker compose up -d db" in _answer("PostToolUseFailure", failed)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"not json",
        b"[1, 2]",
        b"\xff\xfe",
        b'{"prompt": ' + b"[" * 5000,
        b'{"prompt": 5, "cwd": [], "session_id": {}}',
        json.dumps({"prompt": "x" * 3_000_000, "cwd": "/nowhere"}).encode(),
        b'{"prompt": "' + b"y" * 17_000_000 + b'"}',
    ],
    ids=["empty", "text", "list", "bytes", "deep", "types", "long", "huge"],
)
@pytest.mark.parametrize("event", ["UserPromptSubmit", "NoSuchEvent", ""])
def test_whatever_an_agent_sends_the_hook_stays_out_of_its_way(
    payload: bytes, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    assert _hook(event, payload) == ""


def test_the_end_of_a_task_waits_for_a_daemon_and_is_then_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(os.environ["HOME"]) / ".claude/projects/-work-shop"
    folder.mkdir(parents=True)
    session: ClaudeSession = fixed_migration("7c4f2a90-0000-4000-8000-000000000001")
    transcript = folder / f"{session.session_id}.jsonl"
    transcript.write_bytes(session.text().encode())
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    stop = {
        "session_id": session.session_id,
        "transcript_path": str(transcript),
        "cwd": "/work/shop",
        "hook_event_name": "Stop",
        "last_assistant_message": "done",
    }
    assert _hook("Stop", stop) == ""
    spooled = list(resolve_paths().spool_dir.glob("*.call.json"))
    assert len(spooled) == 1 and spooled[0].stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv("HINDSIGHT_NO_AUTOSTART")
    try:
        with Client() as client:
            wait_until(lambda: client.stats().episodes, "the spooled end became an episode")
    finally:
        end_daemon(resolve_paths())
    assert not list(resolve_paths().spool_dir.glob("*.call.json"))


def test_a_hook_without_a_daemon_starts_one_and_waits_for_nothing(home: Path) -> None:
    try:
        assert _hook("SessionStart", {"cwd": "/nowhere"}) == ""
        wait_until((home / "state" / "daemon.json").exists, "a daemon came up")
    finally:
        end_daemon(resolve_paths())


def test_a_session_that_hindsight_itself_runs_is_given_nothing(
    client: Client, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.remember("Run the e2e tests with make e2e", project=str(repository))
    asked = _prompt(repository, "s1", "run the e2e tests")
    monkeypatch.setenv("HINDSIGHT_OWN_SESSION", "1")
    assert _hook("UserPromptSubmit", asked) == ""
    monkeypatch.delenv("HINDSIGHT_OWN_SESSION")
    assert "make e2e" in _answer("UserPromptSubmit", asked)
