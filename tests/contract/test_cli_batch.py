"""`hindsight recall --batch`: JSON Lines in, one document a line out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from tests.support.harness import running_daemon

HINDSIGHT = [sys.executable, "-m", "hindsight_cli"]


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


def test_each_line_gets_its_answer_in_order_and_a_bad_one_its_error(
    client: Client, tmp_path: Path
) -> None:
    client.remember("The staging database listens on port 5433")
    client.remember("部署前先跑冒烟测试")
    queries = tmp_path / "queries.jsonl"
    queries.write_text(
        '"staging database"\n\n{"id": 7, "query": "冒烟测试", "limit": 1}\nnope\n'
        '{"query": "x", "bad": 1}\n'
        '{"query": ""}\n{"id": "z", "query": "staging port", "kinds": ["decision"]}\n',
        encoding="utf-8",
    )
    for source, given in ((str(queries), b""), ("-", queries.read_bytes())):
        done = subprocess.run(
            [*HINDSIGHT, "recall", "--batch", source, "--all-projects"],
            input=given,
            capture_output=True,
            timeout=60,
            check=False,
        )
        first, second, *bad, last = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 65
        assert "5433" in first["memories"][0]["text"] and "id" not in first
        assert second["id"] == 7 and "冒烟" in second["memories"][0]["text"]
        assert [one["line"] for one in bad] == [4, 5, 6]
        assert all(one["schema"] == "hindsight.error/1" for one in bad)
        assert last["id"] == "z" and last["memories"] == []


def test_a_batch_takes_its_queries_from_one_place_only(tmp_path: Path) -> None:
    for arguments, code in ((["--batch", "-", "more"], 2), (["--batch", str(tmp_path / "no")], 66)):
        done = subprocess.run(
            [*HINDSIGHT, "recall", *arguments], input=b"", capture_output=True, check=False
        )
        assert done.returncode == code and b"error:" in done.stderr
