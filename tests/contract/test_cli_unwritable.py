"""Output that cannot be written: full, closed, or a stream that nobody reads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from tests.support.harness import running_daemon

COMMANDS = (
    ("recall", "staging port"),
    ("recall", "staging port", "--json"),
    ("recall", "staging port", "--explain"),
    ("list",),
    ("list", "--json"),
    ("--version",),
)


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        client.remember("The staging database listens on port 5433")
        yield client


def outcome(*argv: str, redirect: str) -> tuple[int, str]:
    """Run a command line under a shell's redirection; return exit code and stderr."""
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", sys.executable, "-m", "hindsight_cli", *argv],
        stderr=subprocess.PIPE,
        # Unbuffered, a write fails at once; buffered, also when the buffer is flushed later.
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.usefixtures("client")
def test_a_full_or_closed_output_is_told_in_our_words() -> None:
    for argv in COMMANDS:
        code, told = outcome(*argv, redirect=">&-")
        assert (code, told.splitlines()[0]) == (73, "error: standard output is closed"), argv
        if Path("/dev/full").exists():
            code, told = outcome(*argv, redirect=">/dev/full")
            assert code == 73, argv
            assert told.startswith("error: cannot write the result: No space left"), argv
        assert "Traceback" not in told


def test_a_closed_stderr_does_not_keep_the_result_back(client: Client) -> None:
    client.forget([client.list(all_projects=True).memories[0]["id"]])
    for argv in COMMANDS:
        assert outcome(*argv, redirect=">/dev/null 2>&-")[0] == 0, argv


@pytest.mark.usefixtures("client")
def test_a_number_that_only_looks_like_one_is_a_usage_error() -> None:
    code, told = outcome("recall", "port", "--limit", "²", redirect="")
    assert code == 2
    assert told.startswith("error: ")
