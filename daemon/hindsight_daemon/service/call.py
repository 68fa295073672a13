"""What a method body knows of the call it serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hindsight_daemon.protocol.documents import Happening

Report = Callable[[str, int, int, str], Awaitable[None]]
"""stage, done, total (0 while unknown), detail."""
Notify = Callable[[Happening], Awaitable[None]]


async def report_nothing(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress; for calls whose caller does not listen."""


async def notify_nobody(happening: Happening) -> None:
    """Ignore what happened; for calls without a connection."""


class Call:
    """The client's name and ways to tell it how far the work is and what happens."""

    def __init__(
        self,
        *,
        client: str = "",
        report: Report = report_nothing,
        notify: Notify = notify_nobody,
    ) -> None:
        self.client = client
        self.report = report
        self.notify = notify
