"""The judge in a real daemon: settings in a file, work in the background, told at the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_cli.app import run
from hindsight_daemon.client import Client
from hindsight_daemon.paths import resolve_paths
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import end_daemon, kill_hard, running_daemon, wait_until
from tests.support.model_server import ModelServer, Reply, chat, model_server

KEY = "sk-secret-0001"
TEXT = (
    "When `tests/test_migrations.py` hangs, dispose of the engine in `tests/conftest.py`, because "
    "a second connection still holds the table lock."
)
SLOTS: dict[str, Any] = {
    "goal": "fix the hanging migration test",
    "task_type": "debug",
    "outcome": "success",
    "failure_reason": "",
    "lessons": [{"kind": "fact", "text": TEXT, "evidence": ["e3", "e4"], "importance": "high"}],
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(chat(SLOTS)) as server:
        yield server


def configure(text: str) -> None:
    file = resolve_paths().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def with_endpoint(server: ModelServer, tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(KEY, encoding="utf-8")
    key_file.chmod(0o600)
    configure(
        f'[judge]\nprovider = "openai"\nbase_url = "{server.url}/v1"\nmodel = "small-1"\n'
        f'key_file = "{key_file}"\nattempts = 1\n'
    )


def ingested(client: Client, tmp_path: Path, session: ClaudeSession | None = None) -> None:
    session = session or fixed_migration()
    file = tmp_path / f"{session.session_id}.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    assert client.ingest((str(file),)).episodes == 1


def judged(client: Client) -> list[dict[str, Any]]:
    found = client.list(all_projects=True, limit=100).memories
    return [m for m in found if "judge" in m.get("tags", ()) and m["kind"] != "episode"]


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    code = run([*argv, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_an_ingest_does_not_wait_and_the_refined_lesson_is_recalled_later(
    server: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_endpoint(server, tmp_path)
    with running_daemon() as client:
        ingested(client, tmp_path)
        (lesson,) = wait_until(lambda: judged(client), "the judge has refined the task")
        assert lesson["text"] == TEXT and lesson["trust"] == "agent"
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        steps = client.why(lesson["id"]).steps
        assert {step.what for step in steps} >= {"memory", "episode", "transcript"}
        assert TEXT in [m.text for m in client.recall("migration test table lock").memories]
        assert "small-1 at 127.0.0.1" in client.status().judge

        code, stats = document(capsys, "stats", "--cost")
        assert code == 0
        (day,) = stats["cost"]["days"]
        assert (day["purpose"], day["tokens_in"], day["calls"]) == ("distil", 100, 1)
        assert run(["stats", "--cost"]) == 0
        assert "small-1" in capsys.readouterr().out

        code, shown = document(capsys, "judge", "show")
        assert (shown["provider"], shown["is_local"], shown["waiting"]) == ("openai", True, 0)
        assert run(["judge", "show"]) == 0
        assert "stays on this machine" in capsys.readouterr().out

        asked = len(server.asked)
        code, dry = document(capsys, "judge", "try", "--dry-run")
        assert (code, dry["dry_run"], len(server.asked)) == (0, True, asked)
        assert "lock wait timeout" in dry["prompt"]
        code, told = document(capsys, "judge", "try", "5e551000")
        assert told["answer"]["lessons"][0]["text"] == TEXT
        assert run(["judge", "try"]) == 0
        assert "nothing was stored" in capsys.readouterr().out
    log = resolve_paths().log_file.read_text(encoding="utf-8")
    assert KEY not in log and TEXT not in log


def test_a_daemon_that_is_killed_in_the_middle_asks_again_and_stores_once(
    server: ModelServer, tmp_path: Path
) -> None:
    with_endpoint(server, tmp_path)
    server.will(Reply(never=True))
    paths = resolve_paths()
    with running_daemon() as client:
        ingested(client, tmp_path)
        wait_until(lambda: server.asked, "the judge was asked")
        kill_hard(paths)
    server.will(chat(SLOTS))
    with running_daemon() as client:
        wait_until(lambda: judged(client), "the judge was asked again")
        assert len(judged(client)) == 1
        assert client.judge().waiting == 0
    end_daemon(paths)


def test_doctor_tells_that_a_key_is_wrong_and_the_daemon_goes_on(
    server: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_endpoint(server, tmp_path)
    server.will(Reply({"error": {"message": "invalid key"}}, status=401))
    with running_daemon() as client:
        ingested(client, tmp_path)
        code, result = document(capsys, "doctor")
        (check,) = [one for one in result["checks"] if one["name"] == "judge"]
        assert (code, check["status"]) == (1, "problem") and "invalid key" in check["message"]
        assert client.recall("migration test hangs").memories
        assert any(w.code == "judge.problem" for w in client.status().warnings)
        assert run(["judge", "try"]) == 69


def test_a_command_can_be_the_judge_and_off_is_the_default(tmp_path: Path) -> None:
    with running_daemon() as client:
        assert (client.judge().provider, client.status().judge) == ("none", "none")
    script = tmp_path / "judge.py"
    script.write_text(
        f"import sys\nsys.stdin.read()\nprint('Here you are:')\nprint({json.dumps(SLOTS)!r})\n",
        encoding="utf-8",
    )
    command = json.dumps([sys.executable, str(script)])
    configure(f'[judge]\nprovider = "command"\ncommand = {command}\n')
    with running_daemon() as client:
        ingested(client, tmp_path)
        (lesson,) = wait_until(lambda: judged(client), "the command has answered")
        assert lesson["text"] == TEXT
        assert "leave this machine" in client.status().judge
