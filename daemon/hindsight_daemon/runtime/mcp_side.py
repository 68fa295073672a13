"""The daemon's MCP side: loads the SDK when the first client asks for it.

Importing the SDK costs a second and about 60 MB, which a daemon without MCP clients never pays.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from hindsight_daemon.config import McpSettings
from hindsight_daemon.paths import Paths
from hindsight_daemon.protocol.params import McpParams
from hindsight_daemon.runtime.server import Send

if TYPE_CHECKING:
    from hindsight_daemon.mcp.http import HttpSide
    from hindsight_daemon.mcp.tunnel import Tunnel


class McpSide:
    """Opens MCP sessions on connections, and the HTTP endpoint if it is wanted."""

    def __init__(self, handlers: dict[str, Any], paths: Paths, settings: McpSettings) -> None:
        self._handlers = handlers
        self._paths = paths
        self._settings = settings
        self._http: HttpSide | None = None
        self._http_lock = asyncio.Lock()

    async def open_tunnel(self, params: McpParams, agent: str, send: Send) -> Tunnel:
        """Start an MCP session whose lines come by `feed` and go by `send`."""
        await asyncio.to_thread(importlib.import_module, "hindsight_daemon.mcp.tunnel")
        from hindsight_daemon.mcp.tunnel import open_tunnel

        return open_tunnel(self._handlers, params, agent, send)

    async def serve_http(self, port: int | None) -> HttpSide:
        """Listen on loopback unless that is done already; raises `Busy` if the port is taken."""
        async with self._http_lock:
            if self._http is None:
                await asyncio.to_thread(importlib.import_module, "hindsight_daemon.mcp.http")
                from hindsight_daemon.mcp.http import start_http

                wanted = self._settings.http_port if port is None else port
                self._http = await start_http(self._handlers, self._paths, wanted)
            return self._http

    async def close(self) -> None:
        """Stop listening."""
        if self._http is not None:
            await self._http.stop()
            self._http = None
