"""Consolidation of one session: ended tasks become episodes and lessons.

Idempotent: ids follow from the task, an unchanged task is passed over, a grown one replaces its
former revision. Nothing is written for a task unless its episode and all its lessons are.
"""

from __future__ import annotations

import msgspec

from hindsight_daemon.model import DISTILLED_KINDS, HistoryEntry, Memory
from hindsight_daemon.service.admission import Admission
from hindsight_daemon.service.judged_tasks import jobs_for
from hindsight_daemon.service.learning import Learned, LearnJob
from hindsight_daemon.service.restated import without_restated
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.working import note_working

_ACTOR = "consolidation"


class Consolidated(msgspec.Struct):
    """What a run made."""

    episodes: int = 0
    memory_ids: list[str] = []
    refused: int = 0
    held: int = 0


async def consolidate_session(s: Services, session_id: str, *, final: bool) -> Consolidated:
    """Distil the tasks of a session; `final` also closes the one at its end.

    A task that is followed by another is over whatever `final` says.
    """
    made = Consolidated()
    state = await s.store.session(session_id)
    if state is None:
        return made
    former = {m.id: m for m in await s.store.memories_of_session(session_id, DISTILLED_KINDS)}
    learned = await s.worker.learn(
        LearnJob(
            session=state,
            known={m.id: m.source_hash for m in former.values() if m.kind == "episode"},
            tombstones=s.gate.tombstones,
            now=s.clock.now(),
            final=final,
            decisions=s.gate.decisions,
        ),
        # What is left from before retention is single events, which make no task.
        lambda: s.store.events_of(session_id, after_seq=state.thinned_through),
    )
    admission = Admission(s, actor=_ACTOR)
    removed: dict[str, HistoryEntry] = {}
    told: list[tuple[Memory, list[str]]] = []
    consolidated = state.events if final else state.consolidated_events
    async with s.admission_lock:
        # Asked here so that nothing is forgotten between this look and the write.
        learned = await without_restated(s, learned)
        for one in learned:
            known = len(made.memory_ids)
            await _take_in(s, one, former, admission, removed, made)
            if one.episode is not None:
                told.append((one.episode.memory, made.memory_ids[known:]))
        await s.write(
            admission.batch(
                removed=tuple(removed),
                history=removed.values(),
                held=tuple(one for task in learned for one in task.held),
                judge_jobs=jobs_for(s, learned),
                sessions=(msgspec.structs.replace(state, consolidated_events=consolidated),),
            )
        )
    s.judging.wanted.set()
    await note_working(s, session_id, final=final)
    for episode, memory_ids in told:
        s.happenings.publish_task(session_id, episode, memory_ids)
    admission.publish()
    return made


async def _take_in(
    s: Services,
    one: Learned,
    former: dict[str, Memory],
    admission: Admission,
    removed: dict[str, HistoryEntry],
    made: Consolidated,
) -> None:
    """Admit one task's memories; what its earlier revision left behind is removed."""
    made.refused += one.refused
    made.held += len(one.held)
    # A lesson that other tasks support too stays, whatever became of this one.
    mine = {
        memory.id
        for memory in former.values()
        if memory.id == one.episode_id or memory.derived_from == (one.episode_id,)
    }
    why = f"session {one.session_id}"
    kept: list[str] = []
    for lesson in [*one.lessons, *([one.episode] if one.episode is not None else [])]:
        admitted = await admission.admit(
            lesson.memory, lesson.keys, action="learned", why=why, instead_of=mine
        )
        kept.append(admitted.memory.id)
    for memory_id in mine - set(admission.memories):
        removed[memory_id] = HistoryEntry(
            at=s.clock.now(),
            actor=_ACTOR,
            action="replaced",
            memory_id=memory_id,
            reason="its task went on",
            before=msgspec.json.encode(former[memory_id]).decode(),
        )
    made.episodes += one.episode is not None
    made.memory_ids.extend(kept)
