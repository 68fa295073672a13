"""Finds a running daemon and starts one: probe, start lock, spawn, readiness pipe.

Public; used by the client's autostart and by the command line's lifecycle verbs. The kernel lock
on `Paths.lock_file` is the truth about "is a daemon running", never a pid in a file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from hindsight_daemon.errors import (
    DaemonStartFailed,
    DaemonUnavailable,
    DeadlineExceeded,
    PermissionProblem,
    UnsupportedPlatform,
    error_from_wire,
)
from hindsight_daemon.locations import SOCKET_PATH_LIMIT_BYTES
from hindsight_daemon.paths import Paths, ensure_private_dir
from hindsight_daemon.peer import peer_uid

START_TIMEOUT_S = 30.0
_POLL_S = 0.02

ProbeState = Literal["ready", "starting", "unreachable", "absent"]


class Probe(Struct, frozen=True):
    """What a look at the daemon found.

    `absent`: nobody holds the lock. `unreachable`: somebody does but the socket does not answer.
    `discovery` is the content of the discovery file, empty if there is none.
    """

    state: ProbeState
    socket: Path
    discovery: dict[str, Any]
    problem: str = ""


def check_platform() -> None:
    """Raise `UnsupportedPlatform` where Unix sockets and flock do not exist."""
    if sys.platform == "win32":
        raise UnsupportedPlatform("hindsight does not run on Windows itself")


def read_discovery(paths: Paths) -> dict[str, Any]:
    """Return the discovery file's content; empty if it is absent or unreadable."""
    try:
        found = json.loads(paths.discovery_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_lock_held(paths: Paths) -> bool:
    """Tell whether a daemon holds the lifetime lock of this store."""
    try:
        fd = os.open(paths.lock_file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def connect_socket(path: Path, timeout_s: float) -> socket.socket:
    """Connect to a daemon's socket; raises OSError as the kernel gives it.

    Raises `PermissionProblem` if another user serves it: in `/tmp` somebody else may be quicker.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT_BYTES:
        raise DaemonUnavailable(
            f"socket path `{path}` is longer than {SOCKET_PATH_LIMIT_BYTES} bytes",
            hint="set HINDSIGHT_SOCKET to a shorter path",
        )
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(os.fspath(path))
        if (owner := peer_uid(sock)) != os.getuid():
            raise PermissionProblem(
                f"`{path}` is served by user {owner}, not by you",
                hint="set HINDSIGHT_SOCKET to a path in a folder of your own",
            )
    except BaseException:
        sock.close()
        raise
    return sock


def find_socket(paths: Paths, discovery: dict[str, Any]) -> Path:
    """Prefer the socket that the running daemon announced: environments differ between shells."""
    announced = discovery.get("socket")
    return Path(announced) if isinstance(announced, str) and announced else paths.socket


def probe(paths: Paths, *, timeout_s: float = 1.0) -> Probe:
    """Look whether a daemon runs and answers; never starts or removes anything."""
    discovery = read_discovery(paths)
    path = find_socket(paths, discovery)
    try:
        sock = connect_socket(path, timeout_s)
    except (OSError, DaemonUnavailable) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        problem = f"`{path}`: {reason}"
        if is_lock_held(paths):
            state: ProbeState = "starting" if not discovery else "unreachable"
            return Probe(state, path, discovery, problem)
        return Probe("absent", path, discovery, problem)
    sock.close()
    return Probe("ready", path, discovery)


@contextlib.contextmanager
def start_lock(paths: Paths, deadline: float) -> Iterator[None]:
    """Hold the lock that serialises starters; raises `DeadlineExceeded` at `deadline`."""
    ensure_private_dir(paths.state_dir)
    fd = os.open(paths.start_lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as exc:
                if time.monotonic() > deadline:
                    raise DeadlineExceeded("another start of the daemon does not end") from exc
            select.select([], [], [], _POLL_S)
        yield
    finally:
        os.close(fd)


def _log_tail(paths: Paths, size_bytes: int = 2000) -> str:
    try:
        with paths.log_file.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - size_bytes))
            return log.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _await_ready(
    process: subprocess.Popen[bytes], pipe: int, paths: Paths, deadline: float
) -> None:
    # The child writes one line when it listens; EOF before that means that it died.
    received = b""
    while b"\n" not in received:
        remaining = deadline - time.monotonic()
        readable = select.select([pipe], [], [], max(0.0, remaining))[0]
        if not readable:
            raise DeadlineExceeded(
                f"the daemon (pid {process.pid}) did not get ready in time",
                hint="`hindsight daemon logs` shows what it does",
            )
        chunk = os.read(pipe, 4096)
        if not chunk:
            status = process.wait(timeout=5)
            tail = received.decode("utf-8", "replace").strip() or _log_tail(paths)
            last = tail.splitlines()[-1] if tail else "no output"
            raise DaemonStartFailed(
                f"the daemon ended with status {status} before it was ready: {last}",
                exit_status=status,
                log=tail,
            )
        received += chunk
    if not received.startswith(b"ready"):
        process.wait(timeout=5)
        _raise_reported(received)


def _raise_reported(line: bytes) -> None:
    # The child reports why it cannot start as an error object, so that code and hint survive.
    try:
        told = json.loads(line)
        raise error_from_wire(told["code"], told["message"], told["hint"], {})
    except (ValueError, KeyError, TypeError):
        text = line.decode("utf-8", "replace").strip()
        raise DaemonStartFailed(f"the daemon could not start: {text}") from None


def spawn(paths: Paths, *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Start a daemon in a session of its own and wait until it listens.

    The child is executed, never forked from this process with its threads and native libraries.
    """
    check_platform()
    ensure_private_dir(paths.state_dir)
    deadline = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    try:
        try:
            log = os.open(
                paths.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
        except OSError as exc:
            raise PermissionProblem(f"cannot write `{paths.log_file}`: {exc.strerror}") from exc
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "hindsight_daemon", "--ready-fd", str(writer)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                pass_fds=(writer,),
                start_new_session=True,
                env=_child_environment(),
            )
        except OSError as exc:
            raise DaemonStartFailed(f"cannot execute `{sys.executable}`: {exc.strerror}") from exc
        finally:
            os.close(log)
            os.close(writer)
        _await_ready(process, reader, paths, deadline)
        # Nobody waits for the daemon: it outlives us by design, so the object's reminder that a
        # child still runs would be noise.
        process.returncode = 0
    finally:
        os.close(reader)


def _child_environment() -> dict[str, str]:
    # The child's folder is `/`, so relative places must be made absolute here.
    env = dict(os.environ)
    for name in ("HINDSIGHT_HOME", "HINDSIGHT_SOCKET", "HINDSIGHT_CONFIG"):
        if env.get(name):
            env[name] = os.path.abspath(os.path.expanduser(env[name]))  # noqa: PTH100, PTH111
    own = [os.path.abspath(p) for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]  # noqa: PTH100
    here = str(Path(__file__).resolve().parent.parent)
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*own, here]))
    return env


def ensure_running(paths: Paths, *, timeout_s: float = START_TIMEOUT_S) -> Probe:
    """Return a ready probe, starting the daemon if nobody holds its lock.

    Raises `DaemonUnavailable` when autostart is switched off, `DaemonStartFailed` when the daemon
    ends at once, `DeadlineExceeded` when somebody else's start takes too long.
    """
    check_platform()
    found = probe(paths)
    if found.state == "ready":
        return found
    if os.environ.get("HINDSIGHT_NO_AUTOSTART"):
        raise DaemonUnavailable(
            f"no daemon answers at `{found.socket}` and HINDSIGHT_NO_AUTOSTART is set",
            hint="`hindsight daemon start`",
        )
    deadline = time.monotonic() + timeout_s
    with start_lock(paths, deadline):
        while True:
            found = probe(paths)
            if found.state == "ready":
                return found
            if found.state == "absent":
                spawn(paths, timeout_s=max(1.0, deadline - time.monotonic()))
                return probe(paths)
            if time.monotonic() > deadline:
                raise DaemonUnavailable(
                    f"a daemon holds the lock but does not answer: {found.problem}",
                    hint="`hindsight daemon restart`",
                )
            select.select([], [], [], _POLL_S)
