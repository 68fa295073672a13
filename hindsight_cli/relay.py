"""`hindsight mcp`: carries an agent's MCP bytes to the daemon and back.

One runs for each agent session, so it must start at once and stay small: it imports what the hot
path does and nothing of ours that imports more. Messages are looked at only to know which
requests still wait for an answer; when the daemon goes (an upgrade, a crash), the relay finds or
starts the next one, repeats the handshake and sends what was not answered again. Writes carry the
name of this relay and their request's id, so the daemon carries out each once.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from hindsight_cli.fastpath import socket_path
from hindsight_daemon.peer import peer_uid
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

MAX_LINE_BYTES = 8 * 1024 * 1024 - 1024
"""The daemon's cap, with room to spare."""
_CHUNK_BYTES = 1 << 16
_MOST_WAITING_BYTES = 4 * MAX_LINE_BYTES
_CONNECT_S = 60.0
_RETRY_S = 0.2
_LAST_ANSWERS_S = 60.0
_INTERNAL = -32603
_TOO_LONG = -32600
_PARSE_ERROR = -32700


class _RefusedError(Exception):
    """The daemon answers and says no; the message is its own."""


class _NoDaemonError(Exception):
    """No daemon can be reached; the message is for the agent."""


class Relay:
    """The state of one agent's session."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._name = os.urandom(8).hex()
        self._sock: socket.socket | None = None
        self._to_daemon = bytearray()
        self._from_agent = bytearray()
        self._from_daemon = bytearray()
        self._handshake: list[bytes] = []
        self._handshake_id: Any = None
        self._swallow: Any = None
        self._pending: dict[str, bytes] = {}
        self._repeated: set[str] = set()
        self._agent_is_gone = False

    def run(self) -> int:
        """Relay until the agent closes its end and all its requests are answered."""
        deadline = 0.0
        while True:
            if self._agent_is_gone:
                deadline = deadline or time.monotonic() + _LAST_ANSWERS_S
                if not self._pending or time.monotonic() > deadline:
                    return 0
            if self._sock is None and (self._to_daemon or self._pending):
                self._reconnect()
            self._turn()

    def _turn(self) -> None:
        reading: list[Any] = []
        if not self._agent_is_gone and len(self._to_daemon) < _MOST_WAITING_BYTES:
            reading.append(0)
        writing: list[Any] = []
        if self._sock is not None:
            reading.append(self._sock)
            if self._to_daemon:
                writing.append(self._sock)
        readable, writable, _ = select.select(reading, writing, [], 1.0)
        if 0 in readable:
            self._hear_agent()
        try:
            if self._sock in readable:
                self._hear_daemon()
            if self._sock is not None and self._sock in writable:
                del self._to_daemon[: self._sock.send(self._to_daemon[:_CHUNK_BYTES])]
        except OSError:
            self._lose()

    def _hear_agent(self) -> None:
        data = os.read(0, _CHUNK_BYTES)
        if not data:
            self._agent_is_gone = True
            return
        self._from_agent += data
        for line in _whole_lines(self._from_agent):
            self._take(line)
        if len(self._from_agent) > MAX_LINE_BYTES:
            # It cannot be told which request this is, only that it will not be carried out.
            self._from_agent.clear()
            self._answer(None, _TOO_LONG, f"a message has at most {MAX_LINE_BYTES} bytes")

    def _take(self, line: bytes) -> None:
        message = _parsed(line)
        if not message:
            # Answered here, so that no answer is still on its way when the agent has gone.
            if line.strip():
                self._answer(None, _PARSE_ERROR, "not a JSON-RPC message")
            return
        method, request_id = message.get("method"), message.get("id")
        if len(line) > MAX_LINE_BYTES:
            self._answer(request_id, _TOO_LONG, f"a message has at most {MAX_LINE_BYTES} bytes")
            return
        if method == "initialize":
            self._handshake, self._handshake_id = [line], request_id
        elif method == "notifications/initialized":
            self._handshake = [*self._handshake[:1], line]
        if method is not None and request_id is not None:
            self._pending[_key(request_id)] = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):
                self._pending.pop(_key(params.get("requestId")), None)
        self._to_daemon += line

    def _hear_daemon(self) -> None:
        assert self._sock is not None
        data = self._sock.recv(_CHUNK_BYTES)
        if not data:
            self._lose()
            return
        self._from_daemon += data
        for line in _whole_lines(self._from_daemon):
            message = _parsed(line)
            if "method" not in message and "id" in message:
                key = _key(message["id"])
                if key == self._swallow:
                    self._swallow = None
                    continue
                self._pending.pop(key, None)
                self._repeated.discard(key)
            _say(line)

    def _lose(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = None
        self._to_daemon.clear()
        self._from_daemon.clear()
        self._swallow = None
        # What brought the daemon down twice is not sent a third time.
        for key in self._repeated & set(self._pending):
            request_id = _parsed(self._pending.pop(key)).get("id")
            self._answer(request_id, _INTERNAL, "the hindsight daemon stopped while answering")
        self._repeated &= set(self._pending)

    def _reconnect(self) -> None:
        """Connect, starting a daemon if there is none, and repeat what is not answered."""
        try:
            self._sock = connect(self._agent, self._name)
        except _NoDaemonError as exc:
            for line in self._pending.values():
                self._answer(_parsed(line).get("id"), _INTERNAL, str(exc))
            self._pending.clear()
            self._to_daemon.clear()
            return
        # Lines that were queued before a daemon was there are among the unanswered or are
        # notifications of a session that begins anew.
        self._to_daemon.clear()
        if self._handshake and _key(self._handshake_id) not in self._pending:
            self._swallow = _key(self._handshake_id)
            for line in self._handshake:
                self._to_daemon += line
        for key, line in self._pending.items():
            self._to_daemon += line
            self._repeated.add(key)

    def _answer(self, request_id: Any, code: int, text: str) -> None:
        error = {"code": code, "message": text}
        body = {"jsonrpc": "2.0", "id": request_id, "error": error}
        _say(json.dumps(body).encode() + b"\n")


def _whole_lines(buffer: bytearray) -> list[bytes]:
    end = buffer.rfind(b"\n") + 1
    lines = bytes(buffer[:end]).splitlines(keepends=True)
    del buffer[:end]
    return lines


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(request_id: Any) -> str:
    # 1 and "1" are different ids.
    return json.dumps(request_id)


def _say(line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(1, view) :]


def connect(agent: str, name: str) -> socket.socket:
    """Return a connection that speaks MCP, starting the daemon if none answers."""
    deadline = time.monotonic() + _CONNECT_S
    has_started = False
    while True:
        problem = "the hindsight daemon does not answer"
        try:
            sock = _open(agent, name)
        except _RefusedError as exc:
            problem, sock = str(exc), None
        except (OSError, ValueError):
            sock = None
            if not has_started and not os.environ.get("HINDSIGHT_NO_AUTOSTART"):
                has_started = True
                _start_daemon()
        if sock is not None:
            return sock
        if time.monotonic() > deadline or os.environ.get("HINDSIGHT_NO_AUTOSTART"):
            raise _NoDaemonError(f"{problem}; `hindsight doctor` says why")
        select.select([], [], [], _RETRY_S)


def _open(agent: str, name: str) -> socket.socket | None:
    """Shake hands and ask for MCP; None while the daemon is still starting."""
    hello = {"client": "mcp", "agent": agent, "version": VERSION, "pid": os.getpid()}
    hello["protocol"] = {"min": PROTOCOL_VERSIONS[0], "max": PROTOCOL_VERSIONS[-1]}
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or _cwd()
    calls = (
        {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "mcp.open",
            "params": {"cwd": folder, "connection": name},
        },
    )
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(_CONNECT_S)
        sock.connect(socket_path())
        if peer_uid(sock) != os.getuid():
            raise OSError("the socket belongs to somebody else")
        sock.sendall(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
        received = bytearray()
        while received.count(b"\n") < len(calls):
            chunk = sock.recv(1 << 16)
            if not chunk:
                raise OSError("the daemon closed the connection")
            received += chunk
        answers = [json.loads(line) for line in bytes(received).splitlines()]
        for answer in answers:
            if error := answer.get("error"):
                code = (error.get("data") or {}).get("code", "")
                sock.close()
                if code == "daemon.starting":
                    return None
                raise _RefusedError(error.get("message", "the daemon refused"))
    except BaseException:
        sock.close()
        raise
    sock.settimeout(None)
    return sock


def _start_daemon() -> None:
    # In a process of its own: starting needs modules that this one should not carry for hours.
    command = [sys.executable, "-m", "hindsight_cli", "daemon", "start", "--quiet"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_CONNECT_S,
            check=False,
        )


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def agent_of(argv: list[str]) -> str | None:
    """Read the arguments after `mcp`: the agent's name, None for anything out of the ordinary."""
    if not argv:
        return ""
    if len(argv) == 2 and argv[0] == "--agent":
        return argv[1]
    if len(argv) == 1 and argv[0].startswith("--agent="):
        return argv[0].partition("=")[2]
    return None


def main(argv: list[str]) -> int | None:
    """Carry out `hindsight mcp ARGV`; None to let the full command line deal with it."""
    agent = agent_of(argv)
    if agent is None or sys.platform == "win32":
        return None
    return relay(agent)


def relay(agent: str) -> int:
    """Relay standard input and output until the agent goes; returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        return Relay(agent).run()
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
