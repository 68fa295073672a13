"""The hot path: `hindsight recall` against a warm daemon, without Typer, msgspec or pathlib.

May import `sys`, `os`, `socket`, `json` and modules of ours that import no more: bare Python
starts in 25 ms, these add about 30, the full command line 200. Whatever is not plain (an option
it does not know, no daemon, an error, a version that differs) is left to the full command line,
which then says everything properly. Nothing is printed before the answer is complete, and an
output that cannot be written fails again there, so handing over is safe.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from hindsight_daemon.locations import locate
from hindsight_daemon.peer import peer_uid
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

_TIMEOUT_S = 30.0
_CANNOT_CREATE = 73
_VALUE_OPTIONS = {
    "--limit": "limit",
    "-n": "limit",
    "--budget": "budget_tokens",
    "--project": "project",
    "-p": "project",
    "--task-type": "task_type",
}
_LIST_OPTIONS = {"--layer": "layers", "--kind": "kinds", "-k": "kinds", "--include": "include"}
_NUMBERS = ("limit", "budget_tokens")


class Parsed:
    """A recall command line in the form the daemon wants it."""

    def __init__(self) -> None:
        self.params: dict[str, object] = {}
        self.format = "text"


def parse(argv: list[str]) -> Parsed | None:
    """Read the arguments after `recall`; None for anything out of the ordinary."""
    parsed = Parsed()
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in _VALUE_OPTIONS or name in _LIST_OPTIONS or name in ("--format", "-f"):
            if not has_value:
                if not rest:
                    return None
                value = rest.pop(0)
            if not _take_value(parsed, name, value):
                return None
        elif word == "--json":
            parsed.format = "json"
        elif word == "--all-projects":
            parsed.params["all_projects"] = True
        elif word.startswith("-"):
            return None
        else:
            words.append(word)
    query = " ".join(words)
    if not query.strip():
        return None
    parsed.params["query"] = query
    return parsed


def _take_value(parsed: Parsed, name: str, value: str) -> bool:
    if name in ("--format", "-f"):
        parsed.format = value
        return value in ("text", "context", "json")
    if name in _LIST_OPTIONS:
        listed = parsed.params.setdefault(_LIST_OPTIONS[name], [])
        if isinstance(listed, list):
            listed.append(value)
        return True
    key = _VALUE_OPTIONS[name]
    if key in _NUMBERS:
        if not (value.isascii() and value.isdigit()):
            return False
        if not int(value):
            return False
        parsed.params[key] = int(value)
    else:
        parsed.params[key] = value
    return True


def socket_path() -> str:
    """Return where the daemon listens: what it announced, else where it would be."""
    places = locate(dict(os.environ))
    try:
        with open(places["state_dir"] + "/daemon.json", encoding="utf-8") as file:
            announced = json.load(file).get("socket")
    except (OSError, ValueError, AttributeError):
        announced = None
    return announced if isinstance(announced, str) and announced else places["socket"]


def ask(params: dict[str, object]) -> dict[str, object] | None:
    """Send hello and recall in one write; return the result, None if there is none."""
    low, high = PROTOCOL_VERSIONS[0], PROTOCOL_VERSIONS[-1]
    hello = {"client": "cli", "version": VERSION, "pid": os.getpid()}
    hello["protocol"] = {"min": low, "max": high}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "memory.recall", "params": params},
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode("utf-8", "surrogatepass")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(_TIMEOUT_S)
        try:
            sock.connect(socket_path())
            if peer_uid(sock) != os.getuid():
                return None
            sock.sendall(data)
            return _read_answer(sock)
        except (OSError, ValueError):
            return None


def _read_answer(sock: socket.socket) -> dict[str, object] | None:
    with sock.makefile("rb") as lines:
        for line in lines:
            message = json.loads(line)
            if "error" in message:
                return None
            result = message.get("result") or {}
            if message.get("id") == 1 and result.get("version") != VERSION:
                return None
            if message.get("id") == 2:
                found: dict[str, object] = result
                return found
    return None


def recall(argv: list[str]) -> int | None:
    """Carry out `hindsight recall ARGV`; the exit code, or None to let the full command do it."""
    parsed = parse(argv)
    if parsed is None or sys.platform == "win32":
        return None
    params = {**parsed.params, "cwd": _cwd()}
    if parsed.format == "context":
        params["with_context"] = True
    result = ask(params)
    if result is None:
        return None
    from hindsight_cli.recall_text import write_recall

    if sys.stdout is None:
        return None
    try:
        return write_recall(result, parsed.format)
    except OSError as exc:
        return cannot_write(exc)


def cannot_write(exc: OSError) -> int:
    """Say that standard output takes nothing and return the exit code for it."""
    # Said here: what is still buffered must not fail again, with a code of its own, at the end.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    told = f"error: cannot write the result: {exc.strerror}\n\n"
    try:
        sys.stderr.write(told + "hint: check the path and its permissions\n")
        sys.stderr.flush()
    except (OSError, AttributeError):
        pass  # nobody is left to be told
    return _CANNOT_CREATE


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
