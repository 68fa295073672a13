"""`hindsight __ids PREFIX`: ids of memories for completion scripts, fast and silent.

The same imports as `fastpath` and no others. Starts no daemon, gives up after `CAP_S` whatever it
waits for, and says nothing of any trouble: a failing completion must not disturb the line that is
being typed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from hindsight_cli.fastpath import _socket_path as socket_path
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

CAP_S = 0.2
_MOST = 200
_SUMMARY_CHARACTERS = 60


def main(argv: list[str]) -> int:
    """Print one line of id, tab, kind and beginning of the text for each id that fits; always 0."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, CAP_S)
    try:
        lines = candidates(argv[0] if argv else "")
        sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8", "replace"))
        sys.stdout.flush()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        # No daemon, another version's answer, a reader that has gone.
        return 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def _give_up(_signal: int, _frame: object) -> None:
    os._exit(0)


def candidates(prefix: str) -> list[str]:
    """Return the lines for the newest memories whose id begins with `prefix`.

    Short ids, until more than a short id was typed.
    """
    lines = []
    for memory in ask_list()["memories"]:
        whole, short = memory["id"], memory.get("short_id") or memory["id"]
        name = whole if len(prefix) > len(short) else short
        if name.startswith(prefix):
            lines.append(f"{name}\t{memory['kind']}: {_summary(memory['text'])}")
    return lines


def _summary(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) <= _SUMMARY_CHARACTERS:
        return text
    return text[: _SUMMARY_CHARACTERS - 1] + "…"


def ask_list() -> dict[str, list[dict[str, str]]]:
    """Return the daemon's list of memories; raises OSError, ValueError or LookupError."""
    hello = {"client": "complete", "version": VERSION, "pid": os.getpid()}
    lines = [
        _call(1, "hello", {**hello, "protocol": _range()}),
        _call(2, "memory.list", {"limit": _MOST, "all_projects": True}),
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(socket_path())
        sock.sendall("".join(lines).encode())
        with sock.makefile("rb") as answers:
            for line in answers:
                message = json.loads(line)
                if message.get("id") == 2:
                    found: dict[str, list[dict[str, str]]] = message["result"]
                    return found
    raise LookupError("no answer")


def _range() -> dict[str, int]:
    return {"min": PROTOCOL_VERSIONS[0], "max": PROTOCOL_VERSIONS[-1]}


def _call(number: int, method: str, params: dict[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
