"""What a method body knows of the call it serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Report = Callable[[str, int, int, str], Awaitable[None]]
"""stage, done, total (0 while unknown), detail."""


async def report_nothing(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress; for calls whose caller does not listen."""


class Call:
    """The client's name and a way to tell it how far the work is."""

    def __init__(self, *, client: str = "", report: Report = report_nothing) -> None:
        self.client = client
        self.report = report
