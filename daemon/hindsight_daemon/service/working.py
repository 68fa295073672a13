"""Working memory: the live state of sessions, kept while they run; `engine.working` decides.

The state is a row of its own beside the memories: no search can return it. It follows the stored
events, so what a crash or another process leaves behind is caught up from them.
"""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs

from hindsight_daemon.engine import working as policy
from hindsight_daemon.errors import NotFound
from hindsight_daemon.model import SessionState, WorkingItem, WorkingState
from hindsight_daemon.protocol.params import WorkingParams
from hindsight_daemon.protocol.upkeep_documents import WorkingEntry, WorkingResult, WorkingSession
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import projects_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.views import iso
from hindsight_daemon.store.port import WriteBatch

_MOST_RESULTS = 10


async def note_working(s: Services, session_id: str, *, final: bool) -> None:
    """Bring the live state of a session up to its events, after they were consolidated.

    With `final`, or when the agent has ended its turn, its task is in the episodic layer now and
    leaves this one. Sessions that have been silent for longer than the time to live get no state.
    """
    session = await s.store.session(session_id)
    former = next(iter(await s.store.working(session_id)), None)
    if session is None or (final and former is None):
        return
    now = s.clock.now()
    spoken = session.last_at or session.last_seen_at or now
    expires = spoken + timedelta(seconds=s.settings.working.ttl_s)
    if expires <= now:
        if former is not None:
            await s.write(WriteBatch(working_gone=(session_id,)))
        return
    state, was_triggered = await _caught_up(s, session, former)
    if final or state.has_ended:
        if former is None or former.is_open or former.through_seq != state.through_seq:
            await _write(s, structs.replace(policy.closed(state), expires_at=expires))
        return
    capacity = s.settings.working.capacity
    state = policy.assessed(
        policy.bounded(state, capacity),
        now,
        every_turns=s.settings.working.assess_every_turns,
        was_triggered=was_triggered,
    )
    if state == former:
        return
    await _write(s, structs.replace(state, expires_at=expires))
    if policy.is_full(state, capacity):
        s.full_sessions.add(session_id)
        s.consolidation_wanted.set()


async def _caught_up(
    s: Services, session: SessionState, former: WorkingState | None
) -> tuple[WorkingState, bool]:
    state = former or policy.opened(
        session.session_id,
        agent=session.agent,
        project=session.project,
        cwd=session.cwd,
        now=s.clock.now(),
        ttl_s=s.settings.working.ttl_s,
    )
    advance = policy.Advance(state)
    after = max(state.through_seq, session.thinned_through)
    async for event in s.store.events_of(session.session_id, after_seq=after):
        advance.take(event)
        if len(advance.state.items) > s.settings.working.capacity * 2:
            advance = _relieved(advance, s.settings.working.capacity)
    return advance.state, advance.was_triggered


def _relieved(advance: policy.Advance, capacity: int) -> policy.Advance:
    lighter = policy.Advance(policy.bounded(advance.state, capacity))
    lighter.was_triggered = advance.was_triggered
    return lighter


async def _write(s: Services, state: WorkingState) -> None:
    await s.write(WriteBatch(working=(structs.replace(state, updated_at=s.clock.now()),)))


async def relieve(s: Services, session_id: str, full: WorkingState) -> None:
    """Give a session that was consolidated because it was full the rest of its live state back."""
    now = next(iter(await s.store.working(session_id)), None)
    if now is not None and now.through_seq == full.through_seq and not now.is_open:
        await _write(s, policy.relieved(full))


async def catch_up(s: Services) -> None:
    """Bring all live states up to date after a start, and let go of those that have expired."""
    for session in await s.store.sessions(unconsolidated=True):
        await note_working(s, session.session_id, final=False)
    await expire_working(s)


async def expire_working(s: Services) -> int:
    """Let go of live states whose time is over; return how many."""
    now = s.clock.now()
    gone = tuple(w.session_id for w in await s.store.working() if w.expires_at <= now)
    if gone:
        await s.write(WriteBatch(working_gone=gone))
    return len(gone)


async def working(s: Services, params: WorkingParams, _call: Call) -> WorkingResult:
    """Return the live state of sessions, what was changed last first."""
    now = s.clock.now()
    live = [w for w in await s.store.working() if w.is_open and w.expires_at > now]
    if params.session_id:
        live = [w for w in live if w.session_id.startswith(params.session_id)]
        if not live:
            raise NotFound(
                f"no live session `{params.session_id}`",
                hint="`hindsight working --all-projects` shows the live sessions there are",
            )
    else:
        projects = projects_for(params.project, params.cwd, params.all_projects)
        if projects:
            live = [w for w in live if _is_of(w, projects[0])]
    return WorkingResult(
        sessions=[_view(s, state) for state in live], capacity=s.settings.working.capacity
    )


def _is_of(state: WorkingState, project: str) -> bool:
    return project in (state.project, state.project.rpartition("/")[2])


def _view(s: Services, state: WorkingState) -> WorkingSession:
    def entries(kind: str) -> list[WorkingEntry]:
        return [
            _entry(item)
            for item in state.items
            if item.kind == kind and not s.gate.tombstone_of(item.text)
        ]

    return WorkingSession(
        session_id=state.session_id,
        agent=state.agent,
        project=state.project,
        cwd=state.cwd,
        goal=state.goal,
        steps=entries("step"),
        open_failures=entries("failure"),
        recent_results=entries("result")[-_MOST_RESULTS:],
        notes=entries("note"),
        importance=state.importance,
        importance_score=state.importance_score,
        importance_reasons=list(state.importance_reasons),
        assessed_at=iso(state.assessed_at),
        assessments=state.assessments,
        turns=state.turns,
        entries=len(state.items),
        dropped=state.dropped,
        started_at=iso(state.started_at),
        updated_at=iso(state.updated_at),
        expires_at=iso(state.expires_at),
    )


def _entry(item: WorkingItem) -> WorkingEntry:
    return WorkingEntry(
        text=item.text, at=iso(item.at), event_id=item.event_id, importance=item.importance
    )
