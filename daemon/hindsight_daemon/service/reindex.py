"""What is derived, made again: keys from memories; with `from_events`, memories from events.

Nothing that a person stated, pinned or decided is touched: what `remember` wrote, standings and
verdicts stay, and what was removed by decision stays gone. Ids follow from the events, so a
second time changes nothing; each session is one write, so a kill costs no more than that.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec
from msgspec import Struct, structs

from hindsight_daemon.engine.fusion import CONTEXT_KEY_KIND
from hindsight_daemon.engine.judged import RULE
from hindsight_daemon.errors import Busy
from hindsight_daemon.model import DISTILLED_KINDS, Event, HistoryEntry, Key, Memory, SessionState
from hindsight_daemon.protocol.params import ReindexParams
from hindsight_daemon.protocol.upkeep_documents import ReindexResult, ReindexStep
from hindsight_daemon.service import consolidation, generalise
from hindsight_daemon.service.admission import Admission
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import RETIRED
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.learning import Learned, LearnJob
from hindsight_daemon.service.restated import without_restated
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.turns import turns_of, with_turn_before
from hindsight_daemon.store.port import SearchFilter, WriteBatch

_ACTOR = "reindex"
_PAGE = 200
_MAX_STEPS = 1000
_DERIVED_FIELDS = (
    "text",
    "summary",
    "lang",
    "task_goal",
    "task_type",
    "outcome",
    "failure_reason",
    "lessons",
    "execution_path",
    "duration_s",
    "anchors",
    "entities",
    "content_hash",
    "source_hash",
)
"""What follows from the events alone; all other fields may have been changed since."""


async def reindex(s: Services, params: ReindexParams, call: Call) -> ReindexResult:
    """Make derived data anew; `Busy` while a consolidation or another reindex is under way."""
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=ReindexResult)
    if s.consolidation:
        raise Busy(
            f"a consolidation is under way, started by the {s.consolidation}",
            hint="try again when it is done",
        )
    started = time.monotonic()
    result = ReindexResult(dry_run=params.dry_run)
    s.consolidation = "reindex"
    try:
        if params.from_events:
            await _all_sessions(s, params, call, result)
        await _all_keys(s, params, call, result)
    finally:
        s.consolidation = ""
    if params.from_events and not params.dry_run:
        await _generalised(s, result)
    result.took_ms = round((time.monotonic() - started) * 1000, 1)
    if params.request_key and not params.dry_run:
        answer = msgspec.json.encode(result).decode()
        await s.write(WriteBatch(request_key=params.request_key, response=answer))
    return result


async def _generalised(s: Services, result: ReindexResult) -> None:
    notes = await s.store.progress(generalise.FINGERPRINT)
    await s.write(WriteBatch(progress=dict.fromkeys(notes, "")))
    s.stirred_projects = None
    done = await consolidation.run(s, trigger="reindex")
    result.generalised = done.generalised + done.updated


# Memories from events


async def _all_sessions(
    s: Services, params: ReindexParams, call: Call, result: ReindexResult
) -> None:
    # In the order in which they happened, so that what says the same merges as it did then.
    states = sorted(await s.store.sessions(), key=_began)
    for number, state in enumerate(states):
        await call.report("events", number, len(states), state.session_id)
        if state.thinned_through >= 0:
            # Of a session whose events were let go only single ones are left: no task.
            result.sessions_kept += 1
            continue
        async with s.ingest_lock:
            await _session(s, state.session_id, params, result)
        result.sessions += 1


def _began(state: SessionState) -> tuple[float, str]:
    at = state.first_at or state.last_at or state.last_seen_at
    return (at.timestamp() if at else 0.0, state.session_id)


class _Rebuilt(Struct):
    """What one session's events give that is not stored in this form."""

    memories: list[Memory] = []
    keys: list[Key] = []
    rekeyed: list[str] = []
    removed: list[str] = []
    history: list[HistoryEntry] = []


async def _session(
    s: Services, session_id: str, params: ReindexParams, result: ReindexResult
) -> None:
    state = await s.store.session(session_id)
    if state is None:
        return
    events = tuple([event async for event in s.store.events_of(session_id)])
    stored = {m.id: m for m in await s.store.memories_of_session(session_id, DISTILLED_KINDS)}
    learned = await s.worker.learn(
        LearnJob(
            session=state,
            known=_refined(stored.values()),
            tombstones=s.gate.tombstones,
            now=s.clock.now(),
            final=state.consolidated_events >= state.events,
            decisions=s.gate.decisions,
        ),
        lambda: s.store.events_of(session_id),
    )
    rebuilt = _Rebuilt()
    admission = Admission(s, actor=_ACTOR)
    async with s.admission_lock:
        for one in await without_restated(s, learned):
            await _task(s, one, stored, admission, rebuilt, result)
        await _turns(s, state, events, rebuilt, result)
        if params.dry_run:
            return
        batch = admission.batch(removed=tuple(rebuilt.removed), history=rebuilt.history)
        await s.write(
            structs.replace(
                batch,
                memories=(*batch.memories, *rebuilt.memories),
                keys=(*batch.keys, *rebuilt.keys),
                replace_keys_of=(*batch.replace_keys_of, *rebuilt.rekeyed),
            )
        )
    admission.publish()


def _refined(stored: Iterable[Memory]) -> dict[str, str]:
    """Return the episodes that a judge has worked on: rules alone would take its work back."""
    by_judge = {source for m in stored if RULE in m.tags for source in (m.id, *m.derived_from)}
    return {m.id: m.source_hash for m in stored if m.kind == "episode" and m.id in by_judge}


async def _task(
    s: Services,
    one: Learned,
    stored: dict[str, Memory],
    admission: Admission,
    rebuilt: _Rebuilt,
    result: ReindexResult,
) -> None:
    made = [*one.lessons, *([one.episode] if one.episode is not None else [])]
    produced = {lesson.memory.id for lesson in made}
    mine = {
        m.id
        for m in stored.values()
        if m.id == one.episode_id or m.derived_from == (one.episode_id,)
    }
    for lesson in made:
        memory = lesson.memory
        former = stored.get(memory.id) or (await s.store.get([memory.id])).get(memory.id)
        if former is not None:
            _refresh(s, former, memory, lesson.keys, rebuilt, result)
        elif why := await _gone_by_decision(s, memory.id):
            result.kept_out += 1
            _tell(result, "kept out", memory.id, why)
        else:
            admitted = await admission.admit(
                memory,
                lesson.keys,
                action="learned",
                why=f"again, from the events of session {one.session_id}",
                instead_of=mine - produced,
            )
            if admitted.memory.id == memory.id:
                result.added += 1
                _tell(result, "add", memory.id, "its events give it and it is not stored")
    for memory_id in sorted(mine - produced - set(admission.memories)):
        former = stored[memory_id]
        if former.pinned or former.status in RETIRED or RULE in former.tags:
            continue
        result.removed += 1
        _tell(result, "remove", memory_id, "its events do not give it any more")
        rebuilt.removed.append(memory_id)
        rebuilt.history.append(
            HistoryEntry(
                at=s.clock.now(),
                actor=_ACTOR,
                action="replaced",
                memory_id=memory_id,
                reason="its events do not give it any more",
                before=msgspec.json.encode(former).decode(),
            )
        )


def _refresh(
    s: Services,
    former: Memory,
    memory: Memory,
    keys: Sequence[Key],
    rebuilt: _Rebuilt,
    result: ReindexResult,
) -> None:
    """Bring a stored memory to what its events give now; what became of it since stays."""
    if former.status in RETIRED:
        return
    links = {link.event_ids for link in former.evidence}
    fresh = tuple(link for link in memory.evidence if link.event_ids not in links)
    fields = {name: getattr(memory, name) for name in _DERIVED_FIELDS}
    after = structs.replace(former, **fields, evidence=former.evidence + fresh)
    if after != former:
        is_new_text = after.content_hash != former.content_hash
        after = structs.replace(
            after,
            status="unverified" if is_new_text else former.status,
            verdict_reason="" if is_new_text else former.verdict_reason,
            updated_at=s.clock.now(),
            version=former.version + 1,
        )
        rebuilt.memories.append(after)
        rebuilt.history.append(
            HistoryEntry(
                at=s.clock.now(),
                actor=_ACTOR,
                action="rebuilt",
                memory_id=after.id,
                reason="its events give it in another form now",
                before=msgspec.json.encode(former).decode(),
                after=msgspec.json.encode(after).decode(),
            )
        )
        result.changed += 1
        _tell(result, "change", after.id, "its events give it in another form now")
    own = keys_for(after, [(key.key_kind, key.text) for key in keys])
    rebuilt.keys.extend(own)
    rebuilt.rekeyed.append(after.id)


async def _gone_by_decision(s: Services, memory_id: str) -> str:
    """Return how a memory went that is not stored, empty if it never was or only made room."""
    history = await s.store.history(memory_id)
    last = history[-1] if history else None
    # A change that leaves nothing behind is a removal; what merely made room may come again.
    if last is None or last.after or last.action == "replaced":
        return ""
    return f"it was {last.action} on {last.at.date().isoformat()}"


async def _turns(
    s: Services,
    state: SessionState,
    events: Sequence[Event],
    rebuilt: _Rebuilt,
    result: ReindexResult,
) -> None:
    """Add the turns that are not stored, with their keys."""
    turns = turns_of(events, state.project, s.clock.now())
    known = await s.store.get([turn.id for turn in turns])
    former: Memory | None = None
    for turn in turns:
        if turn.id not in known and not s.gate.tombstone_of(turn.text):
            if await _gone_by_decision(s, turn.id):
                result.kept_out += 1
            else:
                before = with_turn_before(turn, former)
                rebuilt.memories.append(turn)
                rebuilt.keys.extend(keys_for(turn, [(CONTEXT_KEY_KIND, before)] if before else ()))
                rebuilt.rekeyed.append(turn.id)
                result.turns += 1
        former = turn


# Keys from memories


async def _all_keys(s: Services, params: ReindexParams, call: Call, result: ReindexResult) -> None:
    total = sum((await s.store.stats()).memories_by.get("kind", {}).values())
    fresh = params.vectors and bool(s.models.model_id)
    async for page in _pages(s):
        await call.report("keys", result.memories, total, "")
        stored: dict[str, list[Key]] = {}
        for key in await s.store.keys_of([memory.id for memory in page]):
            stored.setdefault(key.memory_id, []).append(key)
        keys: list[Key] = []
        rekeyed: list[str] = []
        for memory in page:
            before = sorted(stored.get(memory.id, []), key=lambda key: key.id)
            after = keys_of(memory, before)
            result.memories += 1
            result.keys += len(after)
            if fresh or _bare(before) != _bare(after):
                keys.extend(after)
                rekeyed.append(memory.id)
        result.rekeyed += len(rekeyed)
        if rekeyed and not params.dry_run:
            await s.write(
                WriteBatch(keys=tuple(keys), replace_keys_of=tuple(rekeyed), fresh_vectors=fresh)
            )


async def _pages(s: Services) -> AsyncIterator[Sequence[Memory]]:
    where = SearchFilter(now=s.clock.now())
    before = ""
    while page := await s.store.list(where, limit=_PAGE, before_id=before):
        yield page
        before = page[-1].id


def keys_of(memory: Memory, stored: Sequence[Key]) -> list[Key]:
    """Return the keys a memory is to have: those its fields give and the further ones it has."""
    return list(keys_for(memory, [(key.key_kind, key.text) for key in stored]))


def _bare(keys: Iterable[Key]) -> list[Key]:
    return sorted(
        (structs.replace(key, vector=None, embedder="") for key in keys), key=lambda key: key.id
    )


def _tell(result: ReindexResult, action: str, memory_id: str, reason: str) -> None:
    if len(result.steps) < _MAX_STEPS:
        result.steps.append(ReindexStep(action=action, id=memory_id, reason=reason))
