"""Consolidation of one session: ended tasks become episodes and lessons.

Idempotent: ids follow from the task, an unchanged task is passed over, a grown one replaces its
former revision. Nothing is written for a task unless its episode and all its lessons are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.distil import distil
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.task import Draft, Episode, Task
from hindsight_daemon.model import Evidence, HistoryEntry, Key, Memory, SessionState
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


async def consolidate_session(s: Services, session_id: str, *, final: bool) -> Consolidated:
    """Distil the tasks of a session; `final` also closes the one at its end.

    A task that is followed by another is over whatever `final` says.
    """
    made = Consolidated()
    state = await s.store.session(session_id)
    if state is None:
        return made
    former = await s.store.memories_of_session(
        session_id, ("episode", "lesson", "preference", "decision", "solution", "fact", "procedure")
    )
    tasks = await _tasks(s, session_id)
    for number, task in enumerate(tasks):
        is_last = number == len(tasks) - 1
        if is_last and not final and not task.is_ended:
            break
        await _consolidate_task(s, state, task, former, made)
    await s.write(
        WriteBatch(
            sessions=(
                msgspec.structs.replace(
                    state, consolidated_events=state.events if final else state.consolidated_events
                ),
            )
        )
    )
    return made


async def _tasks(s: Services, session_id: str) -> list[Task]:
    events = [event async for event in s.store.events_of(session_id)]
    return list(segment(events))


async def _consolidate_task(
    s: Services,
    state: SessionState,
    task: Task,
    former: Sequence[Memory],
    made: Consolidated,
) -> None:
    episode_id = id_from(_start(task, s), f"episode:{task.id}")
    known = next((memory for memory in former if memory.id == episode_id), None)
    if known is not None and known.source_hash == task.content_hash:
        return
    earlier = [memory for memory in former if episode_id in memory.derived_from]
    episode = distil(task)
    if episode is None:
        if known is not None:
            await _replace(s, known, earlier, (), (), ())
        return
    memories, keys, history, refused = await _build(s, state, task, episode, episode_id)
    made.refused += refused
    if not memories:
        return
    await _replace(s, known, earlier, memories, keys, history)
    made.episodes += 1
    made.memory_ids.extend(memory.id for memory in memories)


def _start(task: Task, s: Services) -> datetime:
    # A transcript without times still needs ids that do not change from run to run.
    return next(
        (e.ts for e in task.events if e.ts), datetime.fromtimestamp(0, s.clock.now().tzinfo)
    )


async def _replace(
    s: Services,
    known: Memory | None,
    earlier: Sequence[Memory],
    memories: tuple[Memory, ...],
    keys: tuple[Key, ...],
    history: tuple[HistoryEntry, ...],
) -> None:
    kept = {memory.id for memory in memories}
    gone = [m.id for m in [*earlier, *([known] if known else [])] if m.id not in kept]
    retired = tuple(
        HistoryEntry(
            at=s.clock.now(),
            actor=_ACTOR,
            action="replaced",
            memory_id=memory_id,
            reason="its task went on",
        )
        for memory_id in gone
    )
    await s.write(
        WriteBatch(
            memories=memories,
            keys=keys,
            replace_keys_of=tuple(kept),
            removed=tuple(gone),
            history=history + retired,
        )
    )


async def _build(
    s: Services, state: SessionState, task: Task, episode: Episode, episode_id: str
) -> tuple[tuple[Memory, ...], tuple[Key, ...], tuple[HistoryEntry, ...], int]:
    memories: list[Memory] = []
    keys: list[Key] = []
    refused = 0
    for draft in episode.drafts:
        verdict = s.gate.screen(draft.text)
        if verdict.is_refused:
            refused += 1
            continue
        memory = _lesson(s, state, task, draft, verdict.text, episode_id)
        twin = await s.store.same_content(memory.content_hash, memory.project)
        if twin is not None and twin != memory.id:
            merged = await _merged(s, twin, memory)
            if merged is not None:
                memories.append(merged)
                continue
        memories.append(memory)
        keys.extend(keys_for(memory, _clean_keys(s, draft.keys)))
    verdict = s.gate.screen(episode.summary)
    if verdict.is_refused:
        refused += 1
    else:
        whole = _episode(s, state, task, episode, verdict.text, episode_id, memories)
        memories.append(whole)
        keys.extend(keys_for(whole))
    history = tuple(
        HistoryEntry(
            at=s.clock.now(),
            actor=_ACTOR,
            action="learned",
            memory_id=memory.id,
            reason=f"session {state.session_id}",
            after=msgspec.json.encode(memory).decode(),
        )
        for memory in memories
    )
    return tuple(memories), tuple(keys), history, refused


def _clean_keys(s: Services, keys: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(kind, s.gate.screen(text).text) for kind, text in keys]


async def _merged(s: Services, twin_id: str, newer: Memory) -> Memory | None:
    """Return the known memory strengthened by the evidence of the new one."""
    twin = (await s.store.get([twin_id])).get(twin_id)
    if twin is None or twin.kind == "turn":
        return None
    known = {link.event_ids for link in twin.evidence}
    fresh = tuple(link for link in newer.evidence if link.event_ids not in known)
    if not fresh:
        return twin
    return msgspec.structs.replace(
        twin,
        evidence=twin.evidence + fresh,
        derived_from=tuple(dict.fromkeys([*twin.derived_from, *newer.derived_from])),
        confidence=round(twin.confidence + (1 - twin.confidence) * 0.25, 4),
        updated_at=s.clock.now(),
        version=twin.version + 1,
    )


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
        id=id_from(at or _start(task, s), f"lesson:{task.id}:{digest}"),
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
