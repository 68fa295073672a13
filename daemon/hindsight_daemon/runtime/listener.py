"""The listening socket: private folder, stale file removal."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from pathlib import Path

from hindsight_daemon.errors import Busy, DaemonStartFailed, PermissionProblem
from hindsight_daemon.locations import SOCKET_PATH_LIMIT_BYTES
from hindsight_daemon.paths import ensure_private_dir

_SD_LISTEN_FDS_START = 3


def inherited_socket() -> socket.socket | None:
    """Return the socket a service manager passed (systemd LISTEN_FDS protocol), if any."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    if os.environ.get("LISTEN_FDS", "0") == "0":
        return None
    return socket.socket(fileno=_SD_LISTEN_FDS_START)


def listen(path: Path) -> socket.socket:
    """Bind and listen on `path` with mode 0600; the caller holds the lifetime lock.

    A socket file is removed only if connecting to it is refused, which under the lock proves that
    nobody serves it. A time-out proves nothing and is left alone.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT_BYTES:
        raise DaemonStartFailed(
            f"socket path `{path}` is longer than {SOCKET_PATH_LIMIT_BYTES} bytes",
            hint="set HINDSIGHT_SOCKET to a shorter path",
        )
    ensure_private_dir(path.parent)
    _remove_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        sock.bind(os.fspath(path))
        sock.listen(128)
    except OSError as exc:
        sock.close()
        raise PermissionProblem(f"cannot listen on `{path}`: {exc.strerror}") from exc
    finally:
        os.umask(mask)
    return sock


def _remove_stale(path: Path) -> None:
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe.settimeout(1.0)
    try:
        probe.connect(os.fspath(path))
    except FileNotFoundError:
        return
    except OSError as exc:
        if exc.errno not in (errno.ECONNREFUSED, errno.ENOTSOCK):
            raise Busy(f"`{path}` is in the way: {exc.strerror or exc}") from exc
        if exc.errno == errno.ENOTSOCK or not path.is_socket():
            raise PermissionProblem(f"`{path}` is in the way and is not a socket") from exc
        path.unlink(missing_ok=True)
        return
    finally:
        probe.close()
    raise Busy(f"something else already listens on `{path}`")


def unlink_own(path: Path, inode: int) -> None:
    """Remove the socket file if it is still the one this process bound."""
    with contextlib.suppress(OSError):
        if path.lstat().st_ino == inode:
            path.unlink()
