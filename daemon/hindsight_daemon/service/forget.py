"""`forget` and `unforget`: what goes with a memory, what is left behind, and how that is undone.

Forgetting reaches what says the same, what was derived from nothing else, the words of a forgotten
turn in the keys of the turn after it, and the mention of a lesson in its episode. What has other
evidence too stays, without the link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine.forgotten import Forgotten
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.restatement import statement_form
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.errors import AmbiguousId, NotFound, UsageProblem
from hindsight_daemon.model import (
    HistoryEntry,
    Key,
    Memory,
    Record,
    Tombstone,
)
from hindsight_daemon.protocol.documents import ForgetResult, UnforgetResult
from hindsight_daemon.protocol.params import ForgetParams, UnforgetParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.readers import check_may_remove, may_read
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.turns import context_of
from hindsight_daemon.store.port import SearchFilter, WriteBatch

_SAME_LIMIT = 100
_PAGE = 500
_MAX_PAGES = 60
_MAX_EVIDENCE = 5


class _Plan(Record, frozen=True, kw_only=True):
    """What a forget does; `derived` are those of `doomed` that go because their source does."""

    doomed: dict[str, Memory]
    derived: frozenset[str]
    changed: tuple[Memory, ...]
    keys: tuple[Key, ...]
    rekeyed: tuple[str, ...]


async def forget(s: Services, params: ForgetParams, call: Call) -> ForgetResult:
    """Remove memories and everything that rests on them, and keep their text from coming back."""
    if not params.ids:
        raise UsageProblem("there is no id to forget", hint="`hindsight forget ID…`")
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=ForgetResult)
    async with s.admission_lock:
        named = await _named(s, params.ids, call)
        tombstones = _tombstones(s, named.values(), params.reason, call)
        plan = await _plan(s, named, tombstones)
        derived = [plan.doomed[i] for i in sorted(plan.derived)]
        because = f"derived from what was forgotten{f' ({params.reason})' * bool(params.reason)}"
        known = {statement_form(one.normalized_text) for one in tombstones}
        tombstones += [
            one
            for one in _tombstones(s, derived, because, call)
            if statement_form(one.normalized_text) not in known
        ]
        result = ForgetResult(
            forgotten=list(plan.doomed),
            tombstones=[] if params.dry_run else [one.id for one in tombstones],
            derived=sorted(plan.derived),
            changed=[memory.id for memory in plan.changed],
            dry_run=params.dry_run,
        )
        if params.dry_run:
            return result
        await s.write(_batch(s, params, call, plan, tombstones, result))
    for memory in plan.doomed.values():
        s.happenings.publish_memory("forgotten", memory)
    return result


async def unforget(s: Services, params: UnforgetParams, call: Call) -> UnforgetResult:
    """Let go of tombstones, so that what they block may be learned or stated again."""
    if not params.ids:
        raise UsageProblem("there is no id", hint="`hindsight list --tombstones` lists them")
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=UnforgetResult)
    chosen = _chosen(await s.store.tombstones(), params.ids)
    result = UnforgetResult(lifted=[one.id for one in chosen], dry_run=params.dry_run)
    if params.dry_run:
        return result
    now = s.clock.now()
    await s.write(
        WriteBatch(
            lifted=tuple(result.lifted),
            history=tuple(
                HistoryEntry(
                    at=now,
                    actor=call.client,
                    action="unforgotten",
                    memory_id=one.memory_id,
                    reason=params.reason,
                )
                for one in chosen
            ),
            request_key=params.request_key,
            response=msgspec.json.encode(result).decode() if params.request_key else "",
        )
    )
    return result


def _chosen(tombstones: Sequence[Tombstone], ids: Sequence[str]) -> list[Tombstone]:
    """Return the tombstones that ids of theirs, or of the memories they stand for, name."""
    chosen: dict[str, Tombstone] = {}
    for prefix in ids:
        wanted = prefix.strip().lower()
        found = [one for one in tombstones if wanted and one.id.startswith(wanted)]
        if not found:
            found = [one for one in tombstones if wanted and one.memory_id.startswith(wanted)]
            if len({one.memory_id for one in found}) == 1:
                chosen.update((one.id, one) for one in found)
                continue
        if not found:
            raise NotFound(
                f"no tombstone has the id `{prefix}`",
                hint="`hindsight list --tombstones` lists them",
            )
        if len(found) > 1:
            raise AmbiguousId(f"the id `{prefix}` fits several tombstones")
        chosen[found[0].id] = found[0]
    return list(chosen.values())


async def _named(s: Services, ids: Sequence[str], call: Call) -> dict[str, Memory]:
    full = [await s.store.resolve(prefix.strip()) for prefix in ids]
    memories = await s.store.get(list(dict.fromkeys(full)))
    for memory_id in full:
        if memory_id not in memories or not may_read(memories[memory_id], call):
            raise NotFound(f"no memory `{memory_id}`")
        check_may_remove(memories[memory_id], call)
    return memories


def _tombstones(
    s: Services, memories: Iterable[Memory], reason: str, call: Call
) -> list[Tombstone]:
    now = s.clock.now()
    by_form = {
        statement_form(memory.text): Tombstone(
            id=new_id(now),
            normalized_text=normalize(memory.text),
            memory_id=memory.id,
            since=now,
            reason=reason,
            actor=call.client,
            evidence=memory.evidence[:_MAX_EVIDENCE],
        )
        for memory in memories
    }
    return list(by_form.values())


async def _plan(s: Services, named: dict[str, Memory], tombstones: Sequence[Tombstone]) -> _Plan:
    forgotten = Forgotten()
    forgotten.add(tombstones)
    doomed = {**named, **await _saying_the_same(s, named, forgotten)}
    sessions = sorted({memory.session_id for memory in doomed.values() if memory.session_id})
    near = [m for session in sessions for m in await s.store.memories_of_session(session, ())]
    others = {m.id: m for m in [*near, *await _semantic(s)] if m.id not in doomed}
    derived = _derived(doomed, others)
    doomed.update(derived)
    left = {memory_id: m for memory_id, m in others.items() if memory_id not in doomed}
    changed = [after for m in left.values() if (after := _without(m, doomed, forgotten)) != m]
    keys, rekeyed = await _keys(s, left, {m.id: m for m in changed}, doomed, forgotten)
    return _Plan(
        doomed=doomed,
        derived=frozenset(derived),
        changed=tuple(changed),
        keys=keys,
        rekeyed=rekeyed,
    )


async def _saying_the_same(
    s: Services, named: dict[str, Memory], forgotten: Forgotten
) -> dict[str, Memory]:
    """Return the memories that restate what is forgotten; of turns a sentence is enough."""
    ids = set(await s.store.with_content([m.content_hash for m in named.values()]))
    twins = await s.store.get(sorted(ids - set(named)))
    where = SearchFilter(now=s.clock.now())
    for memory in named.values():
        terms = list(dict.fromkeys(terms_of(memory.text)))[:64]
        hits = await s.store.search_terms(terms, where, limit=_SAME_LIMIT) if terms else ()
        found = await s.store.get(sorted({hit.key.memory_id for hit in hits} - set(named)))
        for other in found.values():
            blocking = forgotten.blocking_part if other.kind == "turn" else forgotten.blocking
            if blocking(other.text) is not None:
                twins[other.id] = other
    return twins


async def _semantic(s: Services) -> list[Memory]:
    """Return the memories that may be derived from those of several sessions."""
    found: list[Memory] = []
    before = ""
    where = SearchFilter(now=s.clock.now(), layers=("semantic",))
    for _ in range(_MAX_PAGES):
        page = await s.store.list(where, limit=_PAGE, before_id=before)
        found += [memory for memory in page if memory.derived_from]
        if len(page) < _PAGE:
            break
        before = page[-1].id
    return found


def _derived(doomed: dict[str, Memory], others: dict[str, Memory]) -> dict[str, Memory]:
    """Return those of the others that rest on nothing but what goes, however many steps away."""
    gone = dict(doomed)
    found: dict[str, Memory] = {}
    grew = True
    while grew:
        grew = False
        events = {
            i for m in gone.values() if m.kind == "turn" for e in m.evidence for i in e.event_ids
        }
        goals = {normalize(m.text) for m in gone.values() if m.kind == "turn"}
        for memory in others.values():
            if memory.id not in gone and _rests_on(memory, gone, events, goals):
                gone[memory.id] = found[memory.id] = memory
                grew = True
    return found


def _rests_on(memory: Memory, gone: dict[str, Memory], events: set[str], goals: set[str]) -> bool:
    if memory.kind == "turn":
        return False
    if memory.derived_from and all(source in gone for source in memory.derived_from):
        return True
    cited = [set(link.event_ids) for link in memory.evidence if link.event_ids]
    if cited and events and all(ids <= events for ids in cited):
        return True
    goal = normalize(memory.task_goal) if memory.kind == "episode" else ""
    return bool(goal) and any(goal.rstrip(".…") in text for text in goals)


def _without(memory: Memory, doomed: dict[str, Memory], forgotten: Forgotten) -> Memory:
    """Return a memory that stays without its links to what goes and without its words."""
    if memory.kind == "turn":
        return memory
    texts = {one.text for one in doomed.values()}
    events = {
        i for m in doomed.values() if m.kind == "turn" for e in m.evidence for i in e.event_ids
    }
    evidence = tuple(
        replace(link, quote="") if forgotten.blocking_part(link.quote) else link
        for link in memory.evidence
        if not link.event_ids or not set(link.event_ids) <= events
    )
    return replace(
        memory,
        text=forgotten.without(memory.text) or memory.text,
        task_goal="" if forgotten.blocking_part(memory.task_goal) else memory.task_goal,
        lessons=tuple(
            text for text in memory.lessons if text not in texts and not forgotten.blocking(text)
        ),
        evidence=evidence or memory.evidence,
        derived_from=tuple(source for source in memory.derived_from if source not in doomed),
    )


async def _keys(
    s: Services,
    left: dict[str, Memory],
    changed: dict[str, Memory],
    doomed: dict[str, Memory],
    forgotten: Forgotten,
) -> tuple[tuple[Key, ...], tuple[str, ...]]:
    """Return the keys to write, and the memories whose keys they replace.

    A key goes that holds the end of a forgotten turn, restates what is forgotten, or stands for
    a text that its memory no longer has.
    """
    tails = [context_of(turn) for turn in doomed.values() if turn.kind == "turn"]
    kept: dict[str, list[Key]] = {}
    rekeyed: set[str] = set()
    for key in await s.store.keys_of(sorted(left)):
        is_own = key.key_kind == "text" and left[key.memory_id].kind == "turn"
        after = changed.get(key.memory_id, left[key.memory_id])
        holds = any(tail and tail in key.text for tail in tails) and not is_own
        if holds or _is_stale(key, left[key.memory_id], after, forgotten, is_own=is_own):
            rekeyed.add(key.memory_id)
        else:
            kept.setdefault(key.memory_id, []).append(key)
    keys: list[Key] = []
    for memory_id in sorted(rekeyed):
        old = {key.text: key for key in kept.get(memory_id, [])}
        fresh = keys_for(changed[memory_id]) if memory_id in changed else ()
        added = [key for key in fresh if key.text not in old]
        keys += _numbered([*old.values(), *added])
    return tuple(keys), tuple(sorted(rekeyed))


def _is_stale(
    key: Key, before: Memory, after: Memory, forgotten: Forgotten, *, is_own: bool
) -> bool:
    if is_own:
        return False
    if before.text != after.text and key.text in before.text and key.text not in after.text:
        return True
    return forgotten.blocking_part(key.text) is not None


def _numbered(keys: Sequence[Key]) -> list[Key]:
    """Return the keys with ids that no two of them share; those that had one keep theirs."""
    taken: set[str] = set()
    numbered: list[Key] = []
    for key in keys:
        number = 0
        while key.id in taken:
            key = replace(key, id=f"{key.memory_id}:{number}")
            number += 1
        taken.add(key.id)
        numbered.append(key)
    return numbered


def _batch(
    s: Services,
    params: ForgetParams,
    call: Call,
    plan: _Plan,
    tombstones: Sequence[Tombstone],
    result: ForgetResult,
) -> WriteBatch:
    now = s.clock.now()
    changed = tuple(replace(m, updated_at=now, version=m.version + 1) for m in plan.changed)

    def entry(memory: Memory, action: str, reason: str) -> HistoryEntry:
        return HistoryEntry(
            at=now, actor=call.client, action=action, memory_id=memory.id, reason=reason
        )

    return WriteBatch(
        removed=tuple(plan.doomed),
        memories=changed,
        keys=plan.keys,
        replace_keys_of=plan.rekeyed,
        tombstones=tuple(tombstones),
        history=(
            *(entry(memory, "forgotten", params.reason) for memory in plan.doomed.values()),
            *(entry(memory, "cleared", "what it rested on was forgotten") for memory in changed),
        ),
        request_key=params.request_key,
        response=msgspec.json.encode(result).decode() if params.request_key else "",
    )
