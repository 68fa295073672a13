"""`show`, `list` and `why`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from hindsight_daemon.errors import NotFound
from hindsight_daemon.model import Event, Evidence, Memory
from hindsight_daemon.protocol.documents import (
    ListResult,
    MemoryDocument,
    WhyResult,
    WhyStep,
)
from hindsight_daemon.protocol.params import ListParams, ShowParams, WhyParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import (
    RETIRED,
    checked_kinds,
    checked_layers,
    checked_limit,
    checked_statuses,
    moment,
)
from hindsight_daemon.service.lineage import predecessors, successors
from hindsight_daemon.service.originals import Originals
from hindsight_daemon.service.readers import (
    may_read,
    private_to,
    readable_projects,
)
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.spans import spans_of
from hindsight_daemon.service.views import iso, whole
from hindsight_daemon.store.port import SearchFilter

MAX_LIST = 1000


async def _one(s: Services, prefix: str, call: Call) -> Memory:
    full = await s.store.resolve(prefix.strip())
    memory = (await s.store.get([full])).get(full)
    if memory is None or not may_read(memory, call):
        raise NotFound(f"no memory `{prefix}`")
    return memory


async def show(s: Services, params: ShowParams, call: Call) -> MemoryDocument:
    """Return one memory with every field."""
    memory = await _one(s, params.id, call)
    short = (await s.store.short_ids([memory.id]))[memory.id]
    history = await _history(s, memory.id) if params.with_history else []
    spans = await spans_of(s.store, memory.evidence) if params.with_spans else []
    return MemoryDocument(memory=whole(memory, short), history=history, spans=spans)


async def _history(s: Services, memory_id: str) -> list[dict[str, Any]]:
    return [
        {
            "at": iso(entry.at),
            "actor": entry.actor,
            "action": entry.action,
            "reason": entry.reason,
            "before": msgspec.json.decode(entry.before) if entry.before else None,
            "after": msgspec.json.decode(entry.after) if entry.after else None,
        }
        for entry in await s.store.history(memory_id)
    ]


async def list_(s: Services, params: ListParams, call: Call) -> ListResult:
    """Return memories, or tombstones, newest first."""
    limit = checked_limit(params.limit, MAX_LIST)
    if params.tombstones:
        return ListResult(memories=[], tombstones=await _tombstones(s, limit))
    statuses = checked_statuses(params.statuses)
    where = SearchFilter(
        now=s.clock.now(),
        projects=readable_projects(
            call, params.project, params.cwd, all_projects=params.all_projects
        ),
        kinds=checked_kinds(params.kinds),  # type: ignore[arg-type]
        layers=checked_layers(params.layers),  # type: ignore[arg-type]
        statuses=statuses,  # type: ignore[arg-type]
        not_statuses=() if statuses else RETIRED,  # type: ignore[arg-type]
        session_id=params.session_id,
        private_to=private_to(call),
        since=moment("since", params.since),
        until=moment("until", params.until),
    )
    found = list(await s.store.list(where, limit=limit + 1, before_id=params.before))
    more = len(found) > limit
    found = found[:limit]
    short = await s.store.short_ids([memory.id for memory in found])
    return ListResult(
        memories=[whole(memory, short[memory.id]) for memory in found],
        next=found[-1].id if more else "",
    )


async def _tombstones(s: Services, limit: int) -> list[dict[str, Any]]:
    newest = sorted(await s.store.tombstones(), key=lambda t: t.since, reverse=True)
    return [
        {
            "id": tombstone.id,
            "memory_id": tombstone.memory_id,
            "text": tombstone.normalized_text,
            "since": iso(tombstone.since),
            "reason": tombstone.reason,
            "actor": tombstone.actor,
            "evidence": msgspec.to_builtins(tombstone.evidence),
        }
        for tombstone in newest[:limit]
    ]


async def why(s: Services, params: WhyParams, call: Call) -> WhyResult:
    """Walk from a memory to what replaced it, what it replaced, what it was derived from and the
    transcript lines behind it."""
    memory = await _one(s, params.id, call)
    steps = [_step("memory", memory)]
    for what, chain in (
        ("replaced by", await successors(s.store, memory)),
        ("replaces", await predecessors(s.store, memory)),
    ):
        steps += [_step(what, other) for other in chain if may_read(other, call)]
    rivals = await s.store.get(list(memory.conflicts_with))
    steps += [_step("contradicts", other) for other in rivals.values() if may_read(other, call)]
    queue, seen = list(memory.derived_from), {memory.id}
    evidence = list(memory.evidence)
    while queue:
        ancestors = await s.store.get([i for i in queue if i not in seen])
        seen.update(queue)
        queue = []
        for ancestor in ancestors.values():
            if not may_read(ancestor, call):
                continue
            steps.append(_step(ancestor.kind, ancestor))
            queue.extend(ancestor.derived_from)
            evidence.extend(ancestor.evidence[:1])
    originals = Originals()
    shown: set[tuple[str, ...]] = set()
    for link in evidence:
        # What was generalised cites what its supports cite.
        if not link.event_ids or link.event_ids not in shown:
            steps.extend(await _spans(s, link, originals))
        shown.add(link.event_ids)
    return WhyResult(id=memory.id, steps=steps, history=await _history(s, memory.id))


def _step(what: str, memory: Memory) -> WhyStep:
    return WhyStep(
        what=what,
        id=memory.id,
        text=memory.text,
        agent=memory.agent,
        session_id=memory.session_id,
        at=iso(memory.valid_from or memory.created_at),
    )


async def _spans(s: Services, link: Evidence, originals: Originals) -> list[WhyStep]:
    events = await s.store.events_by_id(list(link.event_ids))
    steps = []
    for event in events:
        origin = event.origin
        verified = "unknown"
        if origin is not None:
            session_id = event.session_id
            found = await asyncio.to_thread(originals.look, origin, event, session_id)
            verified = found.state
        steps.append(
            WhyStep(
                what="transcript",
                id=event.id,
                text=_said(event)[:2000],
                agent=event.agent,
                session_id=event.session_id,
                transcript=origin.path if origin else link.transcript,
                line=origin.line if origin else link.line,
                byte_start=origin.byte_start if origin else link.byte_start,
                byte_end=origin.byte_end if origin else link.byte_end,
                at=iso(event.ts),
                verified=verified,
            )
        )
    return steps


def _said(event: Event) -> str:
    """Return what an event says; a tool call without text says which tool does what."""
    tool = event.tool
    if event.text.strip() or tool is None:
        return event.text
    return tool.command or f"{tool.name} {', '.join(event.files) or tool.arguments}".strip()
