"""One daemon at a time, replaced when it dies, never in the way of its own restart."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon import launch
from hindsight_daemon.client import Client
from hindsight_daemon.errors import (
    ConfigProblem,
    DaemonUnavailable,
    HindsightError,
    PermissionProblem,
)
from hindsight_daemon.paths import Paths, resolve_paths
from tests.support.harness import daemon_pid, end_daemon, kill_hard, wait_until

pytestmark = pytest.mark.fault


@pytest.fixture
def paths() -> Iterator[Paths]:
    paths = resolve_paths()
    yield paths
    end_daemon(paths)


def test_thirty_clients_that_start_at_once_end_with_one_daemon(paths: Paths) -> None:
    code = (
        "from hindsight_daemon.client import Client\n"
        "with Client(timeout_s=90) as c: print(c.status().pid)\n"
    )
    clients = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(30)
    ]
    pids = {client.communicate(timeout=110)[0].strip() for client in clients}
    assert all(client.returncode == 0 for client in clients)
    assert pids == {str(daemon_pid(paths))}


def test_a_killed_daemon_is_replaced_and_nothing_acknowledged_is_lost(paths: Paths) -> None:
    kept = []
    for number in range(3):
        with Client(timeout_s=60) as client:
            kept.append(client.remember(f"the port of service {number} is 90{number}1").id)
        kill_hard(paths)
    with Client(timeout_s=60) as client:
        for memory_id in kept:
            assert client.show(memory_id).memory["id"] == memory_id
        assert client.stats().memories["kind"]["fact"] == 3


def test_a_stale_socket_is_taken_over(paths: Paths) -> None:
    with Client(timeout_s=60) as client:
        first = client.status().pid
    kill_hard(paths)
    assert paths.socket.exists()
    with Client(timeout_s=60) as client:
        assert client.status().pid != first


def test_a_foreign_file_in_place_of_the_socket_is_not_removed(paths: Paths) -> None:
    paths.runtime_dir.mkdir(parents=True, mode=0o700)
    paths.socket.write_text("precious", encoding="utf-8")
    with pytest.raises(HindsightError) as caught, Client(timeout_s=60) as client:
        client.status()
    assert caught.value.exit_code in (69, 75, 77)
    assert str(paths.socket) in caught.value.message
    assert paths.socket.read_text(encoding="utf-8") == "precious"


def test_a_socket_folder_open_to_others_is_refused(paths: Paths) -> None:
    paths.runtime_dir.mkdir(parents=True)
    paths.runtime_dir.chmod(0o777)
    with pytest.raises(PermissionProblem) as caught, Client(timeout_s=60) as client:
        client.status()
    assert "open to other users" in caught.value.message
    assert "chmod 700" in caught.value.hint


def test_socket_lock_and_data_are_closed_to_others(paths: Paths) -> None:
    with Client(timeout_s=60) as client:
        client.remember("the staging database listens on 5433")
    assert stat.S_IMODE(paths.socket.stat().st_mode) == 0o600
    for folder in (paths.runtime_dir, paths.data_dir, paths.state_dir):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in (paths.lock_file, paths.journal_file, paths.discovery_file, paths.log_file):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0


def test_sigterm_ends_the_daemon_and_removes_its_traces(paths: Paths) -> None:
    with Client(timeout_s=60) as client:
        client.remember("kept across a stop")
    os.kill(daemon_pid(paths), signal.SIGTERM)
    wait_until(lambda: not launch.is_lock_held(paths), "the daemon stopped")
    assert not paths.socket.exists()
    assert not paths.discovery_file.exists()
    with Client(timeout_s=60) as client:
        assert client.stats().memories["kind"]["fact"] == 1


def test_the_socket_answers_before_the_store_is_open(paths: Paths) -> None:
    launch.spawn(paths)
    with Client(timeout_s=60, autostart=False) as client:
        assert client.status().state in ("starting", "ready")
        client.stats()
        assert client.status().state == "ready"


def test_a_bad_configuration_is_named_by_whoever_wanted_the_daemon(paths: Paths) -> None:
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text("[recall]\nfusion = 3\n", encoding="utf-8")
    with pytest.raises(ConfigProblem) as caught, Client(timeout_s=60) as client:
        client.status()
    assert f"{paths.config_file}:2" in caught.value.message
    assert "recall.fusion" in caught.value.message


def test_without_autostart_a_missing_daemon_is_said_to_be_missing(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_NO_AUTOSTART", "1")
    with pytest.raises(DaemonUnavailable) as caught, Client(timeout_s=5) as client:
        client.status()
    assert caught.value.hint == "`hindsight daemon start`"
    assert not launch.is_lock_held(paths)


def test_a_client_in_another_environment_finds_the_daemon(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(timeout_s=60) as client:
        pid = client.status().pid
    announced = json.loads(paths.discovery_file.read_text(encoding="utf-8"))["socket"]
    monkeypatch.setenv("HINDSIGHT_SOCKET", f"/tmp/hs-other-{os.getpid()}/d.sock")
    with Client(timeout_s=60) as client:
        assert client.status().pid == pid
        assert client.status().socket == announced


def test_a_hung_daemon_is_reported_not_replaced(paths: Paths) -> None:
    with Client(timeout_s=60) as client:
        client.status()
    pid = daemon_pid(paths)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(HindsightError) as caught, Client(timeout_s=1.0) as client:
            client.status()
        assert caught.value.code == "daemon.timeout"
        assert launch.is_lock_held(paths)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_the_service_manager_is_told_when_the_daemon_is_ready_and_when_it_stops(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.state_dir.mkdir(parents=True, mode=0o700)
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.settimeout(30)
    address = paths.state_dir / "notify.sock"
    manager.bind(str(address))
    monkeypatch.setenv("NOTIFY_SOCKET", str(address))
    daemon = subprocess.Popen([sys.executable, "-m", "hindsight_daemon"], stderr=subprocess.DEVNULL)
    try:
        assert manager.recv(4096).startswith(b"READY=1")
        daemon.send_signal(signal.SIGTERM)
        assert manager.recv(4096) == b"STOPPING=1"
        assert daemon.wait(timeout=30) == 0
    finally:
        daemon.kill()
        daemon.wait()
        manager.close()


def test_a_second_store_of_the_same_user_gets_a_daemon_of_its_own(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As under `sudo` with another HOME: the runtime folder is the same, the store is not.
    monkeypatch.delenv("HINDSIGHT_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(paths.runtime_dir.parent))
    stores = []
    for name in ("one", "two"):
        monkeypatch.setenv("HOME", str(tmp_path / name))
        stores.append(resolve_paths())
        with Client(timeout_s=60) as client:
            assert client.stats().memories["kind"] == {}
            client.remember(f"kept in store {name}")
    first, second = stores
    assert first.runtime_dir == second.runtime_dir
    assert daemon_pid(first) != daemon_pid(second)
    for store in stores:
        end_daemon(store)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
def test_a_socket_that_another_user_serves_is_not_talked_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = f"/tmp/hs-foreign-{os.getpid()}.sock"
    monkeypatch.setenv("HINDSIGHT_SOCKET", path)
    trap = (
        "import os, socket, sys\n"
        "os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
        "print('listening', flush=True)\n"
        "while True: s.accept()[0].recv(1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", trap, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(PermissionProblem, match="served by user 65534"):
            Client(timeout_s=60).open()
        recall = [sys.executable, "-m", "hindsight_cli", "recall", "anything", "--json"]
        asked = subprocess.run(recall, capture_output=True, text=True, check=False)
        other.kill()
    Path(path).unlink()
    # It was not asked; this home has no store to be read directly either.
    assert "served by user 65534" in asked.stderr
    assert json.loads(asked.stdout)["message"] == "there is no store yet"
