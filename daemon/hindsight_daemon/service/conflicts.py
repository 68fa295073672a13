"""Conflicts that wait for a person: what says otherwise than what, and the decision between them.

A conflict is kept on both memories (`conflicts_with`) and nowhere else; both stay in recall until
somebody decides. Which memories have one is known from the index of likeness, which sees them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hindsight_daemon.engine.admission import compare, said_at
from hindsight_daemon.errors import NotFound, PermissionProblem, UsageProblem
from hindsight_daemon.model import HistoryEntry, Key, Memory
from hindsight_daemon.protocol.conflict_documents import (
    ConflictsResult,
    ConflictView,
    ResolveResult,
)
from hindsight_daemon.protocol.params import ConflictsParams, ResolveParams
from hindsight_daemon.service.admission import rekeyed, replaced_by
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import RETIRED, checked, checked_limit
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.views import recalled
from hindsight_daemon.store.port import WriteBatch

DECISIONS = ("keep-new", "keep-old", "keep-both")
MAX_LIST = 1000


async def conflicts(s: Services, params: ConflictsParams, _call: Call) -> ConflictsResult:
    """List pairs of memories that cannot both hold, the one that was told last first."""
    limit = checked_limit(params.limit, MAX_LIST)
    pairs = await _open_pairs(s, await s.conflicted())
    short = await s.store.short_ids([memory.id for pair in pairs[:limit] for memory in pair])
    return ConflictsResult(
        conflicts=[
            ConflictView(
                newer=recalled(newer, short[newer.id], 0.0),
                older=recalled(older, short[older.id], 0.0),
                reason=compare(newer, older).reason or "they were told apart when they came in",
            )
            for newer, older in pairs[:limit]
        ],
        total=len(pairs),
    )


async def resolve(s: Services, params: ResolveParams, call: Call) -> ResolveResult:
    """Carry out a person's decision on all conflicts of the memories named."""
    checked("decision", (params.decision,), DECISIONS)
    if call.agent:
        raise PermissionProblem(
            "only a person may decide a conflict",
            hint="ask the user to run `hindsight audit conflicts`",
        )
    if not params.ids:
        raise UsageProblem("no id given", hint="`hindsight audit conflicts` lists the ids")
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=ResolveResult)
    async with s.admission_lock:
        named = [await s.store.resolve(prefix.strip()) for prefix in params.ids]
        pairs = await _open_pairs(s, named)
        for memory_id in named:
            if not any(memory_id in (newer.id, older.id) for newer, older in pairs):
                raise NotFound(
                    f"memory `{memory_id}` is in no conflict",
                    hint="`hindsight audit conflicts` lists those there are",
                )
        changes = _Decided(s, pairs, params, call)
        result = ResolveResult(
            resolved=sorted({memory.id for pair in pairs for memory in pair}),
            superseded=sorted(changes.superseded),
            dry_run=params.dry_run,
        )
        if params.dry_run:
            return result
        await s.write(
            WriteBatch(
                memories=tuple(changes.memories.values()),
                keys=await _keys(s, changes.memories),
                history=tuple(changes.history),
                request_key=params.request_key,
                response=msgspec.json.encode(result).decode() if params.request_key else "",
            )
        )
    for memory_id in result.superseded:
        s.happenings.publish_memory("superseded", changes.memories[memory_id])
    return result


async def _open_pairs(s: Services, ids: Iterable[str]) -> list[tuple[Memory, Memory]]:
    """Return the conflicts of these memories as (newer, older), last told first."""
    sides = await s.store.get(list(ids))
    others = {other for memory in sides.values() for other in memory.conflicts_with}
    known = {**await s.store.get(sorted(others)), **sides}
    found: dict[frozenset[str], tuple[Memory, Memory]] = {}
    for memory in sides.values():
        for other in (known[i] for i in memory.conflicts_with if i in known):
            if memory.status in RETIRED or other.status in RETIRED:
                continue
            newer, older = sorted((memory, other), key=_order, reverse=True)
            found[frozenset((newer.id, older.id))] = (newer, older)
    return sorted(found.values(), key=lambda pair: _order(pair[0]), reverse=True)


def _order(memory: Memory) -> tuple[float, str]:
    return said_at(memory).timestamp(), memory.id


async def _keys(s: Services, changed: dict[str, Memory]) -> tuple[Key, ...]:
    keys = await s.store.keys_of(list(changed))
    return tuple(rekeyed(key, changed[key.memory_id]) for key in keys)


class _Decided:
    """What a decision changes."""

    def __init__(
        self,
        s: Services,
        pairs: Sequence[tuple[Memory, Memory]],
        params: ResolveParams,
        call: Call,
    ) -> None:
        self.memories: dict[str, Memory] = {}
        self.superseded: set[str] = set()
        self.history: list[HistoryEntry] = []
        now = s.clock.now()
        before: dict[str, Memory] = {}
        for newer, older in pairs:
            for one, other in ((newer, older), (older, newer)):
                before.setdefault(one.id, one)
                standing = self.memories.get(one.id, one)
                left = tuple(i for i in standing.conflicts_with if i != other.id)
                self.memories[one.id] = msgspec.structs.replace(standing, conflicts_with=left)
            if params.decision == "keep-both":
                continue
            kept, lost = (newer, older) if params.decision == "keep-new" else (older, newer)
            if lost.id in self.superseded:
                continue
            self.superseded.add(lost.id)
            why = params.reason or "a person decided between the two"
            retired = replaced_by(self.memories[lost.id], kept, why, now=now)
            self.memories[lost.id] = retired
            self.memories[kept.id] = _with_predecessor(self.memories[kept.id], lost.id)
        for memory_id, memory in self.memories.items():
            after = msgspec.structs.replace(
                memory, updated_at=now, version=before[memory_id].version + 1
            )
            self.memories[memory_id] = after
            self.history.append(
                HistoryEntry(
                    at=now,
                    actor=call.client,
                    action="resolved",
                    memory_id=memory_id,
                    reason=f"{params.decision}: {params.reason}".rstrip(": "),
                    before=msgspec.json.encode(before[memory_id]).decode(),
                    after=msgspec.json.encode(after).decode(),
                )
            )


def _with_predecessor(memory: Memory, lost: str) -> Memory:
    if not memory.supersedes:
        return msgspec.structs.replace(memory, supersedes=lost)
    others = tuple(dict.fromkeys([*memory.also_supersedes, lost]))
    return msgspec.structs.replace(memory, also_supersedes=others)
