"""What a method body knows of the call it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from hindsight_daemon.protocol.documents import Happening

T = TypeVar("T")

Report = Callable[[str, int, int, str], Awaitable[None]]
"""stage, done, total (0 while unknown), detail."""
Notify = Callable[[Happening], Awaitable[None]]


async def report_nothing(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress; for calls whose caller does not listen."""


async def notify_nobody(happening: Happening) -> None:
    """Ignore what happened; for calls without a connection."""


class Call:
    """Who calls, and ways to tell it how far the work is and what happens.

    `client` names the program for the history; `agent` is the identity under which an agent reads
    and writes, empty for a person, who sees everything; `project` is the one it works in.
    `item` and `items` number the parts of the work, such as files; they go along with reports.
    """

    def __init__(
        self,
        *,
        client: str = "",
        agent: str = "",
        project: str = "",
        report: Report = report_nothing,
        notify: Notify = notify_nobody,
    ) -> None:
        self.client = client
        self.agent = agent
        self.project = project
        self.report = report
        self.notify = notify
        self.item = 0
        self.items = 0


async def reporting(
    call: Call, stage: str, work: Coroutine[Any, Any, T], *, every_s: float = 2.0
) -> T:
    """Return what `work` returns; while it lasts, the caller is told so and goes on waiting."""
    task = asyncio.ensure_future(work)
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=every_s)
            if done:
                return task.result()
            await call.report(stage, 0, 0, "")
    finally:
        task.cancel()
