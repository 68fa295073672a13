"""Tells a service manager how the daemon is (sd_notify protocol); silent without one."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(*lines: str) -> None:
    """Send state lines such as `READY=1` to $NOTIFY_SOCKET; failures are not our problem."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    target = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto("\n".join(lines).encode(), target)


def manager() -> str:
    """Return what started this process: systemd, launchd or self."""
    if os.environ.get("NOTIFY_SOCKET") or os.environ.get("INVOCATION_ID"):
        return "systemd"
    return "launchd" if os.environ.get("HINDSIGHT_LAUNCHD") else "self"


def watchdog_interval_s() -> float | None:
    """Return how often the service manager wants a sign of life (half of WATCHDOG_USEC)."""
    usec = os.environ.get("WATCHDOG_USEC", "")
    return int(usec) / 2_000_000 if usec.isdigit() and int(usec) > 0 else None
