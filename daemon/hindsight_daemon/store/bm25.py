"""BM25 (Robertson and Zaragoza 2009) with document frequencies in a small hashed sketch.

Pure. Same constants as the full-text index of LanceDB, so that scores of rows in memory and in
the table can be ranked together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

K1 = 1.2
B = 0.75
_BUCKETS = 1 << 18


def bm25(weight: float, count: int, length: int, average_length: float) -> float:
    """Return what one term adds to a text's score; `weight` is its inverse frequency."""
    norm = 1.0 - B + B * length / average_length if average_length > 0 else 1.0
    return weight * count * (K1 + 1.0) / (count + K1 * norm)


class TermStatistics:
    """How many texts there are, how long, and (over-)estimates of how many hold a term.

    1 MiB whatever the vocabulary. Removals are not subtracted: the drift is small and ends with
    the next start, when the sketch is built anew. Buckets are by Python's salted string hash, so
    a sketch means nothing outside its process.
    """

    def __init__(self) -> None:
        self._frequencies = np.zeros(_BUCKETS, dtype=np.int32)
        self.texts = 0
        self._total_length = 0

    def add(self, terms: str) -> None:
        """Count one text, given as space-separated terms."""
        tokens = terms.split()
        self.texts += 1
        self._total_length += len(tokens)
        buckets = [hash(token) & (_BUCKETS - 1) for token in set(tokens)]
        self._frequencies[buckets] += 1

    def add_all(self, texts: Iterable[str | None]) -> None:
        """Count many texts."""
        for terms in texts:
            if terms is not None:
                self.add(terms)

    @property
    def average_length(self) -> float:
        """Mean number of terms of a text."""
        return self._total_length / self.texts if self.texts else 0.0

    def inverse_frequency(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)) for the texts N and those with the term n."""
        found = min(int(self._frequencies[hash(term) & (_BUCKETS - 1)]), self.texts)
        return math.log(1.0 + (self.texts - found + 0.5) / (found + 0.5))


def score(terms: str, wanted: Sequence[str], statistics: TermStatistics) -> float:
    """Return the BM25 score of one text, given as space-separated terms, for the OR of `wanted`."""
    tokens = terms.split()
    average = statistics.average_length
    return sum(
        bm25(statistics.inverse_frequency(term), count, len(tokens), average)
        for term in wanted
        if (count := tokens.count(term))
    )
