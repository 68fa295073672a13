"""Ids of memories for completion scripts: `hindsight __ids PREFIX`.

Imports only what the hot path does, never starts a daemon, waits at most a moment, and stays
silent whatever happens: a failing completion must not disturb a line that is being typed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any

from hindsight_cli.fastpath import socket_path
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

_TIMEOUT_S = 0.2
_MOST = 50
_SUMMARY_CHARS = 60


def newest() -> list[dict[str, Any]]:
    """Ask the running daemon for its newest memories; empty if that takes long or fails."""
    hello = {"client": "complete", "version": VERSION, "pid": os.getpid()}
    hello["protocol"] = {"min": PROTOCOL_VERSIONS[0], "max": PROTOCOL_VERSIONS[-1]}
    calls = (
        {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "memory.list",
            "params": {"limit": _MOST, "all_projects": True},
        },
    )
    deadline = time.monotonic() + _TIMEOUT_S
    received = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(_TIMEOUT_S)
            sock.connect(socket_path())
            sock.sendall(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
            while received.count(b"\n") < len(calls):
                sock.settimeout(max(0.001, deadline - time.monotonic()))
                chunk = sock.recv(1 << 18)
                if not chunk:
                    return []
                received += chunk
        answer = json.loads(received.split(b"\n")[1])
        found: list[dict[str, Any]] = answer["result"]["memories"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return found


def lines_of(memories: list[dict[str, Any]], prefix: str) -> list[str]:
    """Return id, tab and a word about it for the memories whose id begins with `prefix`."""
    lines = []
    for memory in memories:
        short, whole = str(memory["short_id"]), str(memory["id"])
        name = short if len(prefix) <= len(short) else whole
        if name.startswith(prefix):
            text = " ".join(str(memory["text"]).split())
            text = "".join(c if c.isprintable() else " " for c in text)[:_SUMMARY_CHARS]
            lines.append(f"{name}\t{memory['kind']}: {text}")
    return lines


def main(argv: list[str]) -> int:
    """Print the lines; always 0."""
    lines = lines_of(newest(), argv[0] if argv else "")
    try:
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
