"""A bounded cache of decoded records, least recently used out first. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from hindsight_daemon.model import Key, Memory

T = TypeVar("T", bound=Memory | Key)

MEMORIES_BYTES = 24 * 1024 * 1024
KEYS_BYTES = 24 * 1024 * 1024
_OVERHEAD_BYTES = 1_200


def memory_bytes(memory: Memory) -> int:
    """Return about how much room a decoded memory takes."""
    texts = len(memory.text) + len(memory.summary) + len(memory.task_goal)
    quotes = sum(300 + len(evidence.quote) for evidence in memory.evidence)
    steps = 200 * len(memory.execution_path)
    return _OVERHEAD_BYTES + texts + quotes + steps + sum(len(lesson) for lesson in memory.lessons)


def key_bytes(key: Key) -> int:
    """Return about how much room a decoded key without its vector takes."""
    return _OVERHEAD_BYTES + len(key.text) + len(key.terms)


class RecordCache(Generic[T]):
    """Records by id, up to about `limit_bytes` as `size_of` reckons."""

    def __init__(self, limit_bytes: int, size_of: Callable[[T], int]) -> None:
        self._limit_bytes = limit_bytes
        self._size_of = size_of
        self._records: OrderedDict[str, T] = OrderedDict()
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._records)

    def get(self, record_id: str) -> T | None:
        """Return a record and mark it as used."""
        record = self._records.get(record_id)
        if record is not None:
            self._records.move_to_end(record_id)
        return record

    def put(self, record: T) -> None:
        """Take in a record, letting go of the ones not used for longest."""
        self.drop([record.id])
        self._records[record.id] = record
        self._size_bytes += self._size_of(record)
        while self._size_bytes > self._limit_bytes and self._records:
            _, oldest = self._records.popitem(last=False)
            self._size_bytes -= self._size_of(oldest)

    def drop(self, ids: Iterable[str]) -> None:
        """Forget records."""
        for record_id in ids:
            record = self._records.pop(record_id, None)
            if record is not None:
                self._size_bytes -= self._size_of(record)
