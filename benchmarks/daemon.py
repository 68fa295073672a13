"""A real daemon in a temporary home, for as long as a benchmark needs it."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hindsight_daemon.client import Client
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.launch import is_lock_held
from hindsight_daemon.paths import resolve_paths

CALL_TIMEOUT_S = 3600.0
_FOREIGN = ("HINDSIGHT_", "XDG_")
_STOP_WAIT_S = 30.0


@contextlib.contextmanager
def temporary_home(settings: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Point HINDSIGHT_HOME at an empty folder, removed afterwards; the user's stays untouched.

    `settings` are further environment variables, such as HINDSIGHT_EMBED_MODEL.
    """
    former = dict(os.environ)
    # Below /tmp, because the socket's path must stay short.
    home = Path(tempfile.mkdtemp(prefix="hs-bench-", dir="/tmp"))
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            del os.environ[name]
    os.environ["HINDSIGHT_HOME"] = str(home)
    os.environ["HINDSIGHT_WATCH"] = "false"
    os.environ.update(settings or {})
    try:
        yield home
    finally:
        os.environ.clear()
        os.environ.update(former)
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def daemon_in(home: Path) -> Iterator[Client]:
    """Start a daemon on the store in `home` and connect to it; it is stopped afterwards."""
    paths = resolve_paths()
    if not paths.data_dir.is_relative_to(home):
        raise RuntimeError(f"the environment does not point at `{home}`")
    with Client(timeout_s=CALL_TIMEOUT_S, client_name="benchmark") as client:
        client.stats()  # returns once the store is open
        try:
            yield client
        finally:
            pid = client.status().pid
            with contextlib.suppress(HindsightError):
                client.shutdown()
            _await_end(pid)
    if is_lock_held(paths):
        print(f"the benchmark's daemon (pid {pid}) did not stop", file=sys.stderr)


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process, 0 where /proc does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _await_end(pid: int) -> None:
    deadline = time.monotonic() + _STOP_WAIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        select.select([], [], [], 0.05)
