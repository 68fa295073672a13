"""Which stored statements share words with a new one: a small index in memory.

Asked for every write, so it must cost well under a millisecond whatever the store holds; a search
in the tables takes several. Filled once from the store in the background, kept by `Services.write`
from then on. It may name memories that are gone or retired: who asks looks them up anyway.
"""

from __future__ import annotations

import asyncio
import math
from array import array

from hindsight_daemon.engine.equal_wording import FILLERS
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.model import Memory
from hindsight_daemon.store.port import SearchFilter, Store

LEAST_SHARED = 0.4
"""Share of the words of the shorter text that both must hold to be worth comparing; the labelled
pairs of `benchmarks/duplicates.py` that merge or replace each other share 0.44 and more."""

_POSTINGS_LOOKED_AT = 1500
_COMMON_LOOKED_AT = 60
_PAGE = 500


class LikenessIndex:
    """Postings of hashed words by project; some 200 bytes a statement."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._sizes = array("H")
        self._numbers: dict[str, int] = {}
        self._postings: dict[int, array[int]] = {}
        self.is_complete = False
        self.conflicted: set[str] = set()
        """Statements that say otherwise than another one, as far as was seen."""

    def note(self, memory: Memory) -> None:
        """Take in what was written of a statement."""
        if not self.knows(memory.id):
            self.add(memory)
        if memory.conflicts_with:
            self.conflicted.add(memory.id)
        else:
            self.conflicted.discard(memory.id)

    def add(self, memory: Memory) -> None:
        """Take a statement in; its text never changes under the same id but by a new revision."""
        words = words_of(memory.text)
        # A revision with another text becomes a new entry; the old one leads to the same memory.
        number = len(self._ids)
        self._ids.append(memory.id)
        self._sizes.append(min(len(words), 65535))
        self._numbers[memory.id] = number
        for word in words:
            self._postings.setdefault(hash((memory.project, word)), array("I")).append(number)

    def knows(self, memory_id: str) -> bool:
        """Tell whether a memory was taken in."""
        return memory_id in self._numbers

    def near(self, project: str, text: str, *, limit: int) -> list[str]:
        """Return ids of statements of a project that share enough words with a text, best first."""
        words = words_of(text)
        found = [p for word in words if (p := self._postings.get(hash((project, word))))]
        found.sort(key=len)
        shared: dict[int, int] = {}
        weights: dict[int, float] = {}
        room = _POSTINGS_LOOKED_AT
        for postings in found:
            weight = math.log1p(len(self._ids) / len(postings))
            # Of a word that thousands share, the newest statements must do.
            newest = postings[-max(room, _COMMON_LOOKED_AT) :]
            room = max(0, room - len(newest))
            for number in newest:
                shared[number] = shared.get(number, 0) + 1
                weights[number] = weights.get(number, 0.0) + weight
        sizes, least = self._sizes, LEAST_SHARED * len(words)
        near = [
            number
            for number, count in shared.items()
            if count >= least or count >= LEAST_SHARED * sizes[number]
        ]
        near.sort(key=lambda number: (-weights[number], -number))
        return list(dict.fromkeys(self._ids[number] for number in near))[:limit]

    async def fill(self, store: Store, where: SearchFilter) -> None:
        """Take in what the store holds, newest first; a page at a time, others run in between."""
        before = ""
        while page := await store.list(where, limit=_PAGE, before_id=before):
            for place, memory in enumerate(page):
                if not self.knows(memory.id):
                    self.note(memory)
                if place % 50 == 0:
                    await asyncio.sleep(0)
            before = page[-1].id
        self.is_complete = True


def words_of(text: str) -> set[str]:
    """Return the words that likeness is told by."""
    return set(terms_of(text)) - FILLERS
