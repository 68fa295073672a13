"""Writes what the judge made of a task over what the rules made of it, in one batch.

The episode keeps its identity and whatever became of it meanwhile; only the slots change. New
lessons go the way of all lessons: through the gate, merged with what says the same.
"""

from __future__ import annotations

import msgspec

from hindsight_daemon.engine.judged import RULE
from hindsight_daemon.engine.task import Episode, Task
from hindsight_daemon.model import DISTILLED_KINDS, HistoryEntry, Memory
from hindsight_daemon.service.admission import Admission
from hindsight_daemon.service.learning import Learned, LearnJob, Lesson, memories_of
from hindsight_daemon.service.restated import without_restated
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import JudgeJob, WriteBatch

ACTOR = "judge"


async def revise(
    s: Services, learn_job: LearnJob, task: Task, better: Episode, job: JudgeJob, model: str
) -> None:
    """Store a revision of the episode of `job` and end the job; both or neither.

    Nothing but the end of the job is written if the episode has gone or changed meanwhile.
    """
    async with s.ingest_lock:
        known = {
            m.id: m for m in await s.store.memories_of_session(job.session_id, DISTILLED_KINDS)
        }
        standing = known.get(job.id)
        if standing is None or standing.source_hash != job.digest:
            await s.write(WriteBatch(judge_done={job.id: job.digest}))
            return
        (learned,) = await without_restated(s, [memories_of(learn_job, task, better, job.id)])
        await _write(s, learned, standing, known, job, f"refined by {model}")


async def _write(
    s: Services,
    learned: Learned,
    standing: Memory,
    known: dict[str, Memory],
    job: JudgeJob,
    why: str,
) -> None:
    kept = {lesson.memory.id for lesson in learned.lessons}
    replaced = [
        m
        for m in known.values()
        if learned.episode is not None
        and m.derived_from == (job.id,)
        and m.source_hash == job.digest
        and m.id not in kept
        and not m.pinned
    ]
    gone = {m.id for m in replaced}
    admission = Admission(s, actor=ACTOR)
    async with s.admission_lock:
        for one in learned.lessons:
            # The others are the rules' own, which have come in already.
            if RULE in one.memory.tags and one.memory.id not in known:
                await admission.admit(
                    one.memory, one.keys, action="learned", why=why, instead_of=gone
                )
        if (episode := _merged(standing, learned.episode)) is not None:
            await admission.admit(episode.memory, episode.keys, action="refined", why=why)
        gone -= set(admission.memories)
        history = [
            HistoryEntry(
                at=s.clock.now(),
                actor=ACTOR,
                action="replaced",
                memory_id=m.id,
                reason=why,
                before=msgspec.json.encode(m).decode(),
            )
            for m in replaced
            if m.id in gone
        ]
        await s.write(
            admission.batch(
                removed=tuple(gone),
                history=history,
                held=learned.held,
                judge_done={job.id: job.digest},
            )
        )
    admission.publish()


def _merged(standing: Memory, revised: Lesson | None) -> Lesson | None:
    """Return the standing episode with the slots of the revised one; None if the gate refused."""
    if revised is None:
        return None
    new = revised.memory
    memory = msgspec.structs.replace(
        standing,
        text=new.text,
        lang=new.lang,
        task_goal=new.task_goal,
        task_type=new.task_type,
        outcome=new.outcome,
        failure_reason=new.failure_reason,
        lessons=new.lessons,
        confidence=new.confidence,
        entities=new.entities,
        content_hash=new.content_hash,
        tags=tuple(dict.fromkeys([*standing.tags, RULE])),
        updated_at=new.updated_at,
        version=standing.version + 1,
    )
    return Lesson(memory=memory, keys=revised.keys)
