"""Large transcripts are read in a child process, which must neither lose nor outlive anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.protocol.params import Progress
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import daemon_pid, kill_hard, running_daemon, wait_until


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Return a transcript of several MiB: long tool output around one real lesson."""
    lesson = fixed_migration()
    noise = ClaudeSession("5e551000-0000-4000-8000-0000000000c1")
    noise.prompt("Print the long listing")
    for number in range(600):
        noise.runs(f"cat part{number}.txt", f"line {number} of the listing\n" * 300)
    file = tmp_path / "large.jsonl"
    file.write_text(noise.text() + lesson.text(), encoding="utf-8")
    assert file.stat().st_size > 3 * 1024 * 1024
    return file


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def test_a_large_transcript_gives_what_a_small_one_would(client: Client, large: Path) -> None:
    report = client.ingest((str(large),))
    assert report.files[0].error == ""
    assert len(report.files[0].sessions) == 2
    best = client.recall("why did the migration test hang", all_projects=True).memories[0]
    assert best.kind == "solution"
    assert client.ingest((str(large),)).events == 0


def test_a_child_that_is_killed_costs_nothing(client: Client, large: Path) -> None:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs /proc to find the child")
    from hindsight_daemon.paths import resolve_paths

    pid = daemon_pid(resolve_paths())
    killed: list[int] = []

    def on_progress(progress: Progress) -> None:
        if progress.stage == "read" and progress.done > 500_000 and not killed:
            for child in _children(pid):
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    report = client.ingest((str(large),), on_progress=on_progress)
    assert killed
    assert report.files[0].error == ""
    whole = large.read_text(encoding="utf-8").count("\n")
    assert client.stats().events == whole


def test_the_child_dies_with_the_daemon(client: Client, large: Path) -> None:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs /proc to find the child")
    from hindsight_daemon.paths import resolve_paths

    paths = resolve_paths()
    client.ingest((str(large),))
    children = _children(daemon_pid(paths))
    assert len(children) == 1
    kill_hard(paths)
    wait_until(lambda: not Path(f"/proc/{children[0]}").exists(), "the child is gone")
