"""From pieces of transcripts to committed batches: what is new, whose it is, which turns it gives.

A `Shelf` gathers what small transcripts came to and commits it together, because each commit waits
for the disk. Whatever asks the store about something that still lies on the shelf flushes it first.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

import msgspec

from hindsight_daemon.engine.ending import end_after
from hindsight_daemon.engine.retention import size_of
from hindsight_daemon.ingest.tally import added
from hindsight_daemon.model import Event, Key, Memory, SessionState
from hindsight_daemon.protocol.documents import IngestedFile, IngestResult, SkippedLine
from hindsight_daemon.protocol.params import IngestParams
from hindsight_daemon.service.growth import grown_events, turns_again
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.reading import Piece, event_project
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.twins import told_nowhere_else
from hindsight_daemon.sources.cursor_agent import AGENT as TWIN_AGENT
from hindsight_daemon.store.port import WriteBatch

T = TypeVar("T")

_SHOWN_SKIPS = 20
_SHELF_EVENTS = 400
_SHELF_FILES = 64
_SHELF_CHARS = 1024 * 1024


class Shelf:
    """Batches of different transcripts and sessions that wait to be committed as one."""

    def __init__(self, s: Services) -> None:
        self._s = s
        self._batches: list[WriteBatch] = []
        self._events: set[str] = set()
        self._sessions: set[str] = set()
        self._paths: set[str] = set()
        self._chars = 0

    async def flush(self) -> None:
        """Make everything durable."""
        batches, self._batches = self._batches, []
        self._events, self._sessions, self._paths = set(), set(), set()
        self._chars = 0
        if len(batches) == 1:
            await self._s.write(batches[0])
        elif batches:
            await self._s.write(_merged(batches))

    async def flush_path(self, path: str) -> None:
        """Make durable what a transcript came to so far, if it lies here."""
        if path in self._paths:
            await self.flush()

    async def make_room_for(self, path: str, events: tuple[Event, ...]) -> None:
        """Flush if the store could not answer yet for this transcript, its events or sessions."""
        if not self._batches:
            return
        if (
            path in self._paths
            or any(event.id in self._events for event in events)
            or any(event.session_id in self._sessions for event in events)
            or any(event.agent == TWIN_AGENT for event in events)
        ):
            await self.flush()

    async def put(self, batch: WriteBatch, seen: tuple[Event, ...]) -> None:
        """Take in a batch made of the events that were `seen`; a full shelf is flushed."""
        self._batches.append(batch)
        self._paths.update(checkpoint.path for checkpoint in batch.checkpoints)
        self._events.update(event.id for event in seen)
        self._sessions.update(event.session_id for event in seen)
        self._sessions.update(state.session_id for state in batch.sessions)
        self._chars += sum(len(event.text) for event in seen)
        if (
            len(self._events) >= _SHELF_EVENTS
            or len(self._batches) >= _SHELF_FILES
            or self._chars >= _SHELF_CHARS
        ):
            await self.flush()


def _merged(batches: list[WriteBatch]) -> WriteBatch:
    def all_of(parts: list[tuple[T, ...]]) -> tuple[T, ...]:
        return tuple(itertools.chain.from_iterable(parts))

    return WriteBatch(
        events=all_of([batch.events for batch in batches]),
        grown=all_of([batch.grown for batch in batches]),
        memories=all_of([batch.memories for batch in batches]),
        keys=all_of([batch.keys for batch in batches]),
        replace_keys_of=all_of([batch.replace_keys_of for batch in batches]),
        checkpoints=all_of([batch.checkpoints for batch in batches]),
        sessions=all_of([batch.sessions for batch in batches]),
    )


async def take_in(
    s: Services,
    params: IngestParams,
    piece: Piece,
    report: IngestedFile,
    result: IngestResult,
    shelf: Shelf,
    *,
    is_bulk: bool,
) -> None:
    """Put what a piece brings on the shelf (nothing of a dry run), and count it in both reports."""
    batch = piece.batch
    _tell(piece, report)
    await shelf.make_room_for(batch.path, batch.events)
    known = await s.store.known_events([event.id for event in batch.events])
    project = project_for(params.project, "")
    fresh = await told_nowhere_else(s, _first_of_each(batch.events, known))
    fresh = await _own_sessions(s, fresh, project, params.cwd)
    grown = await grown_events(s, batch.events, known)
    report.sessions.extend(
        session
        for session in dict.fromkeys(event.session_id for event in fresh or batch.events)
        if session not in report.sessions
    )
    report.events += len(fresh)
    result.events += len(fresh)
    if params.dry_run:
        return
    turns, keys = _of_events(s, piece, fresh)
    result.turns += len(turns)
    longer, longer_keys = turns_again(s, grown, project, params.cwd)
    await shelf.put(
        WriteBatch(
            events=tuple(fresh),
            grown=tuple(grown),
            memories=(*turns, *longer),
            keys=(*keys, *longer_keys),
            replace_keys_of=tuple(turn.id for turn in longer),
            checkpoints=(batch.checkpoint,),
            sessions=await _sessions(s, fresh, grown, project, params.cwd),
        ),
        batch.events,
    )
    if is_bulk:
        s.worker.note_stored(batch.events, fresh)


def _tell(piece: Piece, report: IngestedFile) -> None:
    batch = piece.batch
    report.source = batch.checkpoint.source
    report.skipped_total += batch.skipped_total
    room = _SHOWN_SKIPS - len(report.skipped)
    report.skipped.extend(
        SkippedLine(line=skip.line, reason=skip.reason) for skip in batch.skipped[:room]
    )
    report.warnings.extend(batch.warnings)
    report.unknown = added(report.unknown, batch.unknown.items())
    report.records += batch.records
    report.total_events = batch.checkpoint.tally.events


def _first_of_each(events: tuple[Event, ...], known: set[str]) -> list[Event]:
    fresh: dict[str, Event] = {}
    for event in events:
        if event.id not in known:
            fresh.setdefault(event.id, event)
    return list(fresh.values())


async def _own_sessions(
    s: Services, events: list[Event], named: str, caller_cwd: str
) -> list[Event]:
    """Keep sessions of different projects apart that chose the same name, such as `S1`.

    Only names that a person or export chose can collide: sessions of agents name their folder,
    and a folder change does not make another session of them.
    """
    renamed: dict[str, str] = {}
    for event in events:
        if event.session_id in renamed or (event.cwd and not named):
            continue
        project = event_project(named, event, caller_cwd)
        state = await s.store.session(event.session_id)
        collides = state is not None and not state.cwd and state.project != project
        renamed[event.session_id] = (
            f"{event.session_id}@{project}" if collides and project else event.session_id
        )
    if all(old == new for old, new in renamed.items()):
        return events
    return [
        msgspec.structs.replace(event, session_id=renamed.get(event.session_id, event.session_id))
        for event in events
    ]


def _of_events(s: Services, piece: Piece, events: list[Event]) -> tuple[list[Memory], list[Key]]:
    """Return the turns and keys of these events only, under the sessions the events have now."""
    sessions = {event.id: event.session_id for event in events}
    turns: dict[str, Memory] = {}
    for turn in piece.turns:
        session_id = sessions.get(turn.evidence[0].event_ids[0])
        if session_id is not None and not s.gate.tombstone_of(turn.text):
            if turn.session_id != session_id:
                turn = msgspec.structs.replace(turn, session_id=session_id)
            turns[turn.id] = turn
    keys: list[Key] = []
    for key in piece.keys:
        turn_of = turns.get(key.memory_id)
        if turn_of is not None:
            if key.session_id != turn_of.session_id:
                key = msgspec.structs.replace(key, session_id=turn_of.session_id)
            keys.append(key)
    return list(turns.values()), keys


async def _sessions(
    s: Services, fresh: list[Event], grown: list[Event], named: str, caller_cwd: str
) -> tuple[SessionState, ...]:
    now = s.clock.now()
    groups: dict[str, list[Event]] = {}
    for event in (*fresh, *grown):
        groups.setdefault(event.session_id, []).append(event)
    grown_ids = {event.id for event in grown}
    states = []
    for session_id, group in groups.items():
        former = await s.store.session(session_id)
        times = [event.ts for event in group if event.ts]
        first = group[0]
        base = former or SessionState(
            session_id=session_id,
            agent=first.agent,
            project=event_project(named, next((e for e in group if e.cwd), first), caller_cwd),
            cwd=next((event.cwd for event in group if event.cwd), ""),
            transcript=first.origin.path if first.origin else "",
            parent_session_id=first.parent_session_id,
        )
        known_times = [at for at in (base.first_at, base.last_at) if at]
        events = base.events + sum(event.id not in grown_ids for event in group)
        consolidated = base.consolidated_events
        if len(group) > events - base.events:
            # A text that grew changes its task, though there is not one event more.
            consolidated = min(consolidated, events - 1)
        states.append(
            msgspec.structs.replace(
                base,
                first_at=min([*times, *known_times], default=now),
                last_at=max([*times, *known_times], default=None),
                last_seen_at=now,
                events=events,
                consolidated_events=consolidated,
                size_bytes=base.size_bytes + sum(size_of(event) for event in group),
                end=end_after(base.end, sorted(group, key=lambda event: event.seq)),
            )
        )
    return tuple(states)
