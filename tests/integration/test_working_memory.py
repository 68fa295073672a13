"""Working memory through the daemon: live, apart from recall, gone when the task is over."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_cli.app import run
from hindsight_daemon.client import Client
from hindsight_daemon.errors import NotFound
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.protocol.upkeep_documents import WorkingSession
from tests.support.claude_lines import ClaudeSession
from tests.support.harness import kill_hard, running_daemon

SESSION = "5e551000-0000-4000-8000-0000000000c1"


def at_work(*, ago: timedelta = timedelta(minutes=1)) -> ClaudeSession:
    return (
        ClaudeSession(SESSION, start=datetime.now(UTC) - ago)
        .prompt("The migration test hangs, please fix it. Remember: never drop the invoices table")
        .runs(
            "pytest tests/test_migrations.py -x",
            "E   TimeoutError: lock wait timeout on table invoices\n1 failed in 61.02s",
            exit_code=1,
        )
        .edits("tests/conftest.py", "    yield engine\n", "    engine.dispose()\n")
    )


def read(client: Client, folder: Path, session: ClaudeSession, *, final: bool = False) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{session.session_id}.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    client.ingest((str(file),), final=final)


def live(client: Client) -> list[WorkingSession]:
    return client.working(all_projects=True).sessions


def test_a_running_session_is_live_and_not_yet_a_memory(tmp_path: Path) -> None:
    with running_daemon() as client:
        read(client, tmp_path, at_work())
        (state,) = live(client)
        assert state.goal.startswith("The migration test hangs")
        assert [entry.text for entry in state.notes] == ["Never drop the invoices table."]
        assert "lock wait timeout" in state.open_failures[0].text
        assert state.importance != "low" and state.assessments == 1
        distilled = client.recall("lock wait timeout on invoices", all_projects=True)
        assert [memory.kind for memory in distilled.memories if memory.kind != "turn"] == []
        assert client.stats().memories["layer"].get("working", 0) == 0


def test_a_finished_task_leaves_working_memory_for_the_episodic_one(tmp_path: Path) -> None:
    with running_daemon() as client:
        session = at_work()
        read(client, tmp_path, session)
        session.runs("pytest tests/test_migrations.py -x", "1 passed in 0.84s")
        session.says("Fixed: the fixture now disposes of its engine, so nothing holds the lock.")
        read(client, tmp_path, session, final=True)
        assert live(client) == []
        with pytest.raises(NotFound):
            client.working(SESSION[:8])
        found = client.recall("migration test lock timeout", all_projects=True).memories
        assert {memory.kind for memory in found} & {"solution", "episode"}


def test_live_state_survives_a_killed_daemon(tmp_path: Path) -> None:
    session = at_work()
    with running_daemon() as client:
        read(client, tmp_path, session)
        before = live(client)
        kill_hard(resolve_paths())
    with running_daemon() as client:
        assert live(client) == before
        session.runs("pytest tests/test_migrations.py -x", "1 passed in 0.84s")
        read(client, tmp_path, session)
        (state,) = live(client)
        assert state.open_failures == [] and len(state.steps) == 3


def test_old_sessions_have_no_live_state(tmp_path: Path) -> None:
    with running_daemon() as client:
        read(client, tmp_path, at_work(ago=timedelta(hours=30)))
        assert live(client) == []


def test_the_time_to_live_is_at_most_three_days(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "set", "working.ttl_s", "259200"]) == 0
    assert run(["config", "set", "working.ttl_s", "259201"]) == 2
    capsys.readouterr()


def test_the_command_shows_the_session_for_reading_and_as_a_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_daemon() as client:
        read(client, tmp_path, at_work())
        assert run(["working", SESSION[:8]]) == 0
        shown = capsys.readouterr().out
        for part in (
            "keep in mind",
            "open failures",
            "lock wait timeout",
            "edit tests/conftest.py",
        ):
            assert part in shown
        assert run(["working", "--all-projects", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["schema"] == "hindsight.working/1"
        assert document["sessions"][0]["session_id"] == SESSION
        assert run(["working", "no-such-session"]) == 66
