"""Lets go of old events by policy and keeps the cited ones; deciding is `engine.retention`'s."""

from __future__ import annotations

import logging

import msgspec

from hindsight_daemon.engine.retention import Going, going
from hindsight_daemon.model import DISTILLED_KINDS
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import SearchFilter, WriteBatch

_PAGE = 500
_log = logging.getLogger("hindsight.retention")


async def thin_events(s: Services) -> int:
    """Let go of the events that the policy names; return how many, counted in `s.retention`."""
    events = s.settings.events
    s.retention["runs"] += 1
    chosen = going(
        await s.store.sessions(),
        now=s.clock.now(),
        keep_days=events.keep_days,
        keep_bytes=events.keep_bytes,
    )
    if not chosen:
        return 0
    cited = await _cited(s)
    return sum([await _thin(s, one, cited) for one in chosen])


async def _cited(s: Services) -> set[str]:
    """Return the ids of all events that memories which still count point to."""
    where = SearchFilter(
        now=s.clock.now(),
        kinds=DISTILLED_KINDS,
        not_statuses=("superseded", "contradicted", "archived"),
    )
    cited: set[str] = set()
    before = ""
    while page := await s.store.list(where, limit=_PAGE, before_id=before):
        for memory in page:
            for link in memory.evidence:
                cited.update(link.event_ids)
        before = page[-1].id
    return cited


async def _thin(s: Services, one: Going, cited: set[str]) -> int:
    async with s.ingest_lock:
        state = await s.store.session(one.session_id)
        if state is None or state.consolidated_events < state.events:
            return 0  # it went on meanwhile
        last = state.thinned_through
        dropped: dict[str, str] = {}
        async for event in s.store.events_of(state.session_id, after_seq=last):
            last = max(last, event.seq)
            if event.id not in cited:
                dropped[event.id] = event.agent
        thinned = msgspec.structs.replace(state, size_bytes=0, thinned_through=last)
        await s.write(WriteBatch(dropped_events=dropped, sessions=(thinned,)))
    s.retention["sessions"] += 1
    s.retention["events"] += len(dropped)
    s.retention["bytes"] += state.size_bytes
    _log.info("events.thinned", extra={"facts": {"events": len(dropped), "why": one.reason}})
    return len(dropped)
