"""A run of consolidation: sessions whose task is over are distilled, recurring lessons generalised.

Started by the clock, by a full working memory or by hand, never two at a time. Bounded by items and
seconds; what is left is found again by the next run, because done work leaves nothing to do.
Before an item is worked on, its name is written down: one that fails three times, or takes the
daemon down with it three times, is set aside. So this is a place that catches every exception.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine.ending import Ending, judge
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.errors import Busy, StorageFailed
from hindsight_daemon.model import Held, Memory, SessionState
from hindsight_daemon.process import trim_memory
from hindsight_daemon.protocol.params import ConsolidateParams
from hindsight_daemon.protocol.upkeep_documents import ConsolidateResult, ConsolidateStep
from hindsight_daemon.service import generalise
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.held import WORK
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.working import relieve
from hindsight_daemon.store.port import WriteBatch

MOST_TRIES = 3
_UNDER_WAY = "consolidation:now"
_ALONE = "consolidation:alone"
_TRIES = "consolidation:tries:"
_TOGETHER = 25
"""Items that are written down at once as under way: each time costs an fsync."""
_TRIM_EVERY = 200
_MAX_STEPS = 1000
_log = logging.getLogger("hindsight.consolidation")


class Tries(msgspec.Struct, frozen=True):
    """How often an item failed, at what, and under which id it was set aside."""

    count: int = 0
    why: str = ""
    held_id: str = ""


class _Run(Struct):
    """The state of one run."""

    result: ConsolidateResult
    deadline: float
    room: int
    tries: dict[str, Tries]
    alone: set[str]
    """Items of which one may have taken the daemon down: each is written down by itself."""
    noted: frozenset[str] = frozenset()

    @property
    def is_over(self) -> bool:
        return self.room <= 0 or time.monotonic() > self.deadline


async def consolidate(s: Services, params: ConsolidateParams, call: Call) -> ConsolidateResult:
    """Carry out or plan a run; without `wait` it is only started. `Busy` while another one runs."""
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=ConsolidateResult)
    project = project_for(params.project, "") if params.project else ""
    if params.dry_run:
        return await _planned(s, project)
    _refuse_overlap(s)
    if params.wait:
        result = await run(s, trigger="call", project=project, call=call)
    else:
        # Taken here, so that a call that follows at once is told so.
        s.consolidation = "call"
        s.in_background(_run_on(s, project))
        result = ConsolidateResult(state="started", trigger="call")
    if params.request_key:
        answer = msgspec.json.encode(result).decode()
        await s.write(WriteBatch(request_key=params.request_key, response=answer))
    return result


def _refuse_overlap(s: Services) -> None:
    if s.consolidation:
        raise Busy(
            f"a consolidation is under way, started by the {s.consolidation}",
            hint="`hindsight consolidate --dry-run` shows what is left to do",
        )


async def _run_on(s: Services, project: str) -> None:
    s.consolidation = ""
    await run(s, trigger="call", project=project)


async def run(
    s: Services, *, trigger: str, project: str = "", call: Call | None = None
) -> ConsolidateResult:
    """Consolidate what is due, within the budget of one run; raises `Busy` during another one."""
    _refuse_overlap(s)
    s.consolidation = trigger
    started = time.monotonic()
    budget = s.settings.consolidate
    try:
        state = _Run(
            result=ConsolidateResult(state="done", trigger=trigger),
            deadline=started + budget.max_s,
            room=budget.max_items,
            tries=await _former_tries(s),
            alone=await _suspects(s),
        )
        await _sessions(s, state, project, call or Call())
        await _projects(s, state, project, call or Call())
        await _clear(s)
    finally:
        s.consolidation = ""
    result = state.result
    result.took_ms = round((time.monotonic() - started) * 1000, 1)
    if result.remaining:
        result.state = "stopped"
    facts = {"trigger": trigger, "sessions": result.sessions, "generalised": result.generalised}
    _log.info("consolidation.done", extra={"facts": {**facts, "remaining": result.remaining}})
    return result


# What is due


async def _due(s: Services, project: str) -> list[tuple[SessionState, Ending]]:
    waiting = await s.store.sessions(unconsolidated=True)
    now, idle_s = s.clock.now(), s.settings.watch.idle_task_s
    due = []
    for state in waiting:
        if project and project not in (state.project, state.project.rpartition("/")[2]):
            continue
        ending = judge(state, now=now, idle_s=idle_s, others=waiting)
        if state.session_id in s.full_sessions and not ending.is_over:
            ending = Ending(is_over=True, reason="its working memory is full")
        due.append((state, ending))
    return due


async def _planned(s: Services, project: str) -> ConsolidateResult:
    """Return what a run would do, and why, without doing it."""
    started = time.monotonic()
    result = ConsolidateResult(state="planned", dry_run=True)
    tries = await _former_tries(s, is_dry=True)
    for state, ending in await _due(s, project):
        is_held = await _is_set_aside(s, tries.get(_session_item(state)))
        action = "held" if is_held else "distil" if ending.is_over else "wait"
        result.held += is_held
        result.sessions += action == "distil"
        reason = f"it failed {MOST_TRIES} times" if is_held else ending.reason
        _tell(
            result,
            ConsolidateStep(
                action=action,
                reason=reason,
                session_id=state.session_id,
                project=state.project,
            ),
        )
    for name, memories in (await generalise.lessons_by_project(s, project)).items():
        plan = await generalise.plan_project(s, name, memories)
        for change in plan.changes:
            is_held = await _is_set_aside(s, tries.get(_change_item(change)))
            result.held += is_held
            _tell(result, _step(change, is_held=is_held))
            if not is_held:
                _count(result, change)
    result.took_ms = round((time.monotonic() - started) * 1000, 1)
    return result


# What is done


async def _sessions(s: Services, run: _Run, project: str, call: Call) -> None:
    due = [pair for pair in await _due(s, project) if pair[1].is_over]
    items = [_session_item(state) for state, _ in due]
    for number, (state, ending) in enumerate(due):
        if run.is_over:
            run.result.remaining += len(due) - number
            return
        await call.report("consolidate", number, len(due), state.session_id)
        if number % _TRIM_EVERY == _TRIM_EVERY - 1:
            # Thousands of sessions leave the heap full of holes.
            await asyncio.to_thread(trim_memory)

        async def work(state: SessionState = state) -> None:
            await _session(s, run.result, state)

        await _note(s, run, items[number : number + _TOGETHER])
        if await _item(s, run, items[number], f"session {state.session_id}", work):
            run.result.sessions += 1
            _tell(
                run.result,
                ConsolidateStep(
                    action="distil",
                    reason=ending.reason,
                    session_id=state.session_id,
                    project=state.project,
                ),
            )


async def _session(s: Services, result: ConsolidateResult, state: SessionState) -> None:
    full = None
    if state.session_id in s.full_sessions:
        full = next(iter(await s.store.working(state.session_id)), None)
    async with s.ingest_lock:
        made = await consolidate_session(s, state.session_id, final=True)
    s.full_sessions.discard(state.session_id)
    if full is not None:
        await relieve(s, state.session_id, full)
    result.episodes += made.episodes
    result.memories += len(made.memory_ids)
    result.refused += made.refused


async def _projects(s: Services, run: _Run, project: str, call: Call) -> None:
    stirred, s.stirred_projects = s.stirred_projects, set()
    try:
        if run.is_over:
            run.result.remaining += 1
            return
        if stirred is not None and not stirred:
            return
        found = await generalise.lessons_by_project(s, project)
        if stirred is not None:
            found = {name: memories for name, memories in found.items() if name in stirred}
        looked_at = await s.store.progress(generalise.FINGERPRINT)
        for number, (name, memories) in enumerate(found.items()):
            await call.report("generalise", number, len(found), name)
            fingerprint = generalise.fingerprint_of(memories)
            if looked_at.get(generalise.FINGERPRINT + name) != fingerprint:
                await _project(s, run, name, memories)
            if project and stirred:
                stirred.discard(name)
    finally:
        if run.result.remaining or run.result.failed or project:
            # Not all was looked at; what is unchanged is passed over by its fingerprint.
            s.stirred_projects = None


async def _project(s: Services, run: _Run, name: str, memories: list[Memory]) -> None:
    plans: list[generalise.Plan] = []

    async def plan() -> None:
        plans.append(await generalise.plan_project(s, name, memories))

    if not await _item(s, run, f"plan:{name}", f"the lessons of `{name}`", plan):
        return
    before = run.result.failed
    for number, change in enumerate(plans[0].changes):
        if run.is_over:
            run.result.remaining += len(plans[0].changes) - number
            return

        async def work(change: generalise.Planned = change) -> None:
            written = await generalise.carry_out(s, change)
            if written.refused:
                run.result.refused += 1
            elif written.memory is not None:
                _count(run.result, change)
            step = _step(change)
            step.reason = written.refused or step.reason
            _tell(run.result, step)

        await _item(s, run, _change_item(change), f"{change.change} {change.memory_id}", work)
    if run.result.failed == before:
        # Read anew: what was written is part of what the next run compares with.
        fresh = (await generalise.lessons_by_project(s, name)).get(name, [])
        note = {generalise.FINGERPRINT + name: generalise.fingerprint_of(fresh)}
        await s.write(WriteBatch(progress=note))


def _count(result: ConsolidateResult, change: generalise.Planned) -> None:
    result.generalised += change.change == "generalise"
    result.updated += change.change == "update"
    result.retired += change.change == "retire"


def _step(change: generalise.Planned, *, is_held: bool = False) -> ConsolidateStep:
    return ConsolidateStep(
        action="held" if is_held else change.change,
        reason=f"it failed {MOST_TRIES} times" if is_held else change.reason,
        project=change.project,
        memory=change.memory_id,
        ids=list(change.supports),
        text=change.text,
    )


def _tell(result: ConsolidateResult, step: ConsolidateStep) -> None:
    if len(result.steps) < _MAX_STEPS:
        result.steps.append(step)


# Items, and those that poison a run


def _session_item(state: SessionState) -> str:
    return f"session:{state.session_id}"


def _change_item(change: generalise.Planned) -> str:
    return f"{change.change}:{change.memory_id}"


async def _item(
    s: Services, run: _Run, item: str, what: str, work: Callable[[], Awaitable[None]]
) -> bool:
    """Work on one item; return whether it is done. A failure is counted and the run goes on."""
    tried = run.tries.get(item)
    if await _is_set_aside(s, tried):
        run.result.held += 1
        return False
    run.room -= 1
    await _note(s, run, [item])
    try:
        await work()
    except asyncio.CancelledError:
        # The daemon is told to stop: that is no failure of this item.
        await s.write(WriteBatch(progress={_UNDER_WAY: ""}))
        raise
    except StorageFailed:
        raise  # not the item's fault, and the next one would fare no better
    except Exception as exc:
        _log.exception("consolidation.failed", extra={"facts": {"item": item}})
        run.result.failed += 1
        await _failed(s, run, item, what, f"{type(exc).__name__}: {exc}")
        return False
    if tried is not None:
        await s.write(WriteBatch(progress={_TRIES + item: ""}))
    return True


async def _note(s: Services, run: _Run, items: list[str]) -> None:
    """Write down that the first of these items is under way, with those that follow it."""
    if items[0] in run.noted:
        return
    together = [items[0]]
    if items[0] not in run.alone:
        together += [item for item in items[1:] if item not in run.alone]
    run.noted = frozenset(together)
    note = msgspec.json.encode(together).decode()
    await s.write(WriteBatch(progress={_UNDER_WAY: note}))


async def _failed(s: Services, run: _Run, item: str, what: str, why: str) -> None:
    former = run.tries.get(item) or Tries()
    # One that a person let go again has as many tries as at first.
    count = 1 if former.held_id else former.count + 1
    tries = Tries(count=count, why=why)
    held: tuple[Held, ...] = ()
    if count >= MOST_TRIES:
        now = s.clock.now()
        one = Held(
            id=new_id(now),
            what=WORK,
            text=what,
            body=item,
            reason=f"consolidation failed {count} times: {why}",
            since=now,
            digest=content_hash(f"consolidation\n{item}"),
            origin="consolidation",
        )
        held = (one,)
        tries = Tries(count=count, why=why, held_id=one.id)
        run.result.held += 1
    run.tries[item] = tries
    run.noted = frozenset()
    note = msgspec.json.encode(tries).decode()
    await s.write(WriteBatch(held=held, progress={_TRIES + item: note, _UNDER_WAY: ""}))


async def _former_tries(s: Services, *, is_dry: bool = False) -> dict[str, Tries]:
    """Return the tries so far; an item that a former run did not survive is counted now."""
    notes = await s.store.progress("consolidation:")
    tries = {
        name.removeprefix(_TRIES): msgspec.json.decode(value, type=Tries)
        for name, value in notes.items()
        if name.startswith(_TRIES)
    }
    left = msgspec.json.decode(notes.get(_UNDER_WAY) or "[]", type=list[str])
    if is_dry or not left:
        return tries
    if len(left) == 1:
        run = _Run(ConsolidateResult(state=""), deadline=0, room=0, tries=tries, alone=set())
        what = left[0].replace(":", " ", 1)
        await _failed(s, run, left[0], what, "the daemon ended meanwhile")
    else:
        # Any of them may have done it; the next run takes them one at a time.
        alone = sorted({*left, *await _suspects(s)})
        note = msgspec.json.encode(alone).decode()
        await s.write(WriteBatch(progress={_ALONE: note, _UNDER_WAY: ""}))
    return tries


async def _suspects(s: Services) -> set[str]:
    note = (await s.store.progress(_ALONE)).get(_ALONE) or "[]"
    return set(msgspec.json.decode(note, type=list[str]))


async def _is_set_aside(s: Services, tries: Tries | None) -> bool:
    if tries is None or not tries.held_id:
        return False
    return any(one.id == tries.held_id and one.state != "released" for one in await s.store.held())


async def _clear(s: Services) -> None:
    await s.write(WriteBatch(progress={_UNDER_WAY: "", _ALONE: ""}))
