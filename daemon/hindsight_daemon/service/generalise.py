"""Lessons that recur over episodes become one semantic memory; `engine.generalise` decides.

Owns the reading of lessons by project, the plan of what would change, and its writing, one group
at a time. Supports stay as they are; a result follows them: it is rebuilt when they change and
retired when fewer than two episodes stand behind it. Its id follows from its oldest support, so
that doing it again changes nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import structs

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.generalise import (
    GENERALISED,
    LESSON_KINDS,
    Group,
    Grouping,
    confidence_of,
    episodes_of,
    is_generalised,
    lesson_of,
    recurs,
    text_of,
)
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.model import HistoryEntry, Key, Memory, Record, Trust
from hindsight_daemon.service.filters import RETIRED
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.restated import screen
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import SearchFilter, WriteBatch

ACTOR = "consolidation"
FINGERPRINT = "generalised:"
"""Beginning of the notes on which lessons of a project were looked at last."""

_PAGE = 500
_MOST_VECTORS = 400
_MOST_LINKS = 40
_MOST_KEYS = 16
_MOST_NAMES = 64
_LEAST_TRUST: tuple[Trust, ...] = ("external", "imported", "agent", "tool", "user")

Change = Literal["generalise", "update", "retire"]


class Planned(Record, frozen=True, kw_only=True):
    """One change: the lessons it rests on, the former result if there is one, and why."""

    change: Change
    project: str
    memory_id: str
    supports: tuple[str, ...]
    text: str
    reason: str


class Plan(Record, frozen=True, kw_only=True):
    """What is to be done in one project; `fingerprint` tells the lessons it was made for."""

    project: str
    fingerprint: str
    changes: tuple[Planned, ...] = ()


async def lessons_by_project(s: Services, project: str = "") -> dict[str, list[Memory]]:
    """Return live lessons and results by project, without what grouping does not look at."""
    found: dict[str, list[Memory]] = {}
    async for memory in _lessons(s, project):
        # Thousands of them are held at once; evidence and steps are read again where needed.
        slim = structs.replace(memory, evidence=(), anchors=(), execution_path=(), entities=())
        found.setdefault(memory.project, []).append(slim)
    return found


async def _lessons(s: Services, project: str) -> AsyncIterator[Memory]:
    where = SearchFilter(
        now=s.clock.now(),
        projects=(project,) if project else (),
        with_projectless=not project,
        kinds=LESSON_KINDS,
        not_statuses=RETIRED,  # type: ignore[arg-type]
    )
    before = ""
    while page := await s.store.list(where, limit=_PAGE, before_id=before):
        for memory in page:
            yield memory
        before = page[-1].id
        await asyncio.sleep(0)


def fingerprint_of(memories: Iterable[Memory]) -> str:
    """Return a digest that changes when a lesson is added, changed or gone."""
    digest = hashlib.sha256()
    for line in sorted(f"{m.id} {m.version} {m.status} {m.content_hash}" for m in memories):
        digest.update(line.encode())
    return digest.hexdigest()[:32]


async def plan_project(s: Services, project: str, memories: Sequence[Memory]) -> Plan:
    """Return what is to change in one project; writes nothing."""
    lessons = [lesson_of(m) for m in memories if not is_generalised(m)]
    results = {m.id: m for m in memories if is_generalised(m)}
    known = {memory_id: m.derived_from for memory_id, m in sorted(results.items())}
    grouping = Grouping(lessons)
    groups = await asyncio.to_thread(grouping.groups, known)
    if grouping.doubtful and (cosines := await _cosines(s, grouping)):
        groups = await asyncio.to_thread(Grouping(lessons, cosines).groups, known)
    forgotten = {tombstone.memory_id for tombstone in s.gate.tombstones}
    changes = [
        change
        for group in groups
        if (change := _change(project, group, results, forgotten)) is not None
    ]
    held_up = {group.known for group in groups}
    changes += [_retired(project, m) for i, m in sorted(results.items()) if i not in held_up]
    return Plan(project=project, fingerprint=fingerprint_of(memories), changes=tuple(changes))


async def _cosines(s: Services, grouping: Grouping) -> dict[tuple[str, str], float]:
    if not s.models.model_id:
        return {}
    pairs = grouping.doubtful[:_MOST_VECTORS]
    texts = {one.id: one.memory.text for pair in pairs for one in pair}
    try:
        rows = await asyncio.to_thread(s.models.embed_passages, list(texts.values()))
    except EmbedderUnavailable:
        return {}
    vectors = dict(zip(texts, rows, strict=True))
    return {
        (min(a.id, b.id), max(a.id, b.id)): float(vectors[a.id] @ vectors[b.id]) for a, b in pairs
    }


def _change(
    project: str, group: Group, results: dict[str, Memory], forgotten: set[str]
) -> Planned | None:
    former = results.get(group.known)
    if not recurs(group):
        return None if former is None else _retired(project, former)
    ids = [general_id(member) for member in group.members]
    if former is None and forgotten.intersection(ids):
        return None  # what was forgotten stays gone, even with one support more
    text = text_of(group.members).text
    supports = tuple(member.id for member in group.members)
    if former is not None and _same(former, text, group.members):
        return None
    return Planned(
        change="generalise" if former is None else "update",
        project=project,
        memory_id=former.id if former is not None else ids[0],
        supports=supports,
        text=text,
        reason=group.reason,
    )


def _same(former: Memory, text: str, members: Sequence[Memory]) -> bool:
    return (
        former.content_hash == content_hash(text)
        and former.derived_from == tuple(member.id for member in members)
        and former.support_count == _count(members)
    )


def _count(members: Sequence[Memory]) -> int:
    return len(frozenset[str]().union(*map(episodes_of, members)))


def _retired(project: str, former: Memory) -> Planned:
    return Planned(
        change="retire",
        project=project,
        memory_id=former.id,
        supports=former.derived_from,
        text=former.text,
        reason="fewer than two episodes stand behind it any more",
    )


def general_id(member: Memory) -> str:
    """Return the id of what a group comes down to whose oldest member this is."""
    return id_from(member.valid_from or member.created_at, f"general:{member.id}")


class Written(Record, frozen=True, kw_only=True):
    """What became of one planned change; `refused` says why nothing was written."""

    memory: Memory | None = None
    refused: str = ""


async def carry_out(s: Services, planned: Planned) -> Written:
    """Write one change, if the lessons still stand as they did when it was planned."""
    async with s.admission_lock:
        former = (await s.store.get([planned.memory_id])).get(planned.memory_id)
        if planned.change == "retire":
            return Written() if former is None else await _retire(s, planned, former)
        found = await s.store.get(planned.supports)
        members = [m for i in planned.supports if (m := found.get(i)) and m.status not in RETIRED]
        if len(members) != len(planned.supports):
            return Written(refused="its lessons changed meanwhile; the next run looks again")
        return await _write(s, planned, members, former)


async def _write(
    s: Services, planned: Planned, members: Sequence[Memory], former: Memory | None
) -> Written:
    screened = await screen(s, planned.text, trust=_trust(members), wait_s=None)
    if screened.is_refused:
        return Written(refused=screened.reason)
    memory = merged(s, planned.memory_id, screened.text, members, former)
    keys = keys_for(memory, await _extra_keys(s, members))
    action = "generalised" if former is None else "updated"
    await s.write(
        WriteBatch(
            memories=(memory,),
            keys=keys,
            replace_keys_of=(memory.id,),
            history=(_entry(s, action, memory, former, planned.reason),),
        )
    )
    s.happenings.publish_memory("added" if former is None else "merged", memory)
    return Written(memory=memory)


async def _retire(s: Services, planned: Planned, former: Memory) -> Written:
    retired = structs.replace(
        former,
        status="archived",
        verdict_reason=planned.reason,
        updated_at=s.clock.now(),
        version=former.version + 1,
    )
    keys = tuple(structs.replace(k, status="archived") for k in await s.store.keys_of([former.id]))
    entry = _entry(s, "retired", retired, former, planned.reason)
    await s.write(WriteBatch(memories=(retired,), keys=keys, history=(entry,)))
    return Written(memory=retired)


def merged(
    s: Services, memory_id: str, text: str, members: Sequence[Memory], former: Memory | None
) -> Memory:
    """Return the memory that lessons come down to; all of it is theirs but id and times."""
    said = text_of(members)
    best, latest = said.best, max(members, key=lambda m: (m.valid_from or m.created_at, m.id))
    top = max(members, key=lambda m: m.importance_score)
    now = s.clock.now()
    return Memory(
        id=memory_id,
        layer="semantic",
        kind=best.kind,
        text=text,
        summary=said.summary,
        created_at=former.created_at if former else now,
        updated_at=now,
        lang=detect(text),
        task_goal=best.task_goal,
        task_type=_shared([m.task_type for m in members]),
        agent=_shared([m.agent for m in members]),
        project=best.project,
        cwd=_shared([m.cwd for m in members]),
        scope=best.scope,
        applicability=best.applicability,
        importance=top.importance,
        importance_score=top.importance_score,
        confidence=confidence_of(members),
        trust=_trust(members),
        evidence=tuple(link for m in members for link in m.evidence[:1])[-_MOST_LINKS:],
        anchors=tuple(dict.fromkeys(a for m in members for a in m.anchors))[:_MOST_NAMES],
        entities=tuple(dict.fromkeys(e for m in members for e in m.entities))[:_MOST_NAMES],
        tags=tuple(dict.fromkeys([*(t for m in members for t in m.tags), GENERALISED])),
        version=former.version + 1 if former else 1,
        derived_from=tuple(m.id for m in members),
        support_count=_count(members),
        valid_from=latest.valid_from or latest.created_at,
        pinned=former.pinned if former else False,
        content_hash=content_hash(text),
    )


def _trust(members: Sequence[Memory]) -> Trust:
    """Return the weakest of the sources: a chain is as good as that."""
    return min((m.trust for m in members), key=_LEAST_TRUST.index)


def _shared(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


async def _extra_keys(s: Services, members: Sequence[Memory]) -> list[tuple[str, str]]:
    """Return the texts under which the supports are found, so that it is found by them too."""
    keys: list[Key] = sorted(
        await s.store.keys_of([m.id for m in members]), key=lambda key: (key.memory_id, key.id)
    )
    texts: list[tuple[str, str]] = [
        ("lesson" if key.key_kind == "text" else key.key_kind, key.text) for key in keys
    ]
    return list(dict.fromkeys(texts))[:_MOST_KEYS]


def _entry(
    s: Services, action: str, memory: Memory, before: Memory | None, reason: str
) -> HistoryEntry:
    return HistoryEntry(
        at=s.clock.now(),
        actor=ACTOR,
        action=action,
        memory_id=memory.id,
        reason=reason,
        before=msgspec.json.encode(before).decode() if before else "",
        after=msgspec.json.encode(memory).decode(),
    )
