"""Adds up what reading a transcript came to; pure, kept in its checkpoint.

Counts are bounded whatever a transcript holds: names are clipped, and of many different ones the
rest goes by one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from hindsight_daemon.ingest.batch import TranscriptBatch
from hindsight_daemon.model import Checkpoint, ReadTally

OTHERS = "(others)"
_MAX_NAMES = 40
_MAX_NAME_CHARS = 80
_NUMBER = re.compile(r"\d+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def tally_after(
    former: Checkpoint | None,
    batch: TranscriptBatch,
    *,
    is_first: bool,
    is_whole: bool,
    at: datetime,
) -> ReadTally:
    """Return the tally once `batch` is stored on top of the `former` checkpoint of its transcript.

    `is_whole` says that its family is read as a whole each time, so that the first batch of a
    read counts anew, as it does when reading had to start over.
    """
    tally = former.tally if former is not None else ReadTally()
    is_empty = not (batch.events or batch.skipped_total or batch.unknown)
    start = former.offset if former is not None else 0
    if is_first and (batch.restarted or (is_whole and not is_empty)):
        tally, start = ReadTally(), 0
    found = len(batch.events) + batch.skipped_total + sum(batch.unknown.values())
    reasons = [(_NUMBER.sub("N", skip.reason), 1) for skip in batch.skipped]
    unlisted = batch.skipped_total - len(batch.skipped)
    return ReadTally(
        records=tally.records + (batch.records or found),
        events=tally.events + len(batch.events),
        bytes_read=tally.bytes_read + max(0, batch.checkpoint.offset - start),
        skipped=added(tally.skipped, [*reasons, (OTHERS, unlisted)]),
        unknown=added(tally.unknown, batch.unknown.items()),
        read_at=at,
    )


def added(counts: Mapping[str, int], more: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the counts with more of them, under at most so many names."""
    total = dict(counts)
    for name, count in more:
        if count <= 0:
            continue
        name = _CONTROL.sub(" ", name)[:_MAX_NAME_CHARS]
        if name not in total and len(total) >= _MAX_NAMES:
            name = OTHERS
        total[name] = total.get(name, 0) + count
    return total
