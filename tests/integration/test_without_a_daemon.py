"""When no daemon can run: reads still work, writes wait for the next one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hindsight_cli import lifecycle
from hindsight_daemon import spool
from hindsight_daemon.client import Client
from hindsight_daemon.config import load_settings
from hindsight_daemon.errors import DaemonUnavailable, PermissionProblem
from hindsight_daemon.paths import Paths, resolve_paths
from tests.support.harness import daemon_pid, end_daemon, kill_hard, running_daemon, wait_until


@pytest.fixture
def paths() -> Iterator[Paths]:
    paths = resolve_paths()
    yield paths
    end_daemon(paths)


def _read_only(paths: Paths) -> lifecycle.Connection:
    return lifecycle.connect(
        paths, load_settings(paths.config_file), timeout_s=30, fallback="read-only"
    )


def test_reads_work_when_the_daemon_may_not_start(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(timeout_s=60) as client:
        told = client.remember("The release branch is cut on Thursdays")
    kill_hard(paths)
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    connection = _read_only(paths)
    try:
        assert connection.is_read_only
        found = connection.client.recall("when is the release branch cut")
        assert [memory.id for memory in found.memories] == [told.id]
        assert connection.client.show(told.id).memory["text"].startswith("The release branch")
        with pytest.raises(PermissionProblem):
            connection.client.remember("This must not be written")
    finally:
        connection.client.close()


def test_reads_work_beside_a_daemon_that_hangs(paths: Paths) -> None:
    with Client(timeout_s=60) as client:
        told = client.remember("The release branch is cut on Thursdays")
    pid = daemon_pid(paths)
    os.kill(pid, signal.SIGSTOP)
    try:
        connection = lifecycle.connect(
            paths, load_settings(paths.config_file), timeout_s=2, fallback="read-only"
        )
        found = connection.client.recall("release branch", limit=1)
        assert [memory.id for memory in found.memories] == [told.id]
        connection.client.close()
    finally:
        os.kill(pid, signal.SIGCONT)


def test_spooled_writes_are_carried_out_once_by_the_next_daemon(paths: Paths) -> None:
    now = datetime.now(UTC)
    call = spool.SpooledCall("memory.remember", {"text": "Kept while no daemon ran"})
    spool.put(paths, call, now)
    broken = paths.spool_dir / "0.call.json"
    broken.write_bytes(b"{ not json")
    with running_daemon() as client:
        wait_until(
            lambda: client.stats().memories["kind"].get("fact") == 1, "the spool was drained"
        )
        wait_until(lambda: not list(paths.spool_dir.glob("*.call.json")), "the files are gone")
        assert [file.name for file in paths.spool_dir.iterdir()] == ["0.call.failed"]
        assert any("0.call.json" in notice.message for notice in client.status().warnings)


def test_a_missing_daemon_is_an_error_for_writes(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    with pytest.raises(DaemonUnavailable):
        lifecycle.connect(paths, load_settings(paths.config_file), timeout_s=5)
