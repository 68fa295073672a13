"""The lifetime lock: at most one daemon for each store, whatever its environment says."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from hindsight_daemon.errors import Busy, PermissionProblem


class LifetimeLock:
    """An exclusive flock held until `release` or the end of the process.

    The file's content (pid and version) is for people; the lock alone decides. The descriptor is
    not inherited, so a child cannot keep a dead daemon's lock alive.
    """

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self.path = path

    def release(self) -> None:
        """Give the lock up; the file stays, since removing it would race with the next holder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def acquire_lifetime_lock(path: Path, facts: dict[str, object]) -> LifetimeLock:
    """Take the lock or raise `Busy` if another daemon holds it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise PermissionProblem(f"cannot open `{path}`: {exc.strerror}") from exc
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(fd)
        raise Busy(
            f"another daemon already runs on this store (lock `{path}`)",
            hint="`hindsight daemon status`",
        ) from exc
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps(facts).encode(), 0)
    return LifetimeLock(fd, path)
