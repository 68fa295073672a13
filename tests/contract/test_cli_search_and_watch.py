"""`search`, `watch`, `show --transcript` and `ingest --since` as people and scripts see them."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_cli.app import run
from hindsight_cli.output import Output
from hindsight_daemon.paths import resolve_paths
from tests.support.claude_lines import fixed_migration
from tests.support.harness import end_daemon

LINES = [
    {"session": "s1", "id": "m1", "ts": "2026-03-01T10:00:00Z", "role": "user"}
    | {"text": "订单服务连不上 Redis\nsee the LOG"},
    {"session": "s1", "id": "m2", "ts": "2026-03-02T10:00:00Z", "role": "assistant"}
    | {"text": "端口写错了，改成 6380"},
    {"session": "s1", "id": "m3", "ts": "2026-03-03T10:00:00Z", "role": "user"} | {"text": "谢谢"},
]


@pytest.fixture(autouse=True)
def daemon_gone() -> Iterator[None]:
    yield
    end_daemon(resolve_paths())


@pytest.fixture
def chat(tmp_path: Path) -> str:
    file = tmp_path / "chat.jsonl"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES)
    file.write_text(text, encoding="utf-8")
    return str(file)


class Cli:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def text(self, *argv: str, code: int = 0) -> str:
        self._capsys.readouterr()
        got = run(list(argv))
        captured = self._capsys.readouterr()
        self.err = captured.err
        assert got == code, captured
        return captured.out

    def json(self, *argv: str, code: int = 0) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text(*argv, "--json", code=code))
        return document


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    return Cli(capsys)


def test_search_prints_place_line_and_neighbours_with_and_without_a_daemon(
    cli: Cli, chat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.json("ingest", chat)
    found = cli.json("search", "端口", "--context", "1")
    assert found["schema"] == "hindsight.search/1"
    assert found["hits"][0]["lines"] == [{"line": 1, "text": "端口写错了，改成 6380"}]
    expected = [
        f"generic · s1 · 2026-03-02 10:00 · {chat}:2",
        "  user        订单服务连不上 Redis see the LOG",
        "> assistant   端口写错了，改成 6380",
        "  user        谢谢",
    ]
    assert cli.text("search", "端口", "-C", "1").splitlines() == expected
    assert cli.text("search", "see", "the", "log").splitlines()[1] == "> user        see the LOG"
    assert cli.text("search", "redis", "--role", "assistant") == ""
    assert "nothing says so" in cli.err
    assert cli.json("search", "redis", "--kind", "memory", code=2)["code"] == "usage.invalid"
    assert cli.json("search", "redis", "--until", "2026-02-28")["hits"] == []
    assert len(cli.json("search", "redis", "--until", "2026-03-01")["hits"]) == 1

    cli.json("daemon", "stop")
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    assert cli.text("search", "端口", "-C", "1").splitlines() == expected
    memory_id = cli.json("list", "--kind", "turn", "--all-projects")["memories"][0]["id"]
    assert "as the transcript has it" in cli.text("show", memory_id, "--transcript")
    cli.text("watch", code=69)


def test_an_empty_search_in_a_repository_says_that_there_are_others(
    cli: Cli, chat: str, tmp_path: Path
) -> None:
    cli.json("ingest", chat, "--project", "elsewhere")
    (tmp_path / ".git").mkdir()
    assert cli.text("search", "端口") == ""
    assert "--all-projects" in cli.err
    assert len(cli.json("search", "端口", "--all-projects")["hits"]) == 1
    assert len(cli.json("search", "端口", "--project", "elsewhere")["hits"]) == 1


def test_the_transcript_behind_a_memory_is_opened_in_its_place(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(fixed_migration().text(), encoding="utf-8")
    memory_id = cli.json("ingest", str(file))["memory_ids"][0]
    assert cli.json("show", memory_id)["spans"] == []
    spans = cli.json("show", memory_id, "--transcript")["spans"]
    shown = cli.text("show", memory_id, "--transcript")
    assert shown.count("as the transcript has it") == len(spans)
    for span in spans:
        assert f"{file}:{span['line']}" in shown
        for event in span["events"]:
            assert f"{span['line']:>6}  " in shown
            assert event["text"].splitlines()[0] in shown
    file.unlink()
    kept = cli.text("show", memory_id, "--transcript")
    assert kept == shown.replace(
        "as the transcript has it", "the transcript is gone; this copy was kept"
    )
    stated = cli.json("remember", "The VPN gateway is vpn7")["id"]
    assert "vpn7" in cli.text("show", stated, "--transcript")
    assert "no transcript" in cli.err


def test_lines_of_a_text_transcript_stand_as_in_the_file(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / ".aider.chat.history.md"
    log.write_text(
        "\n# aider chat started at 2026-03-01 10:00:00\n\n"
        "#### why does the cache miss\n\nThe key holds the time.\nDrop it.\n",
        encoding="utf-8",
    )
    cli.json("ingest", str(log))
    memories = cli.json("list", "--kind", "turn", "--all-projects")["memories"]
    answer = next(one for one in memories if "Drop it" in one["text"])
    (span,) = cli.json("show", answer["id"], "--transcript")["spans"]
    raw = log.read_text(encoding="utf-8").splitlines()
    assert span["verified"] == "unchanged"
    for line in span["lines"]:
        assert raw[line["line"] - 1] == line["text"]


def test_a_rehearsed_ingest_says_what_would_be_read(cli: Cli, chat: str, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text(json.dumps({"role": "user", "text": "long ago"}) + "\n", encoding="utf-8")
    os.utime(old, (1_700_000_000, 1_700_000_000))
    told = cli.text("ingest", str(tmp_path), "--since", "7d", "--dry-run")
    assert chat in told and str(old) not in told
    assert "1 transcript, " in told and "3 new events would be read" in told
    assert cli.json("stats")["events"] == 0
    assert [one["path"] for one in cli.json("ingest", ".", "--since", "7d")["files"]] == [chat]
    cli.json("ingest", ".", "--since", "lately", code=2)


def test_watch_prints_json_lines_until_ctrl_c(cli: Cli, chat: str) -> None:
    cli.json("stats")
    watch = subprocess.Popen(
        [sys.executable, "-m", "hindsight_cli", "watch", "--json"], stdout=subprocess.PIPE
    )
    assert watch.stdout is not None
    heard = [json.loads(watch.stdout.readline())]
    assert heard[0]["event"] == "watch.started"
    cli.json("ingest", chat)
    cli.json("remember", "缓存用 Redis 7")
    while heard[-1]["event"] != "memory.added" or "Redis 7" not in heard[-1]["data"]["text"]:
        heard.append(json.loads(watch.stdout.readline()))
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=30)
    assert watch.returncode == 130
    assert {one["schema"] for one in heard} == {"hindsight.event/1"}
    (read,) = [one["data"] for one in heard if one["event"] == "transcript.read"]
    assert read == {"path": chat, "source": "generic", "events": 3}


def test_watch_reads_well_and_ends_with_the_daemon(cli: Cli, chat: str) -> None:
    cli.json("stats")
    watch = subprocess.Popen(
        [sys.executable, "-m", "hindsight_cli", "watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watch.stdout is not None
    assert "watching" in watch.stdout.readline()
    cli.json("ingest", chat)
    stated = cli.json("remember", "The VPN gateway is vpn7")["id"]
    cli.json("forget", stated, "--yes")
    cli.json("daemon", "stop")
    out, err = watch.communicate(timeout=30)
    assert f"read       3 events of generic · {chat}" in out
    assert f"added      fact {stated} The VPN gateway is vpn7" in out
    assert f"forgotten  fact {stated}" in out
    assert (watch.returncode, err.startswith("error: ")) == (69, True)


@pytest.mark.parametrize(("count", "is_paged"), [(500, True), (3, False)])
def test_only_long_output_on_a_terminal_goes_through_the_pager(
    count: int, is_paged: bool, tmp_path: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n", encoding="utf-8")
    pager.chmod(0o755)
    code = (
        "from hindsight_cli.output import Output\n"
        f"Output().paged([f'line {{n}}' for n in range({count})])"
    )
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=follower,
        env={**os.environ, "PAGER": str(pager), "LINES": "24"},
    )
    os.close(follower)
    shown = b""
    with os.fdopen(leader, "rb", buffering=0) as terminal:
        while select.select([terminal], [], [], 30)[0]:
            try:
                data = terminal.read(65536)
            except OSError:
                break
            if not data:
                break
            shown += data
    assert done.wait(timeout=30) == 0
    if is_paged:
        lines = (tmp_path / "paged").read_text(encoding="utf-8").splitlines()
        assert (lines[-1], shown) == (f"line {count - 1}", b"")
    else:
        assert not (tmp_path / "paged").exists()
        assert b"line 2" in shown


def test_a_pipe_or_a_missing_pager_gets_the_lines_themselves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Output(env={"PAGER": "false"}).paged(["line"] * 500)
    assert capsys.readouterr().out == "line\n" * 500
