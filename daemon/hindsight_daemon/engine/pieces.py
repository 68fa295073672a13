"""Cuts a long text into overlapping pieces, so that its end is found as well as its start."""

from __future__ import annotations

PIECE_CHARS = 1200
OVERLAP_CHARS = 150
MAX_PIECES = 12


def pieces_of(
    text: str, *, size: int = PIECE_CHARS, overlap: int = OVERLAP_CHARS, limit: int = MAX_PIECES
) -> list[str]:
    """Return `text` whole if it is at most `size` characters, else at most `limit` pieces.

    Pieces end at a paragraph, sentence or word boundary where one lies in their last third.
    """
    text = text.strip()
    if len(text) <= size:
        return [text] if text else []
    pieces: list[str] = []
    start = 0
    while start < len(text) and len(pieces) < limit:
        end = min(len(text), start + size)
        if end < len(text):
            end = _boundary(text, start + size * 2 // 3, end)
        pieces.append(text[start:end].strip())
        if end == len(text):
            break
        start = max(end - overlap, start + 1)
    return [piece for piece in pieces if piece]


def _boundary(text: str, earliest: int, latest: int) -> int:
    for mark in ("\n\n", "\n", "。", ". ", "！", "？", " "):
        at = text.rfind(mark, earliest, latest)
        if at >= 0:
            return at + len(mark)
    return latest
