"""The socket server: connections, handshake order, limits, cancellation.

Hostile input ends in a coded error or a closed connection: lines are capped, unfinished lines
time out, the number of connections and of calls on each is bounded, and only the user who runs
the daemon is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from msgspec import UNSET

from hindsight_daemon.errors import (
    RPC_INVALID_PARAMS,
    BadFrame,
    Busy,
    DaemonStarting,
    HindsightError,
)
from hindsight_daemon.peer import peer_uid
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import Ack, Happening
from hindsight_daemon.protocol.envelope import (
    Notification,
    Reply,
    Request,
    decode_request,
    encode_line,
    error_object,
)
from hindsight_daemon.protocol.frames import MAX_FRAME_BYTES, LineBuffer
from hindsight_daemon.protocol.methods import METHODS
from hindsight_daemon.protocol.params import CancelParams, McpParams, Progress
from hindsight_daemon.runtime.dispatch import Dispatcher
from hindsight_daemon.runtime.logs import facts
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.projects import project_for

MAX_CONNECTIONS = 256
MAX_CALLS_PER_CONNECTION = 64
UNFINISHED_LINE_TIMEOUT_S = 30.0
_CHUNK_BYTES = 1 << 18

_log = logging.getLogger("hindsight.server")


class Tunnel(Protocol):
    """What takes over a connection: another protocol's lines in and out."""

    async def feed(self, line: bytes) -> None:
        """Take a line of the client."""

    async def close(self) -> None:
        """End it; the client is gone."""


Send = Callable[[bytes], Awaitable[None]]
OpenTunnel = Callable[[McpParams, str, Send], Awaitable[Tunnel]]
"""Parameters, the agent the connection was opened as, and where to write."""


class Activity:
    """Counts what the server is doing, for status, idle exit and graceful shutdown."""

    def __init__(self) -> None:
        self.connections = 0
        self.calls = 0
        self.last_call_at = time.monotonic()


class Connection:
    """One client: reads lines, runs calls side by side, writes replies in order of completion."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dispatcher: Dispatcher,
        activity: Activity,
        open_tunnel: OpenTunnel | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._dispatcher = dispatcher
        self._activity = activity
        self._buffer = LineBuffer(MAX_FRAME_BYTES)
        self._tasks: dict[int | str | None, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MAX_CALLS_PER_CONNECTION)
        self._write_lock = asyncio.Lock()
        self._client = ""
        self._agent = ""
        self._project = ""
        self._open_tunnel = open_tunnel
        self._tunnel: Tunnel | None = None

    async def serve(self) -> None:
        """Talk to the client until it goes or breaks the rules."""
        try:
            await self._read_lines()
        except BadFrame as exc:
            await self._send(Reply(id=None, error=error_object(exc)))
        except (ConnectionError, TimeoutError):
            pass
        finally:
            await self._finish()

    async def _read_lines(self) -> None:
        while True:
            timeout = UNFINISHED_LINE_TIMEOUT_S if self._buffer.pending_bytes else None
            async with asyncio.timeout(timeout):
                data = await self._reader.read(_CHUNK_BYTES)
            if not data:
                return
            for line in self._buffer.feed(data):
                if self._tunnel is not None:
                    await self._tunnel.feed(line)
                else:
                    await self._accept(line)

    async def _accept(self, line: bytes) -> None:
        try:
            request = decode_request(line)
        except BadFrame as exc:
            # The line was whole, so the stream is still in step: answer and go on.
            await self._send(Reply(id=None, error=error_object(exc)))
            if not self._client:
                raise ConnectionError("no handshake") from exc
            return
        if not self._client:
            await self._shake_hands(request)
        elif request.method == "mcp.open":
            await self._become_tunnel(request)
        elif request.method == "cancel":
            await self._cancel(request)
        else:
            await self._slots.acquire()
            task = asyncio.create_task(self._run(request))
            key = None if request.id is UNSET else request.id
            self._tasks[key] = task

    async def _shake_hands(self, request: Request) -> None:
        if request.method != "hello":
            raise BadFrame("the first message of a connection must be `hello`")
        self._client = "?"
        with contextlib.suppress(msgspec.MsgspecError):
            told = msgspec.json.decode(request.params, type=dict[str, object])
            self._client = str(told.get("client", ""))[:100] or "?"
            self._agent = str(told.get("agent", ""))[:64]
            if self._agent:
                self._project = project_for("", str(told.get("cwd", "")))
        reply = await self._dispatcher.reply_to(request, self._call(request))
        if reply is not None:
            await self._send(reply)
            if reply.error is not UNSET:
                raise ConnectionError("handshake refused")

    async def _cancel(self, request: Request) -> None:
        message = "no such call"
        with contextlib.suppress(msgspec.MsgspecError):
            wanted = msgspec.json.decode(request.params, type=CancelParams).request
            if (task := self._tasks.get(wanted)) is not None:
                task.cancel()
                message = "cancelled"
        if request.id is not UNSET:
            body = msgspec.Raw(msgspec.json.encode(Ack(message=message)))
            await self._send(Reply(id=request.id, result=body))

    def _call(self, request: Request) -> Call:
        request_id = None if request.id is UNSET else request.id

        async def report(stage: str, done: int, total: int, detail: str) -> None:
            body: Document = Progress(
                request=request_id,
                stage=stage,
                done=done,
                total=total,
                detail=detail,
                item=call.item,
                items=call.items,
            )
            await self._send(Notification(method="progress", params=body))

        async def notify(happening: Happening) -> None:
            await self._send(Notification(method="event", params=happening))

        call = Call(
            client=self._client,
            agent=self._agent,
            project=self._project,
            report=report,
            notify=notify,
        )
        return call

    async def _become_tunnel(self, request: Request) -> None:
        """Answer, and hand every further line to an MCP session."""
        request_id = None if request.id is UNSET else request.id
        try:
            params = msgspec.json.decode(request.params, type=McpParams)
            if self._open_tunnel is None:
                raise DaemonStarting("the daemon is loading its store")
            opened = await self._open_tunnel(params, self._agent, self._send_bytes)
        except msgspec.MsgspecError as exc:
            bad = BadFrame(f"parameters of `mcp.open`: {exc}", rpc=RPC_INVALID_PARAMS)
            await self._send(Reply(id=request_id, error=error_object(bad)))
            return
        except HindsightError as exc:
            await self._send(Reply(id=request_id, error=error_object(exc)))
            return
        body = msgspec.Raw(msgspec.json.encode(Ack(message="mcp")))
        await self._send(Reply(id=request_id, result=body))
        self._tunnel = opened

    async def _run(self, request: Request) -> None:
        method = METHODS.get(request.method)
        # Who only listens must not hold up an idle exit or a stop.
        weight = 0 if method is not None and method.is_stream else 1
        self._activity.calls += weight
        key = None if request.id is UNSET else request.id
        try:
            reply = await self._dispatcher.reply_to(request, self._call(request))
        except asyncio.CancelledError:
            reply = Reply(id=key, error=error_object(Busy("the call was cancelled")))
        finally:
            self._activity.calls -= weight
            self._activity.last_call_at = time.monotonic()
            self._tasks.pop(key, None)
            self._slots.release()
        if reply is not None:
            with contextlib.suppress(ConnectionError):
                await self._send(reply)

    async def _send(self, message: object) -> None:
        data = encode_line(message)
        if len(data) > MAX_FRAME_BYTES and isinstance(message, Reply):
            too_long = HindsightError(
                "the answer is longer than a message may be", hint="ask for fewer results"
            )
            data = encode_line(Reply(id=message.id, error=error_object(too_long)))
        await self._send_bytes(data)

    async def _send_bytes(self, data: bytes) -> None:
        async with self._write_lock:
            if not self._writer.is_closing():
                self._writer.write(data)
                with contextlib.suppress(ConnectionError):
                    await self._writer.drain()

    async def _finish(self) -> None:
        # A client that goes away cancels what it asked for; committed writes stay committed,
        # since the store shields its transactions.
        for task in list(self._tasks.values()):
            task.cancel()
        if self._tunnel is not None:
            await self._tunnel.close()
        self._writer.close()
        with contextlib.suppress(ConnectionError, OSError):
            await self._writer.wait_closed()


class Server:
    """Accepts connections on a bound socket."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._server: asyncio.Server | None = None
        self.open_tunnel: OpenTunnel | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.activity = Activity()

    async def start(self, sock: socket.socket) -> None:
        """Begin to accept."""
        self._server = await asyncio.start_unix_server(self._on_connect, sock=sock)

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        uid = peer_uid(sock)
        if uid != os.getuid():
            _log.warning("connection.refused", extra=facts(peer_uid=uid))
            writer.close()
            return
        if self.activity.connections >= MAX_CONNECTIONS:
            busy = Reply(id=None, error=error_object(Busy("too many connections")))
            writer.write(encode_line(busy))
            writer.close()
            return
        self.activity.connections += 1
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
        try:
            await Connection(
                reader, writer, self._dispatcher, self.activity, self.open_tunnel
            ).serve()
        except asyncio.CancelledError:
            # Only shutdown cancels connections; ending quietly keeps asyncio's log clean.
            pass
        finally:
            self.activity.connections -= 1
            if task is not None:
                self._connections.discard(task)

    async def stop(self, *, grace_s: float) -> None:
        """Stop accepting, let running calls finish within `grace_s`, then close what is left."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while self.activity.calls:
                    await asyncio.sleep(0.02)
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=1.0)
