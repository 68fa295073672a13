"""The official SDK's client against our server, over both transports."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

HINDSIGHT = [sys.executable, "-m", "hindsight_cli"]
Script = Callable[[Client], Awaitable[Any]]


def over_stdio(
    script: Script, *, agent: str = "", cwd: Path | None = None, mode: str = "auto"
) -> Any:
    """Run `script` with a client of `hindsight mcp` and return what it returns."""

    async def main() -> Any:
        arguments = [*HINDSIGHT[1:], "mcp", *(["--agent", agent] if agent else [])]
        server = StdioServerParameters(
            command=HINDSIGHT[0], args=arguments, env=dict(os.environ), cwd=cwd
        )
        named = Implementation(name="Test Client", version="1")
        async with Client(stdio_client(server), mode=mode, client_info=named) as client:
            return await script(client)

    return anyio.run(main)


def over_http(script: Script, url: str, token: str, *, mode: str = "auto", **headers: str) -> Any:
    """Run `script` with a client of the HTTP endpoint and return what it returns."""

    async def main() -> Any:
        sent = {"Authorization": f"Bearer {token}", **headers}
        async with (
            httpx2.AsyncClient(headers=sent) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await script(client)

    return anyio.run(main)


def text_of(result: Any) -> str:
    """Return the text of a tool's answer."""
    return "\n".join(block.text for block in result.content)
