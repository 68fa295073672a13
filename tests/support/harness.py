"""Runs the real daemon for a test and talks to it in raw bytes."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindsight_daemon import launch
from hindsight_daemon.client import Client
from hindsight_daemon.paths import Paths, resolve_paths

WAIT_S = 30.0


def wait_until(condition: Any, what: str, *, timeout_s: float = WAIT_S) -> Any:
    """Poll until `condition()` is true and return its value; fail with `what` at the deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"gave up waiting until {what}")
        select.select([], [], [], 0.02)


def daemon_pid(paths: Paths) -> int:
    """Return the pid of the running daemon."""
    return int(launch.read_discovery(paths)["pid"])


def kill_hard(paths: Paths) -> int:
    """SIGKILL the daemon and wait until the kernel has released its lock; return its pid."""
    pid = daemon_pid(paths)
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    wait_until(lambda: not launch.is_lock_held(paths), "the killed daemon is gone")
    return pid


@contextlib.contextmanager
def running_daemon() -> Iterator[Client]:
    """Give a client of a daemon in the test's own home; the daemon is gone afterwards."""
    paths = resolve_paths()
    try:
        with Client(paths=paths, timeout_s=60.0) as client:
            client.stats()
            yield client
    finally:
        end_daemon(paths)


def end_daemon(paths: Paths) -> None:
    """Stop the daemon if one runs, hard if it does not go by itself."""
    if not launch.is_lock_held(paths):
        return
    pid = launch.read_discovery(paths).get("pid") or _locked_pid(paths.lock_file)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not launch.is_lock_held(paths), "it stopped", timeout_s=10)
        if launch.is_lock_held(paths):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _locked_pid(lock_file: Path) -> int:
    with contextlib.suppress(OSError, ValueError, KeyError):
        return int(json.loads(lock_file.read_text(encoding="utf-8"))["pid"])
    return 0


class RawConnection:
    """A socket to the daemon for frames that no client would send."""

    def __init__(self, path: Path, timeout_s: float = 10.0) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout_s)
        self.sock.connect(os.fspath(path))
        self._file = self.sock.makefile("rb")

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(data)

    def send_message(self, **message: Any) -> None:
        """Send one JSON-RPC message."""
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hello(self) -> dict[str, Any]:
        """Shake hands and return the answer."""
        self.send_message(
            id=0, method="hello", params={"client": "raw", "protocol": {"min": 1, "max": 1}}
        )
        answer = self.receive()
        assert answer is not None
        return answer

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end of the stream."""
        try:
            line = self._file.readline()
        except ConnectionError:
            return None
        if not line:
            return None
        message: dict[str, Any] = json.loads(line)
        return message
