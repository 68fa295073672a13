"""Transcripts through the production code in this process: read, redact, segment, distil, screen.

The functions are those that the daemon and its worker call; only the store is left out, so that
nothing is merged with what other sessions taught.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hindsight_daemon.errors import BadInput, NoInput
from hindsight_daemon.model import Event, SessionState
from hindsight_daemon.service.learning import Learned, LearnJob, learn
from hindsight_daemon.service.reading import LastTurns, ReadJob, read

NOW = datetime(2026, 4, 1, tzinfo=UTC)


class ReadSession(msgspec.Struct, frozen=True, kw_only=True):
    """The events of one session of a transcript."""

    session_id: str
    agent: str
    transcript: str
    events: tuple[Event, ...]


def read_sessions(path: Path) -> Iterator[ReadSession]:
    """Yield the sessions of a transcript, none if it cannot be read."""
    events: dict[str, dict[str, Event]] = {}
    try:
        for piece in read(ReadJob(path=str(path), now=NOW), LastTurns()):
            for event in piece.batch.events:
                events.setdefault(event.session_id, {})[event.id] = event
    except (BadInput, NoInput):
        return
    for session_id, found in events.items():
        in_order = tuple(sorted(found.values(), key=lambda event: event.seq))
        yield ReadSession(
            session_id=session_id,
            agent=in_order[0].agent,
            transcript=str(path),
            events=in_order,
        )


def learn_session(session: ReadSession) -> list[Learned]:
    """Return what a session that is over teaches."""
    first = session.events[0]
    state = SessionState(
        session_id=session.session_id,
        agent=session.agent,
        project=next((event.cwd for event in session.events if event.cwd), ""),
        cwd=first.cwd,
        transcript=session.transcript,
        parent_session_id=first.parent_session_id,
        first_at=first.ts or NOW,
        events=len(session.events),
    )
    job = LearnJob(
        session=state, events=session.events, known={}, tombstones=(), now=NOW, final=True
    )
    return learn(job)
