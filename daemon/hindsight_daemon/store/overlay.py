"""Committed rows that the LanceDB tables do not hold yet, searchable from memory.

Lives on the event loop; no I/O. Whatever it says about an id goes before what the tables say.
Vectors lie in numpy rows, terms in a small inverted index, so that thousands of rows stay cheap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from hindsight_daemon.model import Event, Key, Memory, ToolCall
from hindsight_daemon.store.bm25 import TermStatistics, bm25
from hindsight_daemon.store.outbox import Floats, Op, OutboxRow, Table
from hindsight_daemon.store.port import KeyHit, SearchFilter
from hindsight_daemon.store.where import matches

_ROW_OVERHEAD_BYTES = 512
_WAITING_KEYS = 1_000
"""So many keys are indexed by the search that needs them; in a backfill most are folded before."""


def row_bytes(row: OutboxRow) -> int:
    """Return about how much memory a row takes."""
    size = _ROW_OVERHEAD_BYTES + (0 if row.vector is None else row.vector.nbytes)
    record = row.record
    if isinstance(record, Key):
        return size + len(record.text) + 2 * len(record.terms)
    if isinstance(record, Event):
        return size + len(record.text) + (len(record.tool.arguments) if record.tool else 0)
    if isinstance(record, Memory):
        return size + len(record.text)
    return size


class Overlay:
    """Rows by table and id, in the order they were committed."""

    def __init__(self, statistics: TermStatistics) -> None:
        self._statistics = statistics
        self._rows: dict[Table, dict[str, OutboxRow]] = {table: {} for table in Table}
        self._queues: dict[Table, deque[OutboxRow]] = {table: deque() for table in Table}
        self._keys_of: dict[str, set[str]] = {}
        self._events_of: dict[str, dict[str, Event]] = {}
        self._waiting: dict[str, Key] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._lengths: dict[str, int] = {}
        self._hidden: frozenset[str] | None = None
        self.size_bytes = 0

    def apply(self, rows: Iterable[OutboxRow]) -> None:
        """Take in committed rows."""
        for row in rows:
            self._queues[row.table].append(row)
            self.size_bytes += row_bytes(row)
            self._forget(row.table, row.id)
            self._rows[row.table][row.id] = row
            if isinstance(row.record, Key):
                self._index(row.record)
            elif isinstance(row.record, Event):
                self._events_of.setdefault(row.record.session_id, {})[row.id] = row.record
        self._hidden = None

    def drop_through(self, table: Table, seq: int) -> None:
        """Let go of rows that the table holds now."""
        queue = self._queues[table]
        while queue and queue[0].seq <= seq:
            row = queue.popleft()
            self.size_bytes -= row_bytes(row)
            if self._rows[table].get(row.id) is row:
                self._forget(table, row.id)
                del self._rows[table][row.id]
        self._hidden = None

    def first(self, table: Table, limit: int, limit_bytes: int) -> list[OutboxRow]:
        """Return the oldest pending rows of a table, in order, about so many bytes at most."""
        found: list[OutboxRow] = []
        size = 0
        for row in self._queues[table]:
            size += row_bytes(row)
            if found and (len(found) >= limit or size > limit_bytes):
                break
            found.append(row)
        return found

    def pending(self, table: Table | None = None) -> int:
        """Return how many changes wait, of one table or of all."""
        if table is not None:
            return len(self._queues[table])
        return sum(len(queue) for queue in self._queues.values())

    def oldest(self, table: Table) -> int:
        """Return the number of the oldest pending row of a table, 0 if there is none."""
        queue = self._queues[table]
        return queue[0].seq if queue else 0

    def row(self, table: Table, row_id: str) -> OutboxRow | None:
        """Return the pending row of an id; one with `Op.REMOVE` means that it is gone."""
        return self._rows[table].get(row_id)

    def memory(self, memory_id: str) -> Memory | None:
        """Return a pending memory."""
        row = self._rows[Table.MEMORIES].get(memory_id)
        return row.record if row is not None and isinstance(row.record, Memory) else None

    def hidden_keys(self) -> frozenset[str]:
        """Return the key ids whose row in the table is out of date; a snapshot."""
        if self._hidden is None:
            self._hidden = frozenset(self._rows[Table.KEYS])
        return self._hidden

    def is_removed_key(self, key_id: str) -> bool:
        """Tell whether a key was removed and the table may still hold it."""
        row = self._rows[Table.KEYS].get(key_id)
        return row is not None and row.op is Op.REMOVE

    def keys_of(self, memory_id: str) -> list[Key]:
        """Return the pending keys of a memory."""
        rows = (self._rows[Table.KEYS][key_id] for key_id in self._keys_of.get(memory_id, ()))
        return [row.record for row in rows if isinstance(row.record, Key)]

    def events_of(self, session_id: str, after_seq: int) -> list[Event]:
        """Return the pending events of a session, in order."""
        events = (e for e in self._events_of.get(session_id, {}).values() if e.seq > after_seq)
        return sorted(events, key=lambda event: (event.seq, event.id))

    def event(self, event_id: str) -> Event | None:
        """Return a pending event."""
        row = self._rows[Table.EVENTS].get(event_id)
        return row.record if row is not None and isinstance(row.record, Event) else None

    def events(self) -> list[Event]:
        """Return all pending events."""
        rows = self._rows[Table.EVENTS].values()
        return [row.record for row in rows if isinstance(row.record, Event)]

    def removal_check(self) -> Callable[[str], bool]:
        """Return a test of whether an event was removed, when this was called or since.

        To be taken before the table is read: a removal may be folded, and leave the overlay,
        after the table was read without it.
        """
        rows = self._rows[Table.EVENTS].items()
        removed = frozenset(row_id for row_id, row in rows if row.op is Op.REMOVE)
        return lambda event_id: event_id in removed or self.is_removed_event(event_id)

    def is_removed_event(self, event_id: str) -> bool:
        """Tell whether an event was removed and the table may still hold it."""
        row = self._rows[Table.EVENTS].get(event_id)
        return row is not None and row.op is Op.REMOVE

    def tool_calls(self) -> list[ToolCall]:
        """Return the pending tool calls."""
        rows = self._rows[Table.TOOL_CALLS].values()
        return [row.record for row in rows if isinstance(row.record, ToolCall)]

    def search_vector(
        self, vector: Floats, embedder: str, where: SearchFilter, limit: int
    ) -> list[KeyHit]:
        """Return the nearest pending keys, best first."""
        keys: list[Key] = []
        vectors: list[Floats] = []
        for row in self._rows[Table.KEYS].values():
            key = row.record
            if not isinstance(key, Key) or row.vector is None or key.embedder != embedder:
                continue
            if matches(where, key):
                keys.append(key)
                vectors.append(row.vector)
        if not keys:
            return []
        matrix = np.stack(vectors)
        norms = np.linalg.norm(matrix, axis=1) * float(np.linalg.norm(vector))
        scores = matrix @ vector / np.where(norms == 0, 1.0, norms)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [KeyHit(key=keys[i], score=float(scores[i])) for i in order]

    def search_terms(self, terms: Sequence[str], where: SearchFilter, limit: int) -> list[KeyHit]:
        """Return the best pending keys by BM25, best first."""
        self._index_waiting()
        scores: dict[str, float] = {}
        for term in terms:
            postings = self._postings.get(term)
            if not postings:
                continue
            weight = self._statistics.inverse_frequency(term)
            average = self._statistics.average_length
            for key_id, count in postings.items():
                gain = bm25(weight, count, self._lengths[key_id], average)
                scores[key_id] = scores.get(key_id, 0.0) + gain
        hits: list[KeyHit] = []
        for key_id in sorted(scores, key=lambda i: -scores[i]):
            key = self._rows[Table.KEYS][key_id].record
            if isinstance(key, Key) and matches(where, key):
                hits.append(KeyHit(key=key, score=scores[key_id]))
                if len(hits) == limit:
                    break
        return hits

    def _index(self, key: Key) -> None:
        self._keys_of.setdefault(key.memory_id, set()).add(key.id)
        self._waiting[key.id] = key
        if len(self._waiting) >= _WAITING_KEYS:
            self._index_waiting()

    def _index_waiting(self) -> None:
        for key in self._waiting.values():
            tokens = key.terms.split()
            self._lengths[key.id] = len(tokens)
            for token in tokens:
                postings = self._postings.setdefault(token, {})
                postings[key.id] = postings.get(key.id, 0) + 1
        self._waiting.clear()

    def _forget(self, table: Table, row_id: str) -> None:
        row = self._rows[table].get(row_id)
        if row is None:
            return
        if isinstance(row.record, Key):
            self._unindex(row.record)
        elif isinstance(row.record, Event):
            events = self._events_of.get(row.record.session_id, {})
            events.pop(row_id, None)
            if not events:
                self._events_of.pop(row.record.session_id, None)

    def _unindex(self, key: Key) -> None:
        siblings = self._keys_of.get(key.memory_id, set())
        siblings.discard(key.id)
        if not siblings:
            self._keys_of.pop(key.memory_id, None)
        if self._waiting.pop(key.id, None) is not None:
            return
        self._lengths.pop(key.id, None)
        for token in set(key.terms.split()):
            postings = self._postings.get(token)
            if postings is not None:
                postings.pop(key.id, None)
                if not postings:
                    del self._postings[token]
