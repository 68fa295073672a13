"""Tells those who listen what the daemon sees and learns; publishing never waits and never fails.

Lives on the event loop. Every listener has a queue of its own; what a slow one has no room for is
counted, and it is told so in place of what it lost. Without listeners publishing costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from hindsight_daemon.clock import Clock
from hindsight_daemon.errors import Busy
from hindsight_daemon.model import Memory
from hindsight_daemon.protocol.documents import Happening
from hindsight_daemon.service.views import iso

QUEUE_LENGTH = 1000
MAX_LISTENERS = 64
_TEXT_CHARS = 500
OVERFLOW = "overflow"


class Listener:
    """The happenings that one listener has not taken yet."""

    def __init__(self) -> None:
        self._queue: deque[Happening] = deque()
        self._filled = asyncio.Event()

    def put(self, happening: Happening) -> None:
        """Append, or count as lost when there is no room."""
        if len(self._queue) < QUEUE_LENGTH:
            self._queue.append(happening)
        elif self._queue[-1].event == OVERFLOW:
            self._queue[-1].data["lost"] += 1
        else:
            lost = Happening(event=OVERFLOW, at=happening.at, data={"lost": 1})
            self._queue.append(lost)
        self._filled.set()

    async def take(self) -> Happening:
        """Return the oldest, waiting for one if need be."""
        while not self._queue:
            self._filled.clear()
            await self._filled.wait()
        return self._queue.popleft()


class HappeningBus:
    """Passes happenings on to all listeners there are at the time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listeners: set[Listener] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener for as long as the block runs; `Busy` if there are too many."""
        if len(self._listeners) >= MAX_LISTENERS:
            raise Busy(f"{MAX_LISTENERS} listeners are the most there can be")
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def happening(self, event: str, data: dict[str, Any]) -> Happening:
        """Return a happening of this moment."""
        return Happening(event=event, at=iso(self._clock.now()), data=data)

    def publish(self, event: str, **data: Any) -> None:
        """Tell all listeners; see `Happening` for names and data."""
        if self._listeners:
            happening = self.happening(event, data)
            for listener in self._listeners:
                listener.put(happening)

    def publish_memory(
        self, what: Literal["added", "merged", "superseded", "forgotten"], memory: Memory
    ) -> None:
        """Tell that a memory was added, merged, superseded or forgotten."""
        self.publish(
            f"memory.{what}", id=memory.id, kind=memory.kind, text=memory.text[:_TEXT_CHARS]
        )

    def publish_task(self, session_id: str, episode: Memory, memory_ids: Sequence[str]) -> None:
        """Tell what was made of a task that is over."""
        self.publish(
            "task.consolidated",
            session=session_id,
            goal=episode.task_goal[:_TEXT_CHARS],
            outcome=episode.outcome,
            memories=list(memory_ids),
        )
