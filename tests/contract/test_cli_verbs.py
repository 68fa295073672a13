"""The verbs against a real daemon: documents, exit codes, pipes, the spool."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_cli.app import run
from hindsight_daemon import spool
from hindsight_daemon.launch import is_lock_held
from hindsight_daemon.paths import resolve_paths
from tests.support.harness import end_daemon, wait_until

LINES = [
    {"role": "user", "text": "请帮我看看订单服务为什么连不上 Redis", "session": "s1", "id": "m1"},
    {
        "role": "assistant",
        "text": "端口写错了，改成 6380 之后可以连接",
        "session": "s1",
        "id": "m2",
    },
]
TRANSCRIPT = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES)


@pytest.fixture(autouse=True)
def daemon_gone() -> Iterator[None]:
    yield
    end_daemon(resolve_paths())


@pytest.fixture
def no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")


class Cli:
    """Runs command lines in this process and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = patch
        self.err = ""

    def text(self, *argv: str, code: int = 0, stdin: str | None = None) -> str:
        self._capsys.readouterr()
        if stdin is not None:
            stream = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
            self._patch.setattr(sys, "stdin", stream)
        got = run(list(argv))
        captured = self._capsys.readouterr()
        self.err = captured.err
        assert got == code, captured
        return captured.out

    def json(self, *argv: str, code: int = 0, stdin: str | None = None) -> dict[str, Any]:
        out = self.text(*argv, "--json", code=code, stdin=stdin)
        assert out.count("\n") == 1
        document: dict[str, Any] = json.loads(out)
        return document


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsys, monkeypatch)


def process(*argv: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "hindsight_cli", *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_a_memory_can_be_stated_found_shown_traced_and_forgotten(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    stated = cli.json("remember", "The staging database listens on port 5433", "--tag", "db")
    assert (stated["schema"], stated["outcome"]) == ("hindsight.remember/1", "added")
    again = cli.json("remember", "-", stdin="The staging database listens on port 5433\n")
    assert (again["outcome"], again["id"]) == ("merged", stated["id"])

    found = cli.json("recall", "which port does staging use")
    assert found["schema"] == "hindsight.recall/1"
    assert found["memories"][0]["id"] == stated["id"]
    assert "scores" not in cli.text("recall", "staging port")
    explained = cli.json("recall", "staging port", "--explain")
    assert explained["memories"][0]["scores"]["arms"]
    assert "hindsight.recall/1" in cli.text("recall", "staging port", "--format", "json")
    assert stated["id"][:8] in cli.text("recall", "staging port", "--format", "context")

    listed = cli.json("list", "--kind", "fact")
    assert [memory["id"] for memory in listed["memories"]] == [stated["id"]]
    assert "The staging database" in cli.text("ls")
    whole = cli.json("show", stated["id"][:13])["memory"]
    assert (whole["tags"], whole["trust"]) == (["db"], "user")
    assert "port 5433" in cli.text("show", stated["id"], "--history")
    assert cli.json("why", stated["id"])["steps"][0]["id"] == stated["id"]
    assert cli.json("stats")["memories"]["kind"] == {"fact": 1}
    assert "1 fact" in cli.text("stats")

    cli.text("forget", stated["id"], code=2)
    assert "--yes" in cli.err
    rehearsed = cli.json("forget", "-", "--dry-run", stdin=f"{stated['id']}\n")
    assert (rehearsed["forgotten"], rehearsed["dry_run"]) == ([stated["id"]], True)
    gone = cli.json("forget", stated["id"], "--yes", "--reason", "moved")
    assert (gone["schema"], gone["forgotten"]) == ("hindsight.forget/1", [stated["id"]])
    assert len(gone["tombstones"]) == 1
    assert cli.json("list", "--tombstones")["tombstones"][0]["reason"] == "moved"
    assert cli.json("show", stated["id"], code=66)["code"] == "memory.not_found"
    refused = cli.json("remember", "the staging database listens on port 5433", code=1)
    assert (refused["outcome"], refused["id"]) == ("refused", "")
    assert cli.text("recall", "staging port", "--require-match", code=1) == ""
    assert "nothing relevant" in cli.err
    assert cli.json("recall", "staging port")["memories"] == []


def test_transcripts_come_from_files_folders_and_pipes(cli: Cli, tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(TRANSCRIPT, encoding="utf-8")
    read = cli.json("ingest", str(good))
    assert (read["schema"], read["events"]) == ("hindsight.ingest/1", 2)
    assert read["files"][0]["path"] == str(good)
    assert cli.json("ingest", str(tmp_path))["events"] == 0
    found = cli.json("recall", "订单 Redis 端口", "--kind", "turn", "--all-projects")
    assert {memory["external_id"] for memory in found["memories"]} == {"m1", "m2"}

    assert cli.json("ingest", str(tmp_path / "none"), code=66)["files"][0]["error"]
    bad = tmp_path / "bad.bin"
    bad.write_bytes(bytes(range(256)) * 20)
    cli.text("ingest", str(bad), code=65)
    assert "bad.bin" in cli.err
    cli.text("ingest", str(good), str(bad))
    assert "bad.bin" in cli.err

    piped = process("ingest", "-", "--session", "s9", "--json")
    out, err = piped.communicate(TRANSCRIPT.replace("s1", "s2").encode() + b"oops\n", timeout=60)
    assert (piped.returncode, err) == (0, b"")
    report = json.loads(out)
    assert report["files"][0]["sessions"]
    assert report["files"][0]["skipped"][0]["line"] == 3
    assert list(resolve_paths().spool_dir.iterdir()) == []

    empty = process("ingest", "-", "--json")
    out, _ = empty.communicate(b"", timeout=60)
    assert (empty.returncode, json.loads(out)["code"]) == (66, "input.missing")


def test_a_stream_that_falls_silent_is_read_before_it_ends_and_ctrl_c_closes_it(
    cli: Cli,
) -> None:
    cli.json("stats")
    piped = process("ingest", "-", "--json")
    assert piped.stdin is not None
    piped.stdin.write(TRANSCRIPT.encode())
    piped.stdin.flush()
    wait_until(lambda: cli.json("stats")["events"] == 2, "the silent stream was read")
    piped.send_signal(signal.SIGINT)
    out, err = piped.communicate(timeout=60)
    assert (piped.returncode, err) == (130, b"")
    assert json.loads(out)["events"] == 2
    assert list(resolve_paths().spool_dir.iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_error(cli: Cli) -> None:
    for number in range(5):
        cli.json("remember", f"fact number {number} " + "x" * 900)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "hindsight_cli", "list", "--json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_daemon_is_started_looked_at_and_stopped(cli: Cli) -> None:
    stopped = cli.json("daemon", "status", code=1)
    assert (stopped["pid"], stopped["state"]) == (0, "stopped")
    assert cli.json("daemon", "stop")["message"] == "no daemon was running"
    started = cli.json("daemon", "start")
    running = cli.json("daemon", "status")
    assert running["pid"] == started["pid"] > 0
    assert {"state", "version", "socket"} <= set(running)
    assert f"pid {running['pid']}" in cli.text("daemon", "status")
    assert cli.json("daemon", "logs")["path"] == running["log"]
    assert cli.json("daemon", "restart")["pid"] != running["pid"]
    assert cli.text("daemon", "stop") == "stopped\n"
    assert not is_lock_held(resolve_paths())


def test_doctor_passes_on_a_sound_store_and_names_what_is_wrong(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    cli.json("remember", "anything")
    sound = cli.json("doctor")
    assert sound["schema"] == "hindsight.doctor/1"
    assert {check["status"] for check in sound["checks"]} <= {"ok", "warning"}
    resolve_paths().data_dir.chmod(0o755)
    wrong = cli.json("doctor", code=1)
    problems = [check for check in wrong["checks"] if check["status"] == "problem"]
    assert [check["hint"] for check in problems] == [f"chmod 700 {resolve_paths().data_dir}"]
    assert "hint: chmod 700" in cli.text("doctor", code=1)


@pytest.mark.usefixtures("no_daemon")
def test_writes_wait_in_the_spool_when_no_daemon_can_run(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(TRANSCRIPT, encoding="utf-8")
    kept = cli.json("remember", "The VPN gateway is vpn7.example.org")
    assert (kept["outcome"], kept["warnings"][0]["code"]) == ("spooled", "spooled")
    assert cli.json("ingest", str(transcript))["warnings"][0]["code"] == "spooled"
    calls = [call.method for _, call in spool.waiting(resolve_paths()) if call]
    assert calls == ["memory.remember", "ingest.run"]
    monkeypatch.delenv("HINDSIGHT_NO_AUTOSTART")
    wait_until(lambda: cli.json("stats")["events"] == 2, "the next daemon drained the spool")
    assert cli.json("stats")["memories"]["kind"]["fact"] == 1


@pytest.mark.usefixtures("no_daemon")
def test_reads_work_without_a_daemon(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HINDSIGHT_NO_AUTOSTART")
    stated = cli.json("remember", "The VPN gateway is vpn7.example.org")
    cli.json("daemon", "stop")
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    assert cli.json("show", stated["id"])["memory"]["id"] == stated["id"]
    assert cli.json("list", "--all-projects")["memories"][0]["id"] == stated["id"]
    assert "note: " in cli.err
    assert not is_lock_held(resolve_paths())


def test_settings_are_set_shown_and_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.json("config", "set", "embed.threads", "2")
    monkeypatch.setenv("HINDSIGHT_LOG_LEVEL", "debug")
    shown = cli.json("config", "show", "--origin")
    assert shown["settings"]["embed"]["threads"] == 2
    origins = {key: shown["origins"][key] for key in ("embed.threads", "recall.fusion")}
    assert origins == {"embed.threads": "file", "recall.fusion": "default"}
    assert shown["origins"]["daemon.log_level"] == "$HINDSIGHT_LOG_LEVEL"
    assert cli.text("config", "get", "embed.threads") == "2\n"
    assert cli.text("config", "path").strip() == str(resolve_paths().config_file)
    cli.text("config", "validate")
    cli.json("config", "set", "embed.threads", "none", code=2)
    assert resolve_paths().config_file.read_text(encoding="utf-8") == "[embed]\nthreads = 2\n"
    resolve_paths().config_file.write_text("[embed]\nthread = 2\n", encoding="utf-8")
    assert cli.json("config", "validate", code=78)["detail"]["line"] == 2
    assert cli.json("stats", code=78)["code"] == "config.invalid"


def test_the_demo_learns_answers_and_leaves_nothing_behind(cli: Cli) -> None:
    before = set(Path("/tmp").glob("hindsight-demo-*"))
    home = os.environ["HINDSIGHT_HOME"]
    shown = cli.json("demo")
    assert shown["schema"] == "hindsight.demo/1"
    assert all(asked["memories"] for asked in shown["queries"])
    assert "migration" in shown["queries"][0]["memories"][0]["text"]
    assert "order_test" in shown["queries"][1]["memories"][0]["text"]
    assert {memory["kind"] for memory in shown["memories"]} >= {"episode", "solution"}
    assert set(Path("/tmp").glob("hindsight-demo-*")) == before
    assert os.environ["HINDSIGHT_HOME"] == home
    assert not is_lock_held(resolve_paths())


def test_a_setting_that_names_no_model_is_refused_and_nothing_is_written(cli: Cli) -> None:
    refused = cli.json("config", "set", "embed.model", "nonsense", code=78)
    assert "`nonsense`" in refused["message"] and "e5-small" in refused["hint"]
    file = resolve_paths().config_file
    assert not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[embed]\nmodel = "nonsense"\n', encoding="utf-8")
    assert cli.json("config", "validate", code=78)["detail"]["line"] == 2
    cli.json("config", "set", "embed.threads", "2")
    cli.json("config", "set", "embed.model", "none")
    cli.text("config", "validate")
