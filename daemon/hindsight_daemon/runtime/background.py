"""What the daemon does on its own: fill vectors, unload models, sweep, watch itself.

Each component is a coroutine that runs until cancelled; the supervisor restarts one that fails,
with growing pauses, and reports it in the status. Another place that catches every exception.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from hindsight_daemon.process import rss_bytes, trim_memory
from hindsight_daemon.runtime.logs import facts
from hindsight_daemon.service.consolidation import run as run_consolidation
from hindsight_daemon.service.drain import drain_spool
from hindsight_daemon.service.follow import follow_forever
from hindsight_daemon.service.judged_tasks import judge_forever
from hindsight_daemon.service.retention import thin_events
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.vectors import fill_some
from hindsight_daemon.service.working import expire_working

_log = logging.getLogger("hindsight.background")
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 300.0
_FILL_BATCH = 32
_FILL_AGAIN_S = 60.0
_IDLE_TICK_S = 5.0
_SPOOL_LOOK_S = 5.0
_THIN_EVERY_S = 3600.0
_GO_ON_S = 60.0


async def supervise(name: str, component: Callable[[], Awaitable[None]], s: Services) -> None:
    """Run a component for ever; a failure is logged, shown and tried again later."""
    pause_s = _FIRST_PAUSE_S
    while True:
        started = time.monotonic()
        try:
            await component()
            return
        except asyncio.CancelledError:
            raise
        except Exception as exc:
            _log.exception("component.failed", extra=facts(component=name))
            s.component_failures[name] = f"{type(exc).__name__}: {exc}"
        if time.monotonic() - started > _LONGEST_PAUSE_S:
            pause_s = _FIRST_PAUSE_S
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


async def fill_vectors_forever(s: Services) -> None:
    """Embed keys that have no vector yet, whenever there are some and no recall is waiting."""
    while True:
        s.vectors_wanted.clear()
        while await fill_some(s, limit=_FILL_BATCH):
            # Recalls share the model's lock; a breath between batches keeps them quick.
            await asyncio.sleep(0)
        s.vectors_settled.set()
        with contextlib.suppress(TimeoutError):
            # An endpoint that failed may be back; nobody tells.
            async with asyncio.timeout(_FILL_AGAIN_S):
                await s.vectors_wanted.wait()
        s.vectors_settled.clear()


async def tend_forever(s: Services) -> None:
    """Unload idle models, keep memory under its ceiling, let the store maintain itself."""
    thinned_at = time.monotonic()
    while True:
        await asyncio.sleep(_IDLE_TICK_S)
        if time.monotonic() - thinned_at >= _THIN_EVERY_S:
            thinned_at = time.monotonic()
            await thin_events(s)
            await expire_working(s)
        if await asyncio.to_thread(s.models.unload_if_idle, time.monotonic()):
            await asyncio.to_thread(trim_memory)
            _log.info("model.unloaded", extra=facts(rss_bytes=rss_bytes()))
        await s.worker.stop_if_idle()
        await s.store.maintain()
        used = rss_bytes()
        if used > s.settings.daemon.max_rss_bytes:
            _log.warning("memory.ceiling", extra=facts(rss_bytes=used))
            await asyncio.to_thread(s.models.unload)
            await asyncio.to_thread(trim_memory)
            if rss_bytes() > s.settings.daemon.max_rss_bytes:
                s.stop_when_idle()


async def drain_forever(s: Services) -> None:
    """Carry out spooled writes now and whenever new ones turn up."""
    while True:
        if count := await drain_spool(s):
            _log.info("spool.drained", extra=facts(calls=count))
        await asyncio.sleep(_SPOOL_LOOK_S)


async def consolidate_forever(s: Services) -> None:
    """Consolidate by the clock, and at once when a working memory is full."""
    budget = s.settings.consolidate
    pause_s: float | None = budget.every_s or None
    while True:
        trigger = "clock"
        try:
            async with asyncio.timeout(pause_s):
                await s.consolidation_wanted.wait()
                trigger = "capacity"
        except TimeoutError:
            pass
        s.consolidation_wanted.clear()
        pause_s = budget.every_s or None
        if s.consolidation:
            continue
        done = await run_consolidation(s, trigger=trigger)
        if done.remaining and pause_s:
            pause_s = min(pause_s, _GO_ON_S)


def components(s: Services) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return the components that run beside the server, by name."""
    return {
        "spool": lambda: drain_forever(s),
        "vectors": lambda: fill_vectors_forever(s),
        "consolidation": lambda: consolidate_forever(s),
        "follow": lambda: follow_forever(s),
        "judge": lambda: judge_forever(s),
        "tending": lambda: tend_forever(s),
    }
