"""What a person at a terminal sees: questions are asked, text is cut and coloured."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.paths import resolve_paths
from tests.support.harness import end_daemon

LONG = "The staging database listens on port 5433 " + "and this sentence goes on " * 20


@pytest.fixture
def memory_id() -> Iterator[str]:
    with Client() as client:
        found = client.remember(LONG).id
    yield found
    end_daemon(resolve_paths())


def at_terminal(monkeypatch: pytest.MonkeyPatch, *argv: str, answer: str = "") -> tuple[int, str]:
    """Run a command line with all three streams on a pseudo-terminal of 80 columns."""
    monkeypatch.setenv("TERM", "xterm")
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "hindsight_cli", *argv], stdin=side, stdout=side, stderr=side
    )
    os.close(side)
    seen = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if answer and b"[y/N]" in seen:
            os.write(main, f"{answer}\n".encode())
            answer = ""
        if select.select([main], [], [], 0.1)[0]:
            try:
                chunk = os.read(main, 65536)
            except OSError:  # Linux tells the end of a pseudo-terminal so.
                break
            if not chunk:
                break
            seen += chunk
    os.close(main)
    return child.wait(timeout=10), seen.decode("utf-8", "replace").replace("\r\n", "\n")


def test_forgetting_shows_what_is_meant_and_takes_only_a_yes(
    memory_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, seen = at_terminal(monkeypatch, "forget", memory_id, answer="no")
    assert code == 1
    assert "The staging database" in seen
    assert "nothing was forgotten" in seen
    code, seen = at_terminal(monkeypatch, "forget", memory_id, answer="y")
    assert code == 0
    assert f"forgot {memory_id}" in seen


def test_a_list_is_cut_to_the_terminal_and_coloured_only_if_wanted(
    memory_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, plain = at_terminal(monkeypatch, "list", "--all-projects")
    assert code == 0
    assert max(len(line) for line in plain.splitlines()) <= 80
    assert "\x1b" not in plain
    assert memory_id[:8] in plain
    code, coloured = at_terminal(monkeypatch, "list", "--all-projects", "--color", "always")
    assert code == 0
    assert "\x1b[1mID" in coloured


def test_reading_a_folder_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(3):
        line = json.dumps({"role": "user", "text": f"number {number}", "session": f"s{number}"})
        (tmp_path / f"{number}.jsonl").write_text(line + "\n", encoding="utf-8")
    try:
        code, seen = at_terminal(monkeypatch, "ingest", str(tmp_path))
    finally:
        end_daemon(resolve_paths())
    assert code == 0
    assert "/3 files" in seen and " B" in seen
    assert seen.rstrip().splitlines()[-1].startswith("3 transcripts, 3 new events")
