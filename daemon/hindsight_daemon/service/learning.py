"""What a session teaches by itself: its tasks distilled into memories, before any merging.

Pure but for the memoised look at project folders; runs in a thread or in the worker process, so
it takes and returns plain records and knows neither store nor services.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.distil import distil
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.task import Draft, Episode, Task
from hindsight_daemon.model import (
    Event,
    Evidence,
    Held,
    HeldState,
    Key,
    Memory,
    Record,
    SessionState,
    Tombstone,
)
from hindsight_daemon.service.gate import Gate, Verdict
from hindsight_daemon.service.held import hold_memory
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.turns import evidence_of

_EPISODE_IMPORTANCE = 0.4


class LearnJob(Record, frozen=True, kw_only=True, tag="learn"):
    """A session to learn from; `known` maps ids of its episodes to the digests they came from.

    `decisions` are those of the gate about what is or was held. With `final` the task
    at the session's end counts as over. With `in_mind` the worker process is to use the events
    it read itself, if there are exactly so many, instead of `events`.
    """

    session: SessionState
    events: tuple[Event, ...] = ()
    in_mind: int = 0
    known: dict[str, str]
    tombstones: tuple[Tombstone, ...]
    now: datetime
    final: bool
    decisions: dict[str, tuple[str, HeldState]] = {}


class Lesson(Record, frozen=True, kw_only=True):
    """A distilled memory with its keys."""

    memory: Memory
    keys: tuple[Key, ...]


class Learned(Record, frozen=True, kw_only=True):
    """What one new or changed task comes down to; without an episode it was not worth one."""

    session_id: str
    episode_id: str
    lessons: tuple[Lesson, ...] = ()
    episode: Lesson | None = None
    refused: int = 0
    held: tuple[Held, ...] = ()


def learn(job: LearnJob) -> list[Learned]:
    """Distil the tasks that are over and that `known` does not hold in their present form."""
    gate = Gate(job.tombstones).knows(job.decisions)
    tasks = list(segment(job.events))
    learned = []
    for number, task in enumerate(tasks):
        if number == len(tasks) - 1 and not (job.final or task.is_ended):
            break
        episode_id = episode_id_of(job.session, task)
        if gate.forgotten.of_memory(episode_id) is not None:
            continue
        if job.known.get(episode_id) != task.content_hash:
            learned.append(_learned(job, gate, task, episode_id))
    return learned


def episode_id_of(state: SessionState, task: Task) -> str:
    """Return the id of the episode of a task, the same whenever it is asked."""
    return id_from(_start(state, task), f"episode:{task.id}")


def memories_of(job: LearnJob, task: Task, episode: Episode, episode_id: str) -> Learned:
    """Return the memories of an episode, screened; `job` says of which session and when."""
    return _screened(job, Gate(job.tombstones).knows(job.decisions), task, episode, episode_id)


def _learned(job: LearnJob, gate: Gate, task: Task, episode_id: str) -> Learned:
    episode = distil(task)
    if episode is None:
        return Learned(session_id=job.session.session_id, episode_id=episode_id)
    return _screened(job, gate, task, episode, episode_id)


def _screened(job: LearnJob, gate: Gate, task: Task, episode: Episode, episode_id: str) -> Learned:
    session_id = job.session.session_id
    lessons, held = [], []
    refused = 0
    goal = gate.excerpt(task.goal)
    for draft in episode.drafts:
        verdict = gate.screen(draft.text, trust=draft.trust, source=session_id)
        if verdict.is_refused and not verdict.is_held:
            refused += 1
            continue
        memory = _quoting(gate, _lesson(job, task, draft, verdict, episode_id, goal))
        keys = keys_for(memory, [(kind, gate.excerpt(text)) for kind, text in draft.keys])
        if not verdict.is_held:
            lessons.append(Lesson(memory=memory, keys=keys))
        elif not verdict.held_id:
            held.append(hold_memory(memory, keys, verdict.reason, _read_from(job)))
    whole = _whole(job, gate, task, episode, episode_id, lessons)
    return Learned(
        session_id=session_id,
        episode_id=episode_id,
        lessons=tuple(lessons),
        episode=whole,
        refused=refused + (whole is None),
        held=tuple(held),
    )


def _whole(
    job: LearnJob,
    gate: Gate,
    task: Task,
    episode: Episode,
    episode_id: str,
    lessons: Sequence[Lesson],
) -> Lesson | None:
    """Return the episode with its keys; None if what it was about was forgotten or steers."""
    text, goal = gate.excerpt(episode.summary), gate.excerpt(episode.goal)
    if not text or (episode.goal.strip() and not goal):
        return None
    why = gate.excerpt(episode.verdict.failure_reason)
    episode = replace(
        episode,
        goal=goal,
        verdict=replace(episode.verdict, failure_reason=why),
    )
    texts = [lesson.memory.text for lesson in lessons]
    memory = _quoting(gate, _episode(job, task, episode, text, episode_id, texts))
    return Lesson(memory=memory, keys=keys_for(memory))


def _quoting(gate: Gate, memory: Memory) -> Memory:
    """Return the memory without quotes that may not be shown; the links themselves stay."""
    shown = tuple(
        link if gate.excerpt(link.quote) == link.quote else replace(link, quote="")
        for link in memory.evidence
    )
    return replace(memory, evidence=shown)


def _read_from(job: LearnJob) -> str:
    """Return where a session was read, for a person who asks where a held text came from."""
    return job.session.transcript or job.session.session_id


def _start(state: SessionState, task: Task) -> datetime:
    # Ids must not change from run to run, so a transcript without times counts from when its
    # session was first seen, which is stored.
    known = next((e.ts for e in task.events if e.ts), state.first_at)
    return known or datetime.fromtimestamp(0, UTC)


def _evidence(task: Task, draft: Draft) -> tuple[Evidence, ...]:
    by_id = {event.id: event for event in task.events}
    found = [by_id[event_id] for event_id in draft.event_ids if event_id in by_id]
    return tuple(evidence_of(e, draft.quote if n == 0 else "") for n, e in enumerate(found))


def _lesson(
    job: LearnJob, task: Task, draft: Draft, verdict: Verdict, episode_id: str, goal: str
) -> Memory:
    state, text = job.session, verdict.text
    at = next((e.ts for e in reversed(task.events) if e.ts), None)
    digest = content_hash(text)
    return Memory(
        id=id_from(at or _start(state, task), f"lesson:{task.id}:{digest}"),
        layer="semantic",
        kind=draft.kind,
        text=text,
        created_at=job.now,
        updated_at=job.now,
        lang=detect(text),
        task_goal=goal,
        agent=state.agent,
        session_id=state.session_id,
        project="" if draft.scope == "global" else state.project,
        cwd=state.cwd,
        git_branch=next((e.git_branch for e in reversed(task.events) if e.git_branch), ""),
        git_commit=next((e.git_commit for e in reversed(task.events) if e.git_commit), ""),
        scope=draft.scope,
        applicability=draft.applicability,
        importance=draft.importance,
        importance_score=draft.importance_score,
        confidence=draft.confidence,
        trust=draft.trust,
        evidence=_evidence(task, draft),
        anchors=draft.anchors,
        entities=draft.entities,
        tags=tuple(dict.fromkeys([*draft.tags, *verdict.tags])),
        derived_from=(episode_id,),
        valid_from=at,
        content_hash=digest,
        source_hash=task.content_hash,
    )


def _episode(
    job: LearnJob,
    task: Task,
    episode: Episode,
    text: str,
    episode_id: str,
    lessons: Sequence[str],
) -> Memory:
    state = job.session
    first = task.events[0]
    return Memory(
        id=episode_id,
        layer="episodic",
        kind="episode",
        text=text,
        created_at=job.now,
        updated_at=job.now,
        lang=detect(text),
        task_goal=episode.goal,
        task_type=episode.task_type,
        outcome=episode.verdict.outcome,
        failure_reason=episode.verdict.failure_reason,
        lessons=tuple(lessons),
        execution_path=episode.path,
        duration_s=episode.duration_s,
        agent=state.agent,
        session_id=state.session_id,
        project=state.project,
        cwd=state.cwd,
        git_branch=first.git_branch,
        git_commit=first.git_commit,
        importance="medium",
        importance_score=_EPISODE_IMPORTANCE,
        confidence=episode.verdict.confidence,
        evidence=tuple(evidence_of(event) for event in (first, task.events[-1])),
        entities=episode.entities,
        valid_from=episode.ended_at or episode.started_at,
        content_hash=content_hash(f"{task.id}\n{text}"),
        source_hash=task.content_hash,
    )
