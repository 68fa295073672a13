"""All that was forgotten, looked up by what a text says.

Pure; imports records and `restatement`. An empty collection costs nothing to ask. A text is
compared only with tombstones that share most of their words with it, which an index by word finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from hindsight_daemon.engine.restatement import (
    ENOUGH,
    corrects,
    restates,
    statement_form,
    statement_of,
)
from hindsight_daemon.model import Tombstone

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_MAX_SENTENCES = 60


class Forgotten:
    """The tombstones there are."""

    def __init__(self) -> None:
        self._by_id: dict[str, Tombstone] = {}
        self._by_form: dict[str, Tombstone] = {}
        self._by_word: dict[str, set[str]] = {}
        self._memory_ids: dict[str, Tombstone] = {}

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def __iter__(self) -> Iterator[Tombstone]:
        return iter(self._by_id.values())

    def add(self, tombstones: Iterable[Tombstone]) -> None:
        """Take in tombstones."""
        for tombstone in tombstones:
            self._by_id[tombstone.id] = tombstone
            self._by_form[statement_form(tombstone.normalized_text)] = tombstone
            self._memory_ids[tombstone.memory_id] = tombstone
            for word in statement_of(tombstone.normalized_text).words:
                self._by_word.setdefault(word, set()).add(tombstone.id)

    def lift(self, ids: Iterable[str]) -> None:
        """Let go of tombstones."""
        left = [one for i, one in self._by_id.items() if i not in set(ids)]
        self._by_id, self._by_form, self._by_word, self._memory_ids = {}, {}, {}, {}
        self.add(left)

    def of_memory(self, memory_id: str) -> Tombstone | None:
        """Return the tombstone of a memory that was forgotten under this very id."""
        return self._memory_ids.get(memory_id)

    def blocking(self, text: str) -> Tombstone | None:
        """Return the tombstone that `text` restates as a whole, as far as words can tell."""
        if not self._by_id or not text:
            return None
        exact = self._by_form.get(statement_form(text))
        if exact is not None:
            return exact
        said = statement_of(text)
        for tombstone in self.candidates(text):
            if restates(statement_of(tombstone.normalized_text), said):
                return tombstone
        return None

    def blocking_part(self, text: str) -> Tombstone | None:
        """Return the tombstone that `text`, or a sentence of it that nothing corrects, restates."""
        found = self.blocking(text)
        if found is not None or not self._by_id or corrects(text):
            return found
        parts = sentences_of(text)
        if len(parts) < 2:
            return None
        return next((one for part in parts[:_MAX_SENTENCES] if (one := self.blocking(part))), None)

    def without(self, text: str) -> str:
        """Return the text without the sentences that restate something forgotten."""
        if not self._by_id:
            return text
        parts = sentences_of(text)
        kept = [part for part in parts if not self.blocking(part)]
        return text if len(kept) == len(parts) else " ".join(kept).strip()

    def candidates(self, text: str) -> list[Tombstone]:
        """Return the tombstones that share enough words with `text` to be restated by it."""
        shared = Counter(
            i for word in statement_of(text).words for i in self._by_word.get(word, ())
        )
        return [
            self._by_id[i]
            for i, count in shared.most_common()
            if count >= ENOUGH * len(statement_of(self._by_id[i].normalized_text).words)
        ]


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text as they stand; it has no markup that matters."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]
