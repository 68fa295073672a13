"""From a transcript to events, turns and their keys, piece by piece.

Does no more than read files; runs in a thread or in the worker process, so it takes and returns
plain records and knows neither store nor services.
"""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from hindsight_daemon.engine.fusion import CONTEXT_KEY_KIND
from hindsight_daemon.engine.own_tail import OwnTail
from hindsight_daemon.errors import Bug
from hindsight_daemon.ingest.discover import project_of
from hindsight_daemon.ingest.transcript import TranscriptBatch, read_transcript
from hindsight_daemon.model import Checkpoint, Event, Key, Memory, Record
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.turns import turns_of, with_turn_before

_SESSIONS_IN_MIND = 256


class ReadJob(Record, frozen=True, kw_only=True, tag="read"):
    """A transcript to read on from its checkpoint; the fields are those of `IngestParams`."""

    path: str
    now: datetime
    checkpoint: Checkpoint | None = None
    source: str = ""
    session_id: str = ""
    project: str = ""
    cwd: str = ""
    label: str = ""
    final: bool = True
    own_folders: tuple[str, ...] = ()
    """Folders in which only hindsight works; sessions there are its own."""


class Piece(Record, frozen=True, kw_only=True):
    """A batch of events with the turns and keys that come of them."""

    batch: TranscriptBatch
    turns: tuple[Memory, ...]
    keys: tuple[Key, ...]


class LastTurns:
    """The latest turn of each session, for the key of the next one; and what is our own in them.

    Bounded and not durable: after a restart one turn of a running session lacks that key.
    """

    def __init__(self) -> None:
        self.own_tail = OwnTail()
        self._turns: OrderedDict[str, Memory] = OrderedDict()

    def exchange(self, turn: Memory) -> Memory | None:
        """Return the turn before this one and take this one for the latest."""
        former = self._turns.pop(turn.session_id, None)
        self._turns[turn.session_id] = turn
        if len(self._turns) > _SESSIONS_IN_MIND:
            self._turns.popitem(last=False)
        return former


_PARSER_BUGS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a mistake in a parser looks like; it must cost no more than its transcript."""


def read(job: ReadJob, last_turns: LastTurns) -> Iterator[Piece]:
    """Yield the transcript piece by piece; raises as `read_transcript` does.

    Raises `Bug` if a parser trips over what the transcript holds.
    """
    try:
        yield from _pieces(job, last_turns)
    except _PARSER_BUGS as exc:
        # Its text may quote the transcript, so that only kind and place are told.
        trace = traceback.extract_tb(exc.__traceback__)[-1]
        where = f"{Path(trace.filename).name}:{trace.lineno}"
        raise Bug(
            f"`{job.label or job.path}` cannot be read: {type(exc).__name__} at {where}",
            hint="please report it; all other transcripts are read",
        ) from exc


def _pieces(job: ReadJob, last_turns: LastTurns) -> Iterator[Piece]:
    named = project_for(job.project, "")
    batches = read_transcript(
        Path(job.path),
        checkpoint=job.checkpoint,
        source_name=job.source,
        session_id=job.session_id,
        project=job.project,
        label=job.label,
        final=job.final,
    )
    for raw in batches:
        events = last_turns.own_tail.take(raw.events, job.own_folders)
        batch = msgspec.structs.replace(raw, events=events)
        turns: list[Memory] = []
        keys: list[Key] = []
        for event in batch.events:
            for turn in turns_of([event], event_project(named, event, job.cwd), job.now):
                context = with_turn_before(turn, last_turns.exchange(turn))
                turns.append(turn)
                keys.extend(keys_for(turn, [(CONTEXT_KEY_KIND, context)] if context else ()))
        yield Piece(batch=batch, turns=tuple(turns), keys=tuple(keys))


def event_project(named: str, event: Event, caller_cwd: str) -> str:
    """Return the project of an event: the named one, its own folder's, else the caller's."""
    if named:
        return named
    return project_of(event.cwd) if event.cwd else project_for("", caller_cwd)
