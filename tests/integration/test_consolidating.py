"""Consolidation from transcripts to general lessons, through daemon and command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_cli.app import run
from hindsight_daemon.client import Client
from tests.support.claude_lines import ClaudeSession
from tests.support.harness import running_daemon, wait_until


def fixed(number: int, table: str) -> ClaudeSession:
    """Return a session in which the same trouble is met with another table."""
    test = f"pytest tests/test_{table}.py -x"
    return (
        ClaudeSession(
            f"5e551000-0000-4000-8000-{number:012d}",
            start=datetime(2026, 8, number, 9, 0, tzinfo=UTC),
        )
        .prompt(f"The {table} test hangs, please fix it")
        .runs(test, f"E   TimeoutError: lock wait timeout on table {table}\n1 failed", exit_code=1)
        .says(
            "The test hangs because the fixture leaves a second connection open, "
            "and that connection still holds the table lock."
        )
        .edits(f"tests/{table}/conftest.py", "    yield engine\n", "    engine.dispose()\n")
        .runs(test, "1 passed in 0.84s")
        .says(
            "Fixed: the fixture now disposes of its engine, so no idle connection holds the lock."
        )
        .prompt("perfect, thanks")
    )


def read(client: Client, folder: Path, *, final: bool = True) -> None:
    for number, table in enumerate(("invoices", "payments", "refunds"), 1):
        session = fixed(number, table)
        (folder / f"{session.session_id}.jsonl").write_text(session.text(), encoding="utf-8")
    client.ingest((str(folder),), source="claude-code", final=final)


def test_a_lesson_of_three_sessions_is_found_as_one_with_its_supports(tmp_path: Path) -> None:
    with running_daemon() as client:
        read(client, tmp_path)
        result = client.consolidate(wait=True)
        assert (result.state, result.generalised) == ("done", 1)
        (step,) = (step for step in result.steps if step.action == "generalise")
        memory = client.show(step.memory).memory
        assert memory["support_count"] == 3
        for table in ("invoices", "payments", "refunds"):
            assert table in memory["text"]
        found = client.recall("lock wait timeout, the test hangs", all_projects=True).memories
        assert step.memory in [one.id for one in found]
        steps = client.why(step.memory).steps
        assert {one.transcript.rpartition("/")[2] for one in steps if one.transcript} == {
            path.name for path in tmp_path.iterdir()
        }


def test_the_command_tells_in_one_line_and_plans_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_daemon() as client:
        read(client, tmp_path)
        assert run(["consolidate", "--dry-run"]) == 0
        plan = capsys.readouterr().out
        assert "1 generalised" in plan and "3 episodes" in plan
        assert run(["consolidate", "--wait"]) == 0
        (line,) = capsys.readouterr().out.splitlines()
        assert line == "consolidated 0 sessions into 0 episodes, 1 generalised, 0 updated"
        assert run(["consolidate", "--wait", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["schema"] == "hindsight.consolidate/1" and document["state"] == "done"


def test_a_full_working_memory_is_consolidated_while_the_session_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "set", "working.capacity", "16"]) == 0
    capsys.readouterr()
    start = datetime.now(UTC) - timedelta(minutes=3)
    session = ClaudeSession("5e551000-0000-4000-8000-0000000000d1", start=start)
    session.prompt("Split the settings module, please. Remember: keep the old names importable")
    for number in range(16):
        session.edits(f"src/settings/part{number}.py", "a", "b")
    session.runs("pytest -q", "E   ImportError: cannot import name LEGACY\n1 failed", exit_code=1)
    with running_daemon() as client:
        file = tmp_path / f"{session.session_id}.jsonl"
        file.write_text(session.text(), encoding="utf-8")
        client.ingest((str(file),), final=False)
        wait_until(lambda: client.stats().episodes == 1, "what was done so far is an episode")

        def state() -> object:
            return next(iter(client.working(all_projects=True).sessions), None)

        live = wait_until(state, "the session is live again")
        assert live.goal.startswith("Split the settings module")
        assert len(live.open_failures) == 1 and len(live.notes) == 1 and live.steps == []
