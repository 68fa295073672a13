"""Which of many literals a text holds, found in one pass over it.

For `redact` only: without one of these literals there is no secret of the shape or name that
belongs to it, so that expressions are tried on few texts. Looking for each literal alone would
take some sixty passes and most of the time of reading a transcript.
"""

from __future__ import annotations

from collections.abc import Iterable

from ahocorasick_rs import BytesAhoCorasick

_SLICE_BYTES = 256 * 1024


class Needles:
    """A fixed set of literals in small ASCII letters."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._needles = tuple(sorted(set(needles)))
        self._automaton = BytesAhoCorasick(self._needles)
        self._overlap = max(map(len, self._needles)) - 1

    @property
    def all(self) -> frozenset[bytes]:
        """All literals that are looked for."""
        return frozenset(self._needles)

    def found_in(self, lowered: bytes) -> frozenset[bytes]:
        """Return the literals that a text holds; `lowered` is it in small ASCII letters."""
        find = self._automaton.find_matches_as_indexes
        if len(lowered) <= _SLICE_BYTES:
            hits = {number for number, _, _ in find(lowered, overlapping=True)}
        else:
            # Every occurrence is listed, which of one long text of nothing else would be much.
            hits = set()
            for start in range(0, len(lowered), _SLICE_BYTES):
                part = lowered[start : start + _SLICE_BYTES + self._overlap]
                hits.update(number for number, _, _ in find(part, overlapping=True))
        return frozenset(self._needles[number] for number in hits)
