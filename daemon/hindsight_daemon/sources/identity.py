"""Stable identity of events: the same record read again, elsewhere or in a fork has the same id.

For `sources` only. Also how events of one session are ordered.
"""

from __future__ import annotations

import hashlib

from hindsight_daemon.sources.port import RawLine, TranscriptContext

EVENTS_PER_LINE = 1024


def derived_id(agent: str, *parts: str) -> str:
    """Return the id of an event whose record has none of its own.

    `parts` are what tells it from others: session, ordinal or call id, kind, text.
    """
    digest = hashlib.sha256("\x1f".join((agent, *parts)).encode("utf-8", "surrogatepass"))
    return f"{agent}:{digest.hexdigest()[:32]}"


def text_digest(text: str) -> str:
    """Return a short digest, for telling texts apart within one transcript."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sequence_number(line: RawLine, index: int) -> int:
    """Return the place of the `index`-th event of a line in its session.

    Grows in file order without any counter to carry along; gaps are normal.
    """
    return line.number * EVENTS_PER_LINE + index


def fallback_session(context: TranscriptContext, first_line: str) -> str:
    """Name a session whose records do not: file stem plus a digest of path and beginning.

    The beginning is part of it because piped transcripts share one path.
    """
    stem = context.path.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0] or "transcript"
    return f"{stem}-{text_digest(context.path + chr(0) + first_line[:4096])[:8]}"
