"""A deterministic embedder for tests: hashed character n-grams instead of a model.

Texts that share words or Chinese character pairs come out similar, others nearly orthogonal.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from hindsight_daemon.embed.port import Vectors

_SIZES = (1, 2, 3)


class HashEmbedder:
    """Feature hashing of character 1- to 3-grams into `dimension` signed buckets."""

    def __init__(self, dimension: int = 64, model_id: str = "hash-64/1") -> None:
        self.model_id = model_id
        self.dimension = dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension), for stored texts."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for feature in _features(text):
                code = zlib.crc32(feature.encode("utf-8", "replace"))
                sign = 1.0 if code & 1 else -1.0
                vectors[row, (code >> 1) % self.dimension] += sign
            length = np.linalg.norm(vectors[row])
            if length:
                vectors[row] /= length
            else:
                vectors[row, 0] = 1.0
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), for a search query."""
        vector: Vectors = self.embed_passages([text])[0]
        return vector


def _features(text: str) -> list[str]:
    padded = f" {' '.join(text.lower().split())} "
    return [padded[i : i + n] for n in _SIZES for i in range(len(padded) - n + 1)]
