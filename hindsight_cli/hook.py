"""`hindsight hook EVENT`: an agent's hook, which must never be in the agent's way.

Imports what the hot path does. Reads the agent's JSON from standard input, asks the daemon within
a fifth of a second, prints what that agent accepts or nothing, and always exits 0: an agent takes
other codes for a veto. When no daemon answers, the end of a task is spooled for the next one,
which is started without waiting for it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from typing import Any

from hindsight_cli.fastpath import socket_path
from hindsight_daemon.locations import locate
from hindsight_daemon.peer import peer_uid
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

BUDGET_S = 0.2
_MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
_MAX_TEXT_CHARS = 16_000
_MAX_ITEMS = 64
_INPUT_WAIT_S = 2.0
_CONFIRM_S = 0.1
_ENDS = frozenset(
    (
        "stop",
        "agentstop",
        "afteragent",
        "stopfailure",
        "sessionend",
        "precompact",
        "precompress",
        "agentturncomplete",
    )
)


def main(argv: list[str]) -> int:
    """Carry out `hindsight hook ARGV`; always 0."""
    if sys.platform == "win32" or "--help" in argv or "-h" in argv:
        return 0
    name, agent, inline = _arguments(argv)
    if os.environ.get("HINDSIGHT_OWN_SESSION"):
        # The session of a command that hindsight itself runs, such as `claude -p`.
        return 0
    try:
        payload = _payload(inline)
        params = {"agent": agent, "event": name, "payload": _slim(payload), "cwd": _cwd()}
        if not _ask(params):
            _leave_for_later(params)
    except Exception:
        # Whatever it is, the agent goes on; `hindsight doctor` is the place to look.
        return 0
    return 0


def _arguments(argv: list[str]) -> tuple[str, str, str]:
    """Return event, agent and a payload given as last argument (Codex' `notify`)."""
    name, agent, inline = "", "", ""
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--agent" and rest:
            agent = rest.pop(0)
        elif word.startswith("--agent="):
            agent = word.partition("=")[2]
        elif word.startswith("{"):
            inline = word
        elif not name and not word.startswith("-"):
            name = word
    return name, agent, inline


def _payload(inline: str) -> dict[str, Any]:
    data = inline.encode("utf-8", "surrogateescape") if inline else _standard_input()
    if len(data) > _MAX_PAYLOAD_BYTES:
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _standard_input() -> bytes:
    # An agent that keeps the pipe open without a word must not be kept waiting.
    if sys.stdin is None or os.isatty(0):
        return b""
    data = bytearray()
    deadline = time.monotonic() + _INPUT_WAIT_S
    while len(data) <= _MAX_PAYLOAD_BYTES:
        readable, _, _ = select.select([0], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(0, 1 << 16) if readable else b""
        if not chunk:
            break
        data += chunk
    return bytes(data)


def _slim(value: Any, depth: int = 0) -> Any:
    """Return a payload with long texts and lists cut: a tool's whole output is not needed."""
    if isinstance(value, str):
        half = _MAX_TEXT_CHARS // 2
        return value if len(value) <= _MAX_TEXT_CHARS else f"{value[:half]}\n…\n{value[-half:]}"
    if isinstance(value, dict) and depth < 4:
        items = list(value.items())[:_MAX_ITEMS]
        return {str(key): _slim(one, depth + 1) for key, one in items}
    if isinstance(value, list) and depth < 4:
        return [_slim(one, depth + 1) for one in value[:_MAX_ITEMS]]
    return value if isinstance(value, int | float | bool) or value is None else ""


def _ask(params: dict[str, Any]) -> bool:
    """Ask, print and confirm; False if no daemon takes the call."""
    deadline = time.monotonic() + BUDGET_S
    params = {**params, "answer_by": time.time() + BUDGET_S}
    hello = {"client": "hook", "version": VERSION, "pid": os.getpid()}
    hello["protocol"] = {"min": PROTOCOL_VERSIONS[0], "max": PROTOCOL_VERSIONS[-1]}
    has_answered = False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(BUDGET_S)
            sock.connect(socket_path())
            if peer_uid(sock) != os.getuid():
                return True
            _send(sock, 1, "hello", hello)
            _send(sock, 2, "hook.run", params)
            _line(sock, deadline)
            has_answered = True
            answer = json.loads(_line(sock, deadline))
            if "error" in answer:
                return (answer["error"].get("data") or {}).get("code") != "daemon.starting"
            output = answer["result"].get("output", "")
            if output:
                sys.stdout.write(output + "\n")
                sys.stdout.flush()
                # Only what has been printed counts as given: a late answer may be given again.
                _send(sock, 3, "hook.given", {"recall_id": answer["result"].get("recall_id", "")})
                _line(sock, time.monotonic() + _CONFIRM_S)
    except TimeoutError:
        # Greeted and not answered in time: the daemon has the call.
        return has_answered
    except OSError:
        return has_answered
    return True


def _send(sock: socket.socket, number: int, method: str, params: dict[str, Any]) -> None:
    call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    sock.sendall(json.dumps(call).encode() + b"\n")


def _line(sock: socket.socket, deadline: float) -> bytes:
    """Return the next line; `TimeoutError` at the deadline."""
    received = bytearray()
    while not received.endswith(b"\n"):
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        # One line is read to its end and no further: answers come one at a time.
        seen = sock.recv(1 << 16, socket.MSG_PEEK)
        if not seen:
            raise OSError("the daemon has gone")
        received += sock.recv(seen.find(b"\n") + 1 or len(seen))
    return bytes(received)


def _leave_for_later(params: dict[str, Any]) -> None:
    told = params["payload"].get("hook_event_name", "")
    names = {"".join(c for c in str(n).lower() if c.isalpha()) for n in (params["event"], told)}
    if names & _ENDS:
        _spool(params)
    if not os.environ.get("HINDSIGHT_NO_AUTOSTART"):
        command = [sys.executable, "-m", "hindsight_cli", "daemon", "start", "--quiet"]
        null = os.open(os.devnull, os.O_RDWR)
        os.posix_spawn(
            sys.executable,
            command,
            dict(os.environ),
            file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in (0, 1, 2)],
            setsid=True,
        )


def _spool(params: dict[str, Any]) -> None:
    """Keep the call in the form of `hindsight_daemon.spool`, which is too slow to import here."""
    state = locate(dict(os.environ))["state_dir"]
    folder = f"{state}/spool"
    # The mode given to makedirs holds for the last folder only.
    os.umask(0o077)
    os.makedirs(folder, exist_ok=True)
    key = _time_ordered_id()
    call = {
        "method": "hook.run",
        "params": {**params, "payload": _ending_of(params["payload"]), "request_key": key},
        "client": "hook",
    }
    temporary = f"{folder}/{key}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, json.dumps(call).encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, f"{folder}/{key}.call.json")


def _ending_of(payload: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if isinstance(value, str)}


def _time_ordered_id() -> str:
    # UUIDv7 (RFC 9562): milliseconds, version, random bits.
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
