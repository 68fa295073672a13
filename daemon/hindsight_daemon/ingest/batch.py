"""The bounded part of a transcript that reading yields and storing commits as one."""

from __future__ import annotations

from hindsight_daemon.model import Checkpoint, Event, Record
from hindsight_daemon.sources.port import Skipped

BATCH_EVENTS = 500
BATCH_CHARS = 1024 * 1024
MAX_SKIPPED = 100


class TranscriptBatch(Record, frozen=True, kw_only=True):
    """A bounded part of a transcript, and the checkpoint that holds once it is stored.

    `records` counts the lines that were looked at, 0 where a transcript has no lines. `skipped`,
    `skipped_total`, `unknown`, `warnings` and `redactions` count what this batch saw; `skipped`
    lists the first `MAX_SKIPPED` of a read only. `restarted` says why reading began at zero
    although there was a checkpoint: events may then come again under their former ids.
    """

    path: str
    source: str
    checkpoint: Checkpoint
    events: tuple[Event, ...] = ()
    records: int = 0
    skipped: tuple[Skipped, ...] = ()
    skipped_total: int = 0
    unknown: dict[str, int] = {}
    warnings: tuple[str, ...] = ()
    redactions: int = 0
    size_bytes: int = 0
    restarted: str = ""
