"""The judge's queue: tasks that rules have distilled are shown to it in the background.

The job is written together with the episode, so that a crash loses none; the revision is written
together with the end of its job, so that it is made once. Rules never wait for it: when the
judge fails, what they found stays. After three failures a job is held for a person.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine.distil import distil
from hindsight_daemon.engine.judged import joined
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.slots import Shown, TaskSlots, usable
from hindsight_daemon.engine.task import Episode, Task
from hindsight_daemon.engine.task_prompt import show, system_prompt
from hindsight_daemon.errors import BudgetSpent, JudgeRefused, JudgeUnavailable
from hindsight_daemon.judge.schema import BadAnswer
from hindsight_daemon.model import Event, Held, Memory, SessionState
from hindsight_daemon.service.admission import Admission
from hindsight_daemon.service.judging import Question
from hindsight_daemon.service.learning import Learned, LearnJob, episode_id_of
from hindsight_daemon.service.revising import revise
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import JudgeJob, WriteBatch

ATTEMPTS = 3
JUDGE = "judge"
_LONGEST_NAP_S = 600.0
_RETRY_S = (60.0, 900.0)
_log = logging.getLogger("hindsight.judge")


class Shot(msgspec.Struct, frozen=True):
    """A task as it is shown to the judge, with what the rules made of it."""

    task: Task
    episode: Episode
    shown: Shown


def jobs_for(s: Services, learned: Sequence[Learned]) -> tuple[JudgeJob, ...]:
    """Return the jobs that follow from what a session has just taught."""
    if not s.judging.distils:
        return ()
    now = s.clock.now()
    return tuple(
        JudgeJob(
            id=one.episode_id,
            session_id=one.session_id,
            digest=one.episode.memory.source_hash,
            at=now,
        )
        for one in learned
        if one.episode is not None
    )


async def judge_forever(s: Services) -> None:
    """Work off the queue until cancelled; returns at once where no judge is to distil."""
    if not s.judging.distils or s.read_only:
        return
    while True:
        nap_s = await judge_due(s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(nap_s):
                await s.judging.wanted.wait()
        s.judging.wanted.clear()


async def judge_due(s: Services) -> float:
    """Show the judge every task that is due; return in how many seconds to look again."""
    while True:
        if (pause_s := s.judging.pause_s()) > 0:
            return min(pause_s, _LONGEST_NAP_S)
        jobs = await s.store.judge_jobs(limit=1)
        if not jobs:
            return _LONGEST_NAP_S
        wait_s = (jobs[0].at - s.clock.now()).total_seconds()
        if wait_s > 0:
            return min(wait_s, _LONGEST_NAP_S)
        try:
            await judge_one(s, jobs[0])
        except BudgetSpent as exc:
            _log.info("judge.budget", extra={"facts": {"why": exc.message}})
            return _LONGEST_NAP_S
        except JudgeUnavailable as exc:
            _log.warning("judge.unavailable", extra={"facts": {"why": exc.message}})


async def judge_one(s: Services, job: JudgeJob) -> None:
    """Carry out one job; raises `BudgetSpent` and `JudgeUnavailable`, the job then waits."""
    shot, learn_job = await _shot(s, job)
    if shot is None or learn_job is None:
        await s.write(WriteBatch(judge_done={job.id: job.digest}))
        return
    try:
        filled = await s.judging.fill(
            "distil",
            question_about(shot, complaint=job.reason if job.attempts else ""),
            TaskSlots,
            lambda slots: checked(slots, shot.shown),
        )
    except JudgeRefused as exc:
        await _failed(s, job, shot, exc.message)
        return
    except JudgeUnavailable as exc:
        # It may be this very task that it cannot answer in time; all else is the endpoint's fault.
        if exc.detail.get("reason") == "timeout":
            await _failed(s, job, shot, exc.message)
        raise
    slots, _ = usable(filled.value, shot.shown)
    better = joined(shot.task, shot.episode, slots, shot.shown, filled.model)
    await revise(s, learn_job, shot.task, better, job, filled.model)


def question_about(shot: Shot, complaint: str = "") -> Question:
    """Return what the judge is asked about a task."""
    data = f"{shot.shown.text}\n\n[signals of how it ended] {shot.shown.evidence}"
    return Question(
        name="task_form", system=system_prompt(shot.shown, "{fence}", complaint), data=data
    )


def checked(slots: TaskSlots, shown: Shown) -> TaskSlots:
    """Return the slots if they can be used; raises `BadAnswer` if nothing of use is left."""
    clean, problems = usable(slots, shown)
    if problems and not clean.lessons and (slots.lessons or not clean.goal):
        raise BadAnswer("; ".join(problems)[:500])
    return slots


async def _shot(s: Services, job: JudgeJob) -> tuple[Shot | None, LearnJob | None]:
    """Return the task of a job, None if its episode is gone or newer than the job."""
    state = await s.store.session(job.session_id)
    episode = await _standing(s, job)
    if state is None or episode is None:
        return None, None
    events = tuple(
        [e async for e in s.store.events_of(job.session_id, after_seq=state.thinned_through)]
    )
    shot = await asyncio.to_thread(
        find_shot, state, events, job.id, s.judging.settings.max_prompt_tokens
    )
    if shot is not None and shot.task.content_hash != job.digest:
        # The session went on meanwhile; its next consolidation brings a new job.
        shot = None
    return shot, LearnJob(
        session=state,
        events=(),
        known={},
        tombstones=s.gate.tombstones,
        now=s.clock.now(),
        final=True,
        decisions=s.gate.decisions,
    )


async def _standing(s: Services, job: JudgeJob) -> Memory | None:
    episode = (await s.store.get([job.id])).get(job.id)
    return episode if episode is not None and episode.source_hash == job.digest else None


def find_shot(
    state: SessionState, events: Sequence[Event], episode_id: str, max_tokens: int
) -> Shot | None:
    """Return the task whose episode has this id (empty: the last one), ready to be shown."""
    found: Shot | None = None
    for task in segment(events):
        if episode_id and episode_id_of(state, task) != episode_id:
            continue
        episode = distil(task)
        if episode is not None:
            found = Shot(
                task=task, episode=episode, shown=show(task, episode, max_tokens=max_tokens)
            )
    return found


async def _failed(s: Services, job: JudgeJob, shot: Shot, why: str) -> None:
    async with s.ingest_lock:
        # Else the job of a task that went on meanwhile would be overwritten by its former self.
        if await _standing(s, job) is not None:
            await _put_off(s, job, shot, why)


async def _put_off(s: Services, job: JudgeJob, shot: Shot, why: str) -> None:
    attempts = job.attempts + 1
    now = s.clock.now()
    if attempts < ATTEMPTS:
        pause = timedelta(seconds=_RETRY_S[min(attempts, len(_RETRY_S)) - 1])
        again = msgspec.structs.replace(job, attempts=attempts, reason=why, at=now + pause)
        await s.write(WriteBatch(judge_jobs=(again,)))
        return
    _log.warning("judge.held", extra={"facts": {"episode": job.id, "attempts": attempts}})
    afresh = msgspec.structs.replace(job, attempts=0, reason="")
    held = Held(
        id=new_id(now),
        what=JUDGE,
        reason=f"failed {attempts} times: {why}",
        since=now,
        text=f"refining the task: {shot.episode.goal}",
        body=msgspec.json.encode(afresh).decode(),
        session_id=job.session_id,
        origin=job.session_id,
    )
    await s.write(WriteBatch(held=(held,), judge_done={job.id: job.digest}))


async def release_job(s: Services, held: Held, _admission: Admission) -> WriteBatch:
    """Put a job that was held back into the queue."""
    job = msgspec.json.decode(held.body, type=JudgeJob)
    s.judging.wanted.set()
    return WriteBatch(judge_jobs=(msgspec.structs.replace(job, at=s.clock.now()),))
