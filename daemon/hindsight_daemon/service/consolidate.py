"""Consolidation of one session: ended tasks become episodes and lessons.

Idempotent: ids follow from the task, an unchanged task is passed over, a grown one replaces its
former revision. Nothing is written for a task unless its episode and all its lessons are.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from hindsight_daemon.model import DISTILLED_KINDS, HistoryEntry, Key, Memory
from hindsight_daemon.service.learning import Learned, LearnJob
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.working import note_working
from hindsight_daemon.store.port import WriteBatch

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
            # What is left from before retention is single events, which make no task.
            events=tuple(
                [
                    event
                    async for event in s.store.events_of(
                        session_id, after_seq=state.thinned_through
                    )
                ]
            ),
            known={m.id: m.source_hash for m in former.values() if m.kind == "episode"},
            tombstones=s.gate.tombstones,
            now=s.clock.now(),
            final=final,
            decisions=s.gate.decisions,
        )
    )
    changes = _Changes()
    told: list[tuple[Memory, list[str]]] = []
    for one in learned:
        known = len(made.memory_ids)
        await _take_in(s, one, former, changes, made)
        if one.episode is not None:
            told.append((one.episode.memory, made.memory_ids[known:]))
    consolidated = state.events if final else state.consolidated_events
    await s.write(
        WriteBatch(
            memories=tuple(changes.memories.values()),
            keys=tuple(changes.keys),
            replace_keys_of=tuple(changes.replaced),
            removed=tuple(changes.removed),
            history=tuple(changes.history),
            held=tuple(one for task in learned for one in task.held),
            sessions=(msgspec.structs.replace(state, consolidated_events=consolidated),),
        )
    )
    await note_working(s, session_id, final=final)
    for episode, memory_ids in told:
        s.happenings.publish_task(session_id, episode, memory_ids)
    for memory in changes.memories.values():
        if memory.id not in changes.fresh:
            s.happenings.publish_memory("merged", memory)
        elif memory.id not in former:
            s.happenings.publish_memory("added", memory)
    return made


class _Changes:
    """What a run over one session will write, in one batch."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.keys: list[Key] = []
        self.replaced: list[str] = []
        self.removed: list[str] = []
        self.fresh: set[str] = set()
        self.history: list[HistoryEntry] = []


async def _take_in(
    s: Services,
    one: Learned,
    former: dict[str, Memory],
    changes: _Changes,
    made: Consolidated,
) -> None:
    """Add one task's memories to the changes: merged with twins, its earlier revision removed."""
    made.refused += one.refused
    made.held += len(one.held)
    kept: list[Memory] = []
    for lesson in one.lessons:
        memory, keys = lesson.memory, lesson.keys
        twin = await _twin(s, memory, changes)
        if twin is None:
            changes.keys.extend(keys)
            changes.replaced.append(memory.id)
            changes.fresh.add(memory.id)
            kept.append(memory)
        else:
            kept.append(_strengthened(twin, memory, s.clock.now()))
    if one.episode is not None:
        changes.keys.extend(one.episode.keys)
        changes.replaced.append(one.episode.memory.id)
        changes.fresh.add(one.episode.memory.id)
        kept.append(one.episode.memory)
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
        why = f"session {one.session_id}"
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
