"""MCP over a connection of the daemon's own socket: lines in, lines out.

`hindsight mcp` opens a connection, asks for MCP on it and from then on only carries bytes, so the
SDK lives here, once, whatever the number of agents.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from hindsight_daemon.mcp.calls import Handlers
from hindsight_daemon.mcp.reader import Reader, agent_name
from hindsight_daemon.mcp.server import Context, build_server, client_name
from hindsight_daemon.protocol.params import McpParams

Send = Callable[[bytes], Awaitable[None]]
_QUEUE = 64


def open_tunnel(handlers: Handlers, params: McpParams, agent: str, send: Send) -> Tunnel:
    """Return a running MCP session for the agent the connection was opened as, if it named one."""

    def identify(context: Context) -> Reader:
        return Reader(
            agent=agent_name(agent, client_name(context)),
            cwd=params.cwd,
            connection=params.connection,
        )

    return Tunnel(build_server(handlers, identify), send)


class Tunnel:
    """One client's MCP session; `feed` takes its lines, `send` gets the server's."""

    def __init__(self, server: Server[Any], send: Send) -> None:
        self._send = send
        self._inlet, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](_QUEUE)
        outbound, self._outlet = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
        options = server.create_initialization_options()
        self._tasks = [
            asyncio.create_task(server.run(inbound, outbound, options)),
            asyncio.create_task(self._carry_back()),
        ]

    async def _carry_back(self) -> None:
        async with self._outlet:
            async for message in self._outlet:
                body = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._send(body.encode() + b"\n")

    async def feed(self, line: bytes) -> None:
        """Take one line of the client; what is no message is answered as JSON-RPC asks."""
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as exc:
            await self._refuse(line, exc)
            return
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._inlet.send(SessionMessage(message))

    async def _refuse(self, line: bytes, problem: ValidationError) -> None:
        code, told, request_id = PARSE_ERROR, "not JSON", None
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            body = msgspec.json.decode(line)
            code, told = INVALID_REQUEST, f"no JSON-RPC message: {problem.errors()[0]['msg']}"
            if isinstance(body, dict) and isinstance(body.get("id"), int | str):
                request_id = body["id"]
        error = {"code": code, "message": told}
        answer = {"jsonrpc": "2.0", "id": request_id, "error": error}
        await self._send(msgspec.json.encode(answer) + b"\n")

    async def close(self) -> None:
        """End the session: no more input, running calls are cancelled."""
        await self._inlet.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
