"""A bounded cache of decoded memories, least recently used out first. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from hindsight_daemon.model import Memory

LIMIT_BYTES = 24 * 1024 * 1024
_OVERHEAD_BYTES = 1_500


def memory_bytes(memory: Memory) -> int:
    """Return about how much room a decoded memory takes."""
    texts = len(memory.text) + len(memory.summary) + len(memory.task_goal)
    quotes = sum(300 + len(evidence.quote) for evidence in memory.evidence)
    steps = 200 * len(memory.execution_path)
    return _OVERHEAD_BYTES + texts + quotes + steps + sum(len(lesson) for lesson in memory.lessons)


class MemoryCache:
    """Memories by id, up to about `limit_bytes`."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._size_bytes = 0

    def get(self, memory_id: str) -> Memory | None:
        """Return a memory and mark it as used."""
        memory = self._memories.get(memory_id)
        if memory is not None:
            self._memories.move_to_end(memory_id)
        return memory

    def put(self, memory: Memory) -> None:
        """Take in a memory, letting go of the ones not used for longest."""
        self.drop([memory.id])
        self._memories[memory.id] = memory
        self._size_bytes += memory_bytes(memory)
        while self._size_bytes > self._limit_bytes and self._memories:
            _, oldest = self._memories.popitem(last=False)
            self._size_bytes -= memory_bytes(oldest)

    def drop(self, ids: Iterable[str]) -> None:
        """Forget memories."""
        for memory_id in ids:
            memory = self._memories.pop(memory_id, None)
            if memory is not None:
                self._size_bytes -= memory_bytes(memory)
