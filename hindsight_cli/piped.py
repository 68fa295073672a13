"""Takes a transcript from standard input: spooled to a private file, read while it grows.

The daemon reads files, so bytes go to a spool file first and the daemon is asked to read on
whenever enough came in or the stream falls silent. At the end of the stream (or on Ctrl-C) it is
asked for the last time and the file is removed. If that last call fails the file stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.errors import DiskFull, NoInput, OutputFailed
from hindsight_daemon.paths import Paths, ensure_private_dir

STEP_BYTES = 4 * 1024 * 1024
QUIET_S = 2.0
_CHUNK_BYTES = 1 << 16
_IMPLIED_WAIT_S = 1.0

Feed = Callable[[Path, bool], None]
"""Reads the file on; the flag says that nothing will follow."""


class Interrupted(Exception):
    """SIGTERM or SIGHUP arrived while the stream was read."""


def offered_bytes() -> bytes:
    """Return the beginning of what is piped in although nobody said `-`, empty if nothing is.

    Cron and agents hand over pipes in which nothing ever comes, so an implied stream must show
    its first bytes soon; an explicit `-` waits for ever.
    """
    try:
        if sys.stdin is None or sys.stdin.isatty():
            return b""
        source = sys.stdin.fileno()
        ready = select.select([source], [], [], _IMPLIED_WAIT_S)[0]
        return os.read(source, _CHUNK_BYTES) if ready else b""
    except (OSError, ValueError):
        return b""


@contextlib.contextmanager
def _ends_by_signal() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def take_stream(paths: Paths, feed: Feed, head: bytes = b"") -> bool:
    """Read stdin to its end and feed it; False if it was cut short by Ctrl-C or a signal.

    `head` is what was read of it before. Raises `NoInput` if nothing came, `DiskFull` or
    `OutputFailed` if the spool cannot be written.
    """
    ensure_private_dir(paths.state_dir)
    folder = ensure_private_dir(paths.spool_dir)
    file = folder / f"stdin-{new_id(SystemClock().now())}.jsonl"
    is_whole = True
    with _open_private(file) as fd:
        try:
            with _ends_by_signal():
                for _ in _copy(fd, file, head):
                    feed(file, False)
        except (KeyboardInterrupt, Interrupted):
            is_whole = False
        size_bytes = os.fstat(fd).st_size
    if not size_bytes:
        file.unlink(missing_ok=True)
        raise NoInput("standard input is empty")
    feed(file, True)
    file.unlink(missing_ok=True)
    return is_whole


@contextlib.contextmanager
def _open_private(file: Path) -> Iterator[int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        fd = os.open(file, flags, 0o600)
    except OSError as exc:
        raise OutputFailed(f"cannot write `{file}`: {exc.strerror}") from exc
    try:
        yield fd
    finally:
        os.close(fd)


def _copy(fd: int, file: Path, head: bytes) -> Iterator[None]:
    # Yields whenever it is time to read on.
    source = sys.stdin.fileno()
    _write_all(fd, head, file)
    total, fed = len(head), 0
    while True:
        if not select.select([source], [], [], QUIET_S)[0]:
            if total > fed:
                fed = total
                yield
            continue
        try:
            chunk = os.read(source, _CHUNK_BYTES)
        except OSError as exc:
            raise NoInput(f"cannot read standard input: {exc.strerror}") from exc
        if not chunk:
            return
        _write_all(fd, chunk, file)
        total += len(chunk)
        if total - fed >= STEP_BYTES:
            fed = total
            yield


def _write_all(fd: int, data: bytes, file: Path) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as exc:
        kind = DiskFull if exc.errno in (errno.ENOSPC, errno.EDQUOT) else OutputFailed
        raise kind(f"cannot write `{file}`: {exc.strerror}") from exc
