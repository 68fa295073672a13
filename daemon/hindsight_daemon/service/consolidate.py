"""Consolidation of one session: ended tasks become episodes and lessons.

Idempotent: ids follow from the task, an unchanged task is passed over, a grown one replaces its
former revision. Nothing is written for a task unless its episode and all its lessons are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.distil import distil
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.task import Draft, Episode, Task
from hindsight_daemon.model import (
    DISTILLED_KINDS,
    Event,
    Evidence,
    HistoryEntry,
    Key,
    Memory,
    SessionState,
)
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.turns import evidence_of
from hindsight_daemon.store.port import WriteBatch

_ACTOR = "consolidation"
_EPISODE_IMPORTANCE = 0.4


class Consolidated(msgspec.Struct):
    """What a run made."""

    episodes: int = 0
    memory_ids: list[str] = []
    refused: int = 0


class Learned(msgspec.Struct):
    """A task's memories as they would be without any others: pure work, done in a thread."""

    task: Task
    episode_id: str
    lessons: list[tuple[Memory, tuple[Key, ...]]] = []
    episode: Memory | None = None
    refused: int = 0


async def consolidate_session(s: Services, session_id: str, *, final: bool) -> Consolidated:
    """Distil the tasks of a session; `final` also closes the one at its end.

    A task that is followed by another is over whatever `final` says.
    """
    made = Consolidated()
    state = await s.store.session(session_id)
    if state is None:
        return made
    former = {m.id: m for m in await s.store.memories_of_session(session_id, DISTILLED_KINDS)}
    events = [event async for event in s.store.events_of(session_id)]
    learned = await asyncio.to_thread(_learn, s, state, events, former, final)
    changes = _Changes()
    for one in learned:
        await _take_in(s, one, former, changes, made)
    consolidated = state.events if final else state.consolidated_events
    await s.write(
        WriteBatch(
            memories=tuple(changes.memories.values()),
            keys=tuple(changes.keys),
            replace_keys_of=tuple(changes.replaced),
            removed=tuple(changes.removed),
            history=tuple(changes.history),
            sessions=(msgspec.structs.replace(state, consolidated_events=consolidated),),
        )
    )
    return made


class _Changes:
    """What a run over one session will write, in one batch."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.keys: list[Key] = []
        self.replaced: list[str] = []
        self.removed: list[str] = []
        self.history: list[HistoryEntry] = []


def _learn(
    s: Services,
    state: SessionState,
    events: list[Event],
    former: dict[str, Memory],
    final: bool,
) -> list[Learned]:
    tasks = list(segment(events))
    learned = []
    for number, task in enumerate(tasks):
        if number == len(tasks) - 1 and not (final or task.is_ended):
            break
        episode_id = id_from(_start(state, task), f"episode:{task.id}")
        known = former.get(episode_id)
        if known is None or known.source_hash != task.content_hash:
            learned.append(_learned(s, state, task, episode_id))
    return learned


def _learned(s: Services, state: SessionState, task: Task, episode_id: str) -> Learned:
    result = Learned(task=task, episode_id=episode_id)
    episode = distil(task)
    if episode is None:
        return result
    for draft in episode.drafts:
        verdict = s.gate.screen(draft.text)
        if verdict.is_refused:
            result.refused += 1
            continue
        memory = _lesson(s, state, task, draft, verdict.text, episode_id)
        result.lessons.append((memory, keys_for(memory, _clean_keys(s, draft.keys))))
    verdict = s.gate.screen(episode.summary)
    if verdict.is_refused:
        result.refused += 1
    else:
        lessons = [memory for memory, _ in result.lessons]
        result.episode = _episode(s, state, task, episode, verdict.text, episode_id, lessons)
    return result


def _start(state: SessionState, task: Task) -> datetime:
    # Ids must not change from run to run, so a transcript without times counts from when its
    # session was first seen, which is stored.
    known = next((e.ts for e in task.events if e.ts), state.first_at)
    return known or datetime.fromtimestamp(0, UTC)


async def _take_in(
    s: Services,
    one: Learned,
    former: dict[str, Memory],
    changes: _Changes,
    made: Consolidated,
) -> None:
    """Add one task's memories to the changes: merged with twins, its earlier revision removed."""
    made.refused += one.refused
    kept: list[Memory] = []
    for memory, keys in one.lessons:
        twin = await _twin(s, memory, changes)
        if twin is None:
            changes.keys.extend(keys)
            changes.replaced.append(memory.id)
            kept.append(memory)
        else:
            kept.append(_strengthened(twin, memory, s.clock.now()))
    if one.episode is not None:
        changes.keys.extend(keys_for(one.episode))
        changes.replaced.append(one.episode.id)
        kept.append(one.episode)
    now = s.clock.now()
    keep = {memory.id for memory in kept} | set(changes.memories)
    for memory in former.values():
        # A lesson that other tasks support too stays, whatever became of this one.
        mine = memory.id == one.episode_id or memory.derived_from == (one.episode_id,)
        if mine and memory.id not in keep:
            changes.removed.append(memory.id)
            changes.history.append(_entry(now, "replaced", memory.id, "its task went on"))
    for memory in kept:
        changes.memories[memory.id] = memory
        after = msgspec.json.encode(memory).decode()
        why = f"session {one.task.session_id}"
        changes.history.append(_entry(now, "learned", memory.id, why, after))
    if one.episode is not None:
        made.episodes += 1
    made.memory_ids.extend(memory.id for memory in kept)


def _entry(at: datetime, action: str, memory_id: str, reason: str, after: str = "") -> HistoryEntry:
    return HistoryEntry(
        at=at, actor=_ACTOR, action=action, memory_id=memory_id, reason=reason, after=after
    )


async def _twin(s: Services, memory: Memory, changes: _Changes) -> Memory | None:
    """Return a memory that says the same in the same project, stored or about to be."""
    for other in changes.memories.values():
        same = (other.content_hash, other.project) == (memory.content_hash, memory.project)
        if same and other.id != memory.id:
            return other
    twin_id = await s.store.same_content(memory.content_hash, memory.project)
    if twin_id is None or twin_id == memory.id:
        return None
    twin = (await s.store.get([twin_id])).get(twin_id)
    return twin if twin is not None and twin.kind != "turn" else None


def _strengthened(twin: Memory, newer: Memory, now: datetime) -> Memory:
    known = {link.event_ids for link in twin.evidence}
    fresh = tuple(link for link in newer.evidence if link.event_ids not in known)
    if not fresh:
        return twin
    return msgspec.structs.replace(
        twin,
        evidence=twin.evidence + fresh,
        derived_from=tuple(dict.fromkeys([*twin.derived_from, *newer.derived_from])),
        confidence=round(twin.confidence + (1 - twin.confidence) * 0.25, 4),
        updated_at=now,
        version=twin.version + 1,
    )


def _clean_keys(s: Services, keys: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(kind, s.gate.screen(text).text) for kind, text in keys]


def _evidence(task: Task, draft: Draft) -> tuple[Evidence, ...]:
    by_id = {event.id: event for event in task.events}
    found = [by_id[event_id] for event_id in draft.event_ids if event_id in by_id]
    return tuple(evidence_of(e, draft.quote if n == 0 else "") for n, e in enumerate(found))


def _lesson(
    s: Services, state: SessionState, task: Task, draft: Draft, text: str, episode_id: str
) -> Memory:
    now = s.clock.now()
    at = next((e.ts for e in reversed(task.events) if e.ts), None)
    digest = content_hash(text)
    return Memory(
        id=id_from(at or _start(state, task), f"lesson:{task.id}:{digest}"),
        layer="semantic",
        kind=draft.kind,
        text=text,
        created_at=now,
        updated_at=now,
        lang=detect(text),
        task_goal=task.goal,
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
        tags=draft.tags,
        derived_from=(episode_id,),
        valid_from=at,
        content_hash=digest,
        source_hash=task.content_hash,
    )


def _episode(
    s: Services,
    state: SessionState,
    task: Task,
    episode: Episode,
    text: str,
    episode_id: str,
    lessons: Sequence[Memory],
) -> Memory:
    now = s.clock.now()
    first = task.events[0]
    return Memory(
        id=episode_id,
        layer="episodic",
        kind="episode",
        text=text,
        created_at=now,
        updated_at=now,
        lang=detect(text),
        task_goal=s.gate.screen(episode.goal).text or episode.goal,
        task_type=episode.task_type,
        outcome=episode.verdict.outcome,
        failure_reason=episode.verdict.failure_reason,
        lessons=tuple(lesson.text for lesson in lessons),
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
