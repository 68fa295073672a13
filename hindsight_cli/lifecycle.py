"""Gets a command its client: starts, stops and replaces the daemon, or does without it.

Policy on top of `hindsight_daemon.launch`: what to do about another version, when to fall back to
a read-only server in a child process, and how far to go when a daemon does not stop.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon import launch
from hindsight_daemon.client import Client
from hindsight_daemon.config import Settings
from hindsight_daemon.errors import (
    Busy,
    ConfigProblem,
    DaemonUnavailable,
    DeadlineExceeded,
    HindsightError,
    PermissionProblem,
)
from hindsight_daemon.paths import Paths
from hindsight_daemon.protocol.documents import StatusResult
from hindsight_daemon.version import VERSION

_POLL_S = 0.05
STOP_TIMEOUT_S = 15.0
_READ_ONLY_TIMEOUT_S = 30.0

Fallback = Literal["none", "read-only"]


class PipeTransport:
    """The pipes of a `hindsight-daemon --stdio` child."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hindsight_daemon", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def send(self, data: bytes) -> None:
        """Write all of `data`."""
        pipe = self._process.stdin
        if pipe is not None:
            view = memoryview(data)
            while view:
                view = view[pipe.write(view) or 0 :]

    def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end of the stream; TimeoutError if none come."""
        pipe = self._process.stdout
        if pipe is None:
            return b""
        if not select.select([pipe], [], [], timeout_s)[0]:
            raise TimeoutError
        return os.read(pipe.fileno(), 1 << 18)

    def close(self) -> None:
        """Close the pipes, which ends the child, and wait for it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Connection:
    """A connected client and what the user should be told about how it came about."""

    def __init__(self, client: Client, notices: list[str], *, is_read_only: bool = False) -> None:
        self.client = client
        self.notices = notices
        self.is_read_only = is_read_only


def connect(
    paths: Paths,
    settings: Settings,
    *,
    timeout_s: float = 60.0,
    client_name: str = "cli",
    fallback: Fallback = "none",
) -> Connection:
    """Return an open client, starting the daemon if need be.

    With `fallback="read-only"` a store that no daemon can serve is read in a child process.
    Configuration errors are never papered over by a fallback.
    """
    notices: list[str] = []
    autostart = settings.daemon.autostart
    client = Client(timeout_s=timeout_s, autostart=autostart, client_name=client_name, paths=paths)
    try:
        client.open()
    except ConfigProblem:
        raise
    except (DaemonUnavailable, DeadlineExceeded, PermissionProblem, Busy) as exc:
        if fallback == "none":
            raise
        remedy = f" ({exc.hint})" if isinstance(exc, PermissionProblem) else ""
        notices.append(f"{exc.message}{remedy}: reading the store directly, which is slower")
        return Connection(_read_only_client(timeout_s, client_name), notices, is_read_only=True)
    if (notice := _check_version(client)) is not None:
        notices.append(notice)
    return Connection(client, notices)


def _read_only_client(timeout_s: float, client_name: str) -> Client:
    # The child imports the table engine before it can greet, however short the caller's patience.
    client = Client(
        timeout_s=max(timeout_s, _READ_ONLY_TIMEOUT_S),
        hello_timeout_s=_READ_ONLY_TIMEOUT_S,
        autostart=False,
        client_name=client_name,
        transport=PipeTransport(),
    )
    client.open()
    return client


def _version_tuple(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _check_version(client: Client) -> str | None:
    """Ask an older daemon of ours to leave in a quiet moment; a newer one serves silently."""
    hello = client.hello
    if hello is None or _version_tuple(hello.version) >= _version_tuple(VERSION):
        return None
    if hello.managed_by != "self":
        return (
            f"the daemon is version {hello.version}, this is {VERSION}: "
            f"restart it through {hello.managed_by}"
        )
    client.shutdown(when="idle")
    return (
        f"the daemon is version {hello.version}, this is {VERSION}: the next call starts a new one"
    )


def start(paths: Paths, *, timeout_s: float = launch.START_TIMEOUT_S) -> StatusResult:
    """Start the daemon if none runs and return its status."""
    with Client(paths=paths, timeout_s=timeout_s, client_name="cli") as client:
        return client.status()


def status(paths: Paths, *, timeout_s: float = 5.0) -> StatusResult | None:
    """Return the status of the running daemon, None if none runs; starts nothing."""
    found = launch.probe(paths)
    if found.state == "absent":
        return None
    if found.state != "ready":
        return StatusResult(
            pid=int(found.discovery.get("pid", 0)),
            state=found.state,
            version=str(found.discovery.get("version", "")),
            socket=str(found.socket),
        )
    with Client(paths=paths, autostart=False, timeout_s=timeout_s, client_name="cli") as client:
        return client.status()


def stop(paths: Paths, *, wait_s: float = STOP_TIMEOUT_S) -> bool:
    """Stop the daemon; False if none ran.

    First by asking, then by SIGTERM to the process that holds the lock; never by SIGKILL, which is
    for the person at the keyboard to decide.
    """
    found = launch.probe(paths)
    if found.state == "absent":
        return False
    try:
        with Client(paths=paths, autostart=False, timeout_s=5.0, client_name="cli") as client:
            client.shutdown()
    except HindsightError:
        _terminate(paths, found.discovery)
    deadline = time.monotonic() + wait_s
    while launch.is_lock_held(paths):
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"daemon {found.discovery.get('pid', '?')} did not stop within {wait_s:g} s",
                hint=f"`kill -9 {found.discovery.get('pid', 'PID')}` loses nothing acknowledged",
            )
        select.select([], [], [], _POLL_S)
    return True


def _terminate(paths: Paths, discovery: dict[str, Any]) -> None:
    # A pid may have been reused by now: only the holder of the lock is ours, and the lock file
    # names its pid.
    pid = discovery.get("pid")
    if isinstance(pid, int) and pid > 1 and launch.is_lock_held(paths) and _holds(paths, pid):
        os.kill(pid, signal.SIGTERM)


def _holds(paths: Paths, pid: int) -> bool:
    try:
        text = Path(paths.lock_file).read_text(encoding="utf-8")
    except OSError:
        return False
    return f'"pid": {pid},' in text
