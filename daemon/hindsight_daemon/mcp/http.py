"""MCP over HTTP on loopback: streamable HTTP, and SSE for older clients; off unless asked for.

Every request needs the bearer token, which is made on first use and kept in a file only its
owner can read. Host and Origin are checked by the SDK's middleware against DNS rebinding.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope
from starlette.types import Send as AsgiSend

from hindsight_daemon.errors import Busy, PermissionProblem
from hindsight_daemon.mcp.calls import Handlers
from hindsight_daemon.mcp.reader import Reader, agent_name
from hindsight_daemon.mcp.server import Context, build_server, client_name
from hindsight_daemon.paths import Paths

HOST = "127.0.0.1"
AGENT_HEADER = "x-hindsight-agent"
FOLDER_HEADER = "x-hindsight-cwd"
"""Set in a client's configuration: a request over HTTP has no folder of its own."""
_START_S = 10.0
_STOP_S = 3.0
_BODY_BYTES = 4 * 1024 * 1024


def token_of(path: Path) -> str:
    """Return the token in `path`, made on first use with mode 0600.

    Raises `PermissionProblem` for a file that others may read: its token is no secret any more.
    """
    with contextlib.suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    found = path.lstat()
    if found.st_mode & 0o077 or found.st_uid != os.getuid() or path.is_symlink():
        raise PermissionProblem(
            f"token file `{path}` can be read by others",
            hint="remove it: a new token is made on the next start",
        )
    token = path.read_text(encoding="ascii").strip()
    if len(token) < 32:
        raise PermissionProblem(
            f"token file `{path}` holds no token", hint="remove it: a new one is made"
        )
    return token


class TokenGate:
    """Lets only requests with the bearer token through."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        """Answer 401 to a request without the token."""
        if scope["type"] == "http":
            scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            is_known = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
            if scheme.lower() != "bearer" or not is_known:
                refused = PlainTextResponse(
                    "a bearer token is needed: see `hindsight daemon --http`\n",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _QuietServer(uvicorn.Server):
    """Leaves signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpSide:
    """The running HTTP endpoint."""

    def __init__(self, server: _QuietServer, task: asyncio.Task[None], token_file: Path) -> None:
        self._server = server
        self._task = task
        self.token_file = token_file

    @property
    def port(self) -> int:
        """The port it listens on."""
        address: tuple[str, int] = self._server.servers[0].sockets[0].getsockname()
        return address[1]

    async def stop(self) -> None:
        """Close the listener and what is left of its connections."""
        self._server.should_exit = True
        self._server.force_exit = True
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(self._task, _STOP_S)


def _identify(context: Context) -> Reader:
    headers = getattr(context.request, "headers", {})
    return Reader(
        agent=agent_name(headers.get(AGENT_HEADER, ""), client_name(context)),
        cwd=headers.get(FOLDER_HEADER, ""),
    )


def build_app(handlers: Handlers, token: str) -> ASGIApp:
    """Return the ASGI app: `/mcp` (streamable HTTP), `/sse` with `/messages/`, behind the token."""
    server: Server[Any] = build_server(handlers, _identify)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=["127.0.0.1:*", "localhost:*"],
        allowed_origins=["http://127.0.0.1:*", "http://localhost:*"],
    )
    manager = StreamableHTTPSessionManager(
        app=server, security_settings=security, max_request_body_size=_BODY_BYTES
    )
    sse = SseServerTransport(
        "/messages/", security_settings=security, max_request_body_size=_BODY_BYTES
    )

    class SseEndpoint:
        async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
            async with sse.connect_sse(scope, receive, send) as (inbound, outbound):
                await server.run(inbound, outbound, server.create_initialization_options())

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(
        routes=[
            Route("/mcp", endpoint=StreamableHTTPASGIApp(manager)),
            Route("/sse", endpoint=SseEndpoint(), methods=["GET"]),
            Mount("/messages/", app=sse.handle_post_message),
        ],
        lifespan=lifespan,
    )
    return TokenGate(app, token)


async def start_http(handlers: Handlers, paths: Paths, port: int) -> HttpSide:
    """Listen on loopback; raises `Busy` if the port is taken."""
    token_file = paths.state_dir / "http-token"
    app = build_app(handlers, token_of(token_file))
    config = uvicorn.Config(
        app,
        host=HOST,
        port=port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    server = _QuietServer(config)
    task = asyncio.create_task(_serve(server, port))
    async with asyncio.timeout(_START_S):
        while not server.started:
            if task.done():
                await task
            await asyncio.sleep(0.01)
    return HttpSide(server, task, token_file)


async def _serve(server: _QuietServer, port: int) -> None:
    try:
        await server.serve()
    except SystemExit as exc:
        # uvicorn ends the process where it cannot bind.
        raise Busy(
            f"cannot listen on {HOST}:{port}", hint="name another: `hindsight daemon --http --port`"
        ) from exc
