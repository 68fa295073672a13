"""What the daemon asks of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A loaded model; blocking, to be called from a worker thread, one call at a time."""

    model_id: str
    """Stable name with revision; recorded on every key row."""
    dimension: int

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension), for stored texts."""

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), for a search query."""


class Reranker(Protocol):
    """A loaded cross-encoder; blocking."""

    model_id: str
    languages: tuple[str, ...]
    """Languages it may be used for; empty means any."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one relevance score a text, higher is better, unbounded."""
