"""Reads of events by what they say and by where they stand in their session.

Lays the unfolded events over the table's as `lance_store` does: what is pending is taken before
the table is asked, and counted once. A search streams the matching rows and keeps the keys of the
newest, so its memory is bounded by the limit and one batch.
"""

from __future__ import annotations

import asyncio
import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec
import pyarrow as pa

from hindsight_daemon.model import Event, ToolUse
from hindsight_daemon.store.event_match import (
    EventOrder,
    conditions,
    in_text,
    is_in_tool,
    is_tool,
    matches,
    order_of,
)
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import Table, from_micros
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import EventFilter
from hindsight_daemon.store.where import lance_literal

_BATCH_ROWS = 256

_tool = msgspec.json.Decoder(ToolUse).decode


class _Newest:
    """The greatest `limit` of the keys that were offered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[EventOrder] = []

    def offer(self, order: EventOrder) -> None:
        if len(self._heap) < self._limit:
            heapq.heappush(self._heap, order)
        elif order > self._heap[0]:
            heapq.heapreplace(self._heap, order)

    def ids(self) -> list[str]:
        """Return the ids, newest first."""
        return [order[-1] for order in sorted(self._heap, reverse=True)]


async def search_events(
    overlay: Overlay, lance: Lance, text: str, where: EventFilter, limit: int
) -> Sequence[Event]:
    """Return the newest events that hold `text`; see `Store.search_events`."""
    needle = text.lower()
    if not needle or limit < 1:
        return ()
    is_removed = overlay.removal_check()
    pending = overlay.events()
    fresh = await asyncio.to_thread(_matching, needle, where, pending)
    known = {event.id for event in pending}
    newest = _Newest(limit)
    for event in fresh:
        newest.offer(order_of(event.ts, event.session_id, event.seq, event.id))
    columns = {name: name for name in ("id", "session_id", "seq", "ts", "tool")}
    batches = lance.batches(
        Table.EVENTS,
        {**columns, "in_text": in_text(needle)},
        " AND ".join(conditions(needle, where)),
        batch_rows=_BATCH_ROWS,
    )
    async for batch in batches:
        for order in _passing(needle, where, batch):
            if order[-1] not in known and not is_removed(order[-1]):
                newest.offer(order)
    ids = newest.ids()
    found = {event.id: event for event in fresh}
    missing = [event_id for event_id in ids if event_id not in found]
    for event in await lance.by_column(Table.EVENTS, "id", missing, Event):
        found[event.id] = event
    return tuple(found[event_id] for event_id in ids if event_id in found)


def _matching(needle: str, where: EventFilter, events: Sequence[Event]) -> list[Event]:
    return [event for event in events if matches(needle, where, event)]


def _passing(needle: str, where: EventFilter, batch: pa.RecordBatch) -> list[EventOrder]:
    sessions = frozenset(where.sessions)
    rows = zip(
        batch.column("id").to_pylist(),
        batch.column("session_id").to_pylist(),
        batch.column("seq").to_pylist(),
        batch.column("ts").cast(pa.int64()).to_pylist(),
        batch.column("tool").to_pylist(),
        batch.column("in_text").to_pylist(),
        strict=True,
    )
    found: list[EventOrder] = []
    for event_id, session_id, seq, micros, body, is_in_text in rows:
        if sessions and session_id not in sessions:
            continue
        if where.tool or not is_in_text:
            tool = _tool(body) if body else None
            if where.tool and not is_tool(where.tool, tool):
                continue
            if not is_in_text and not is_in_tool(needle, tool):
                continue
        ts = None if micros is None else from_micros(micros)
        found.append(order_of(ts, session_id, seq, event_id))
    return found


async def events_near(
    overlay: Overlay, lance: Lance, session_id: str, seq: int, before: int, after: int
) -> Sequence[Event]:
    """Return the events at `seq` and around it; see `Store.events_near`."""
    is_removed = overlay.removal_check()
    fresh = overlay.events_of(session_id, -1)
    condition = f"session_id = {lance_literal(session_id)}"
    table = await lance.column_where(Table.EVENTS, ["seq"], condition)
    numbers = sorted({*table.column("seq").to_pylist(), *(event.seq for event in fresh)})
    first = max(0, bisect_left(numbers, seq) - before)
    last = bisect_right(numbers, seq) + after
    wanted = numbers[first:last]
    if not wanted:
        return ()
    low, high = wanted[0], wanted[-1]
    stored: list[Event] = await lance.records_where(
        Table.EVENTS, f"{condition} AND seq >= {low} AND seq <= {high}"
    )
    found = {event.id: event for event in stored if not is_removed(event.id)}
    found.update({event.id: event for event in fresh if low <= event.seq <= high})
    return tuple(sorted(found.values(), key=lambda event: (event.seq, event.id)))
