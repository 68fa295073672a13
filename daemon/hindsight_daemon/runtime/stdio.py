"""A read-only server on standard input and output, for when no daemon can run.

The command line spawns it, speaks the same protocol over its pipes, and closes them to end it.
It takes no lock, writes nothing and serves one client.
"""

from __future__ import annotations

import asyncio
import os
import sys

from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import Settings
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.paths import Paths
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.handshake import HelloParams
from hindsight_daemon.runtime.dispatch import Dispatcher
from hindsight_daemon.runtime.greeting import greet
from hindsight_daemon.runtime.server import Activity, Connection
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.services import open_services
from hindsight_daemon.service.table import handlers_of


async def serve_stdio(paths: Paths, settings: Settings) -> int:
    """Answer requests from stdin until it closes."""
    # Whatever a library prints must not end up between two frames.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), out
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    dispatcher = Dispatcher(read_only=True)
    started_at = SystemClock().now()

    async def hello(params: HelloParams, _call: Call) -> Document:
        return greet(
            params, instance="stdio", started_at=started_at, state="read-only", managed_by="self"
        )

    dispatcher.handlers["hello"] = hello
    services = None
    try:
        services = await open_services(paths, settings, SystemClock(), read_only=True)
        dispatcher.handlers.update(handlers_of(services))
    except HindsightError as exc:
        dispatcher.failure = exc
    await Connection(reader, writer, dispatcher, Activity()).serve()
    if services is not None:
        await services.close()
    return 0
