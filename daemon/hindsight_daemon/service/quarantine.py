"""Quarantine: what is held until a person decides, and what the decision does.

Everything held is a `Held` record in the journal; no recall, list or notification shows it. How
a sort of thing is let in is a row of `RELEASES`, so that other parts can park theirs here too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from hindsight_daemon.errors import AmbiguousId, NotFound, Tombstoned, UsageProblem
from hindsight_daemon.model import RELEASED_TAG, Held, HeldState, HistoryEntry
from hindsight_daemon.protocol.documents import (
    DropResult,
    HeldView,
    QuarantineResult,
    ReleaseResult,
)
from hindsight_daemon.protocol.params import HeldParams, QuarantineParams
from hindsight_daemon.service.admission import Admission
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import RETIRED, checked_limit
from hindsight_daemon.service.held import MEMORY, WORK, HeldMemory
from hindsight_daemon.service.judged_tasks import JUDGE, release_job
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.views import iso
from hindsight_daemon.store.port import WriteBatch

MAX_LIST = 1000

Release = Callable[[Services, Held, Admission], Awaitable[WriteBatch]]
"""Admits what a held thing holds and returns what else letting it in writes; the caller adds the
decision and commits."""


async def _release_memory(_s: Services, held: Held, admission: Admission) -> WriteBatch:
    waiting = msgspec.json.decode(held.body, type=HeldMemory)
    memory = msgspec.structs.replace(
        waiting.memory, tags=tuple(dict.fromkeys([*waiting.memory.tags, RELEASED_TAG]))
    )
    await admission.admit(memory, waiting.keys, action="released")
    return WriteBatch()


async def _release_work(_s: Services, _held: Held, _admission: Admission) -> WriteBatch:
    return WriteBatch()  # the next consolidation sees the decision and tries the item again


RELEASES: dict[str, Release] = {
    MEMORY: _release_memory,
    WORK: _release_work,
    JUDGE: release_job,
}
"""How each sort of held thing is let in."""


async def quarantine(s: Services, params: QuarantineParams, _call: Call) -> QuarantineResult:
    """List what waits for a person, oldest first."""
    limit = checked_limit(params.limit, MAX_LIST)
    found = await s.store.held(state=None if params.decided else "held")
    return QuarantineResult(held=[_view(one) for one in found[:limit]], total=len(found))


def _view(held: Held) -> HeldView:
    return HeldView(
        id=held.id,
        what=held.what,
        text=held.text,
        reason=held.reason,
        since=iso(held.since),
        trust=held.trust,
        origin=held.origin,
        session_id=held.session_id,
        project=held.project,
        state=held.state,
        decided_at=iso(held.decided_at),
        decided_by=held.decided_by,
    )


async def release(s: Services, params: HeldParams, call: Call) -> ReleaseResult:
    """Let in what was held, and let the same pass from now on."""
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=ReleaseResult)
    chosen = await _chosen(s, params.ids)
    for one in chosen:
        if one.text and (tombstone := s.gate.tombstone_of(one.text)):
            raise Tombstoned(
                f"what `{one.id}` says was forgotten on {tombstone.since.date().isoformat()}",
                hint=f"`hindsight audit drop {one.id}` removes it",
            )
        if one.what not in RELEASES:
            raise UsageProblem(
                f"`{one.id}` is a {one.what}, which nothing can let in",
                hint=f"`hindsight audit drop {one.id}` removes it",
            )
    admission = Admission(s, actor=call.client, why=params.reason)
    async with s.admission_lock:
        batches = [await RELEASES[one.what](s, one, admission) for one in chosen]
        result = ReleaseResult(
            released=[one.id for one in chosen],
            memories=[m.id for m in admission.memories.values() if m.status not in RETIRED],
            dry_run=params.dry_run,
        )
        if params.dry_run:
            return result
        decided = tuple(_decided(s, one, "released", call) for one in chosen)
        response = msgspec.json.encode(result).decode() if params.request_key else ""
        await s.write(
            _joined(
                [*batches, admission.batch()],
                WriteBatch(held=decided, request_key=params.request_key, response=response),
            )
        )
    admission.publish()
    return result


async def drop(s: Services, params: HeldParams, call: Call) -> DropResult:
    """Refuse what was held; its text goes, and the same is refused from now on."""
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=DropResult)
    chosen = await _chosen(s, params.ids)
    result = DropResult(dropped=[one.id for one in chosen], dry_run=params.dry_run)
    if params.dry_run:
        return result
    await s.write(
        WriteBatch(
            held=tuple(
                msgspec.structs.replace(_decided(s, one, "dropped", call), text="", body="")
                for one in chosen
            ),
            history=tuple(
                HistoryEntry(
                    at=s.clock.now(),
                    actor=call.client,
                    action="dropped",
                    memory_id=one.id,
                    reason=params.reason or one.reason,
                )
                for one in chosen
            ),
            request_key=params.request_key,
            response=msgspec.json.encode(result).decode() if params.request_key else "",
        )
    )
    return result


def _decided(s: Services, held: Held, state: HeldState, call: Call) -> Held:
    return msgspec.structs.replace(
        held, state=state, decided_at=s.clock.now(), decided_by=call.client
    )


async def _chosen(s: Services, ids: Sequence[str]) -> list[Held]:
    """Return the held things that the ids or prefixes name, each once."""
    if not ids:
        raise UsageProblem("no id given", hint="`hindsight audit quarantine` lists the ids")
    waiting = await s.store.held(state="held")
    chosen: dict[str, Held] = {}
    for prefix in ids:
        wanted = prefix.strip().lower()
        found = [one for one in waiting if wanted and one.id.startswith(wanted)]
        if not found:
            raise NotFound(
                f"nothing is held under the id `{prefix}`",
                hint="`hindsight audit quarantine` lists what is",
            )
        exact = [one for one in found if one.id == wanted]
        if len(found) > 1 and not exact:
            raise AmbiguousId(f"the id `{prefix}` fits several held things")
        one = (exact or found)[0]
        chosen[one.id] = one
    return list(chosen.values())


def _joined(batches: Sequence[WriteBatch], last: WriteBatch) -> WriteBatch:
    """Return one batch with the changes of all; what is no tuple is taken from `last`."""
    joined = last
    for batch in batches:
        fields = {
            name: (*getattr(batch, name), *getattr(joined, name))
            for name in WriteBatch.__struct_fields__
            if isinstance(getattr(batch, name), tuple)
        }
        joined = msgspec.structs.replace(joined, **fields)
    return joined
