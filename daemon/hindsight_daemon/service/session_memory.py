"""Events that a worker process has read and will be asked to learn from, by session.

They need not go to the store, back and through the pipe once more. Both ends keep count: the
process of what it read, the daemon of what was stored of it; only where the two agree, and equal
what the store knows of the session, is the copy here the session itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from hindsight_daemon.model import Event

_EVENT_OVERHEAD_BYTES = 1_500
LIMIT_BYTES = 16 * 1024 * 1024


class ReadEvents:
    """The worker's side: events by session, least recently read sessions out first."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._sessions: OrderedDict[str, dict[str, Event]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._size_bytes = 0

    def take(self, events: Iterable[Event]) -> None:
        """Remember what was read."""
        for event in events:
            session_id = event.session_id
            held = self._sessions.get(session_id)
            if held is None:
                held = self._sessions[session_id] = {}
            else:
                self._sessions.move_to_end(session_id)
            held[event.id] = event
            size = _EVENT_OVERHEAD_BYTES + len(event.text)
            if event.tool is not None:
                size += len(event.tool.arguments)
            self._sizes[session_id] = self._sizes.get(session_id, 0) + size
            self._size_bytes += size
        while self._size_bytes > self._limit_bytes and self._sessions:
            self._drop(next(iter(self._sessions)))

    def let_go(self, session_id: str, count: int) -> tuple[Event, ...] | None:
        """Return the events of a session in order, None unless there are `count`; forget them."""
        held = self._sessions.get(session_id)
        if held is None:
            return None
        self._drop(session_id)
        if len(held) != count:
            return None
        return tuple(sorted(held.values(), key=lambda event: (event.seq, event.id)))

    def _drop(self, session_id: str) -> None:
        del self._sessions[session_id]
        self._size_bytes -= self._sizes.pop(session_id)


class StoredEvents:
    """The daemon's side: how many events of a session were stored just as the worker read them."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._differing: set[str] = set()

    def note(self, read: Sequence[Event], stored: Sequence[Event]) -> None:
        """Note what was read by the worker and which of it was stored as new."""
        same = [(event.id, event.session_id) for event in read]
        if same == [(event.id, event.session_id) for event in stored]:
            for event in read:
                self._counts[event.session_id] = self._counts.get(event.session_id, 0) + 1
            return
        # An event that was known, has grown or went to a renamed session: the copies differ.
        self._differing.update(event.session_id for event in read)
        self._differing.update(event.session_id for event in stored)

    def count_of(self, session_id: str) -> int:
        """Return how many events there are, 0 if the worker's copy is of no use."""
        return 0 if session_id in self._differing else self._counts.get(session_id, 0)

    def drop(self, session_id: str) -> None:
        """Forget the count of a session, whose copy the worker gives up."""
        self._counts.pop(session_id, None)

    def clear(self) -> None:
        """Forget everything: the worker is gone."""
        self._counts.clear()
        self._differing.clear()
