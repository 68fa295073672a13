"""A process that writes to a store and dies at a named point; run by the fault tests.

`python -m tests.support.store_child POINT COUNT`: tells on stdout what it tries and what was
acknowledged, one operation a line, and kills itself with SIGKILL when POINT is reached for the
COUNTth time. The points are put around the store's own parts here, production code knows none.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import structs

from hindsight_daemon.store import journal
from hindsight_daemon.store.lance_store import LanceStore
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import WriteBatch
from tests.support.store_builders import (
    SETTINGS,
    FixedClock,
    a_key,
    a_memory,
    an_event,
    memory_id,
    test_paths,
)

OPERATIONS = 400


class Trigger:
    """Counts arrivals at the chosen point and ends the process at the last of them."""

    def __init__(self, count: int) -> None:
        self._left = count

    def arrive(self) -> None:
        """Be killed, if it is time."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _after(call: Callable[..., Awaitable[Any]], trigger: Trigger) -> Callable[..., Awaitable[Any]]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = await call(*args, **kwargs)
        trigger.arrive()
        return result

    return wrapped


def _amid(call: Callable[..., Awaitable[Any]], trigger: Trigger) -> Callable[..., Awaitable[Any]]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        timer = threading.Timer(0.01, trigger.arrive)
        timer.daemon = True
        timer.start()
        return await call(*args, **kwargs)

    return wrapped


def arm(store: Any, point: str, trigger: Trigger) -> None:
    """Put the trigger at a point: committed, written, synced, compacting or never."""
    lance = store._lance
    if point == "committed":
        deliver = journal._deliver

        def told(outcomes: Any) -> None:
            trigger.arrive()
            deliver(outcomes)

        journal._deliver = told
    elif point == "written":
        lance.write = _after(lance.write, trigger)
    elif point == "synced":
        lance.sync = _after(lance.sync, trigger)
    elif point == "compacting":
        lance.optimize = _amid(lance.optimize, trigger)


def say(word: str, operation: str) -> None:
    """Tell the parent at once."""
    os.write(1, f"{word} {operation}\n".encode())


async def work(store: LanceStore) -> None:
    """Add, change and remove memories with their keys, some folded, some pending."""
    for number in range(OPERATIONS):
        memory = a_memory(number)
        batches = [("add", number, WriteBatch(memories=(memory,), keys=(a_key(memory),)))]
        if number % 5 == 4:
            old = structs.replace(a_memory(number - 3), version=2)
            batches.append(("put", number - 3, WriteBatch(memories=(old,), keys=(a_key(old),))))
        if number % 7 == 6:
            gone = WriteBatch(removed=(memory_id(number - 6),))
            batches.append(("del", number - 6, gone))
        for word, which, batch in batches:
            say("try", f"{word} {which}")
            events = (an_event(number * 10 + len(word) + which % 3),)
            await store.commit(structs.replace(batch, events=events))
            say("ack", f"{word} {which}")
        if number % 20 == 19:
            await store.flush()
        if number % 50 == 49:
            await store.maintain(force=True)


async def main(point: str, count: int) -> None:
    """Open, arm, work."""
    store = await open_store(test_paths(), SETTINGS, FixedClock())
    assert isinstance(store, LanceStore)
    say("try", "open 0")
    arm(store, point, Trigger(count))
    await work(store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
