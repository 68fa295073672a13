"""A run of consolidation over a store in memory: what it makes, skips, sets aside and leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from hindsight_daemon.errors import Busy, StorageFailed
from hindsight_daemon.model import Memory
from hindsight_daemon.protocol.params import ConsolidateParams, ForgetParams, HeldParams, WhyParams
from hindsight_daemon.protocol.upkeep_documents import ConsolidateResult
from hindsight_daemon.service import consolidation, generalise
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidation import MOST_TRIES, consolidate, run
from hindsight_daemon.service.forget import forget
from hindsight_daemon.service.memories import why
from hindsight_daemon.service.quarantine import release
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import WriteBatch
from tests.support.lessons import LOCKS, LOCKS_ZH, a_lesson, an_episode, store_lessons
from tests.support.services import services_in_memory
from tests.support.store_builders import a_session, an_event, at


def with_lessons(*texts: str, **fields: Any) -> Services:
    s = services_in_memory()
    lessons = [a_lesson(n, text, **fields) for n, text in enumerate(texts, 1)]
    asyncio.run(store_lessons(s, *lessons))
    return s


def done(s: Services, **settings: Any) -> ConsolidateResult:
    if settings:
        budget = structs.replace(s.settings.consolidate, **settings)
        s.settings = structs.replace(s.settings, consolidate=budget)
    return asyncio.run(run(s, trigger="call"))


def general(s: Services) -> list[Memory]:
    memories = s.store.memories.values()  # type: ignore[attr-defined]
    return sorted(
        (m for m in memories if generalise.is_generalised(m) and m.status != "archived"),
        key=lambda m: m.id,
    )


def test_lessons_that_recur_become_one_memory_and_stay() -> None:
    s = with_lessons(*LOCKS)
    result = done(s)
    assert (result.state, result.generalised) == ("done", 1)
    (memory,) = general(s)
    assert memory.support_count == 3 and len(memory.derived_from) == 3
    assert (memory.layer, memory.kind) == ("semantic", "solution")
    assert memory.confidence > 0.9 and len(memory.evidence) == 3
    supports = asyncio.run(s.store.get(memory.derived_from))
    assert [m.status for m in supports.values()] == ["unverified"] * 3
    (entry,) = asyncio.run(s.store.history(memory.id))
    assert (entry.action, entry.before) == ("generalised", "")


def test_doing_it_again_changes_nothing() -> None:
    s = with_lessons(*LOCKS_ZH)
    done(s)
    before = general(s)
    s.stirred_projects = None
    result = done(s)
    assert (result.generalised, result.updated, result.retired) == (0, 0, 0)
    assert general(s) == before


def test_a_further_support_joins_the_same_memory() -> None:
    s = with_lessons(*LOCKS[:2])
    done(s)
    (first,) = general(s)
    asyncio.run(store_lessons(s, a_lesson(3, LOCKS[2])))
    assert done(s).updated == 1
    (second,) = general(s)
    assert (second.id, second.version, second.support_count) == (first.id, 2, 3)
    assert "refunds" in second.text and "120" in second.text
    entry = asyncio.run(s.store.history(second.id))[-1]
    assert entry.action == "updated" and entry.before and "3 lessons" in entry.reason


def test_it_is_retired_when_its_supports_are_gone() -> None:
    s = with_lessons(*LOCKS[:2])
    done(s)
    (memory,) = general(s)
    asyncio.run(s.write(WriteBatch(removed=(memory.derived_from[0],))))
    assert done(s).retired == 1
    retired = asyncio.run(s.store.get([memory.id]))[memory.id]
    assert retired.status == "archived" and "two episodes" in retired.verdict_reason
    asyncio.run(store_lessons(s, a_lesson(1, LOCKS[0])))
    assert done(s).generalised == 1
    assert general(s)[0].id == memory.id


def test_what_was_forgotten_is_not_generalised_again() -> None:
    s = with_lessons(*LOCKS[:2])
    done(s)
    (memory,) = general(s)
    asyncio.run(forget(s, ForgetParams(ids=(memory.id,), reason="wrong"), Call(client="test")))
    asyncio.run(store_lessons(s, *(a_lesson(n, t) for n, t in enumerate(LOCKS, 1))))
    done(s)
    assert general(s) == []


def test_the_plan_changes_nothing_and_gives_reasons() -> None:
    s = with_lessons(*LOCKS)
    asyncio.run(s.write(WriteBatch(sessions=(a_session("s9", events=2, last_at=at(0)),))))
    s.clock.at = at(60 * 24)  # type: ignore[attr-defined]
    plan = asyncio.run(consolidate(s, ConsolidateParams(dry_run=True), Call()))
    assert plan.dry_run and {step.action for step in plan.steps} == {"distil", "generalise"}
    assert all(step.reason for step in plan.steps)
    assert general(s) == []


def test_why_walks_from_the_general_to_the_transcript() -> None:
    s = with_lessons(*LOCKS)
    done(s)
    (memory,) = general(s)
    steps = asyncio.run(why(s, WhyParams(id=memory.id), Call())).steps
    kinds = [step.what for step in steps]
    assert kinds == ["memory", *["solution"] * 3, *["episode"] * 3, *["transcript"] * 3]
    assert {step.id for step in steps} >= {an_episode(n).id for n in (1, 2, 3)}
    assert {step.text for step in steps} >= set(LOCKS)


def test_two_runs_never_overlap() -> None:
    s = with_lessons(*LOCKS)

    async def body() -> None:
        started = await consolidate(s, ConsolidateParams(), Call())
        assert started.state == "started"
        with pytest.raises(Busy) as caught:
            await consolidate(s, ConsolidateParams(wait=True), Call())
        assert caught.value.exit_code == 75
        while s.consolidation:
            await asyncio.sleep(0)

    asyncio.run(body())
    assert len(general(s)) == 1


def test_a_run_stops_at_its_budget_and_the_next_goes_on() -> None:
    s = with_lessons(*LOCKS, *LOCKS_ZH)
    first = done(s, max_items=2)
    assert (first.state, first.generalised, first.remaining) == ("stopped", 1, 1)
    second = done(s)
    assert (second.state, second.generalised, second.remaining) == ("done", 1, 0)
    assert done(s).generalised == 0


def test_a_poisoned_item_is_set_aside_after_three_tries_and_can_be_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s = with_lessons(*LOCKS)
    asyncio.run(
        s.write(
            WriteBatch(
                sessions=(a_session("bad", events=1, last_at=at(0)),),
                events=(an_event(1, "bad"),),
            )
        )
    )
    s.clock.at = at(60 * 24)  # type: ignore[attr-defined]
    poisoned = True
    learn = s.worker.learn

    async def fails(job: Any, events_of: Any) -> Any:
        if poisoned and job.session.session_id == "bad":
            raise ValueError("cannot be read")
        return await learn(job, events_of)

    monkeypatch.setattr(s.worker, "learn", fails)
    assert done(s).generalised == 1, "the others are not held up"
    for _ in range(MOST_TRIES - 1):
        assert done(s).failed == 1
    result = done(s)
    assert (result.failed, result.held) == (0, 1)
    (held,) = asyncio.run(s.store.held(state="held"))
    assert held.text == "session bad" and "cannot be read" in held.reason
    poisoned = False
    asyncio.run(release(s, HeldParams(ids=(held.id,)), Call(client="me")))
    assert done(s).sessions == 1
    assert asyncio.run(s.store.sessions(unconsolidated=True)) == ()


def test_an_item_that_kills_the_daemon_three_times_is_set_aside() -> None:
    s = with_lessons()
    asyncio.run(s.write(WriteBatch(sessions=(a_session("bad", events=1, last_at=at(0)),))))
    s.clock.at = at(60 * 24)  # type: ignore[attr-defined]
    for _ in range(MOST_TRIES):
        # What a process leaves behind that dies while it works on the item.
        asyncio.run(s.write(WriteBatch(progress={"consolidation:now": '["session:bad"]'})))
        asyncio.run(consolidation._former_tries(s))
    assert done(s).held == 1
    (held,) = asyncio.run(s.store.held(state="held"))
    assert "the daemon ended meanwhile" in held.reason


def test_a_failing_disk_is_not_the_items_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    s = with_lessons(*LOCKS)

    async def fails(*_: Any) -> Any:
        raise StorageFailed("no")

    monkeypatch.setattr(generalise, "carry_out", fails)
    with pytest.raises(StorageFailed):
        done(s)
    assert asyncio.run(s.store.progress("consolidation:tries:")) == {}
    assert s.consolidation == ""


def test_items_that_went_down_together_are_taken_one_at_a_time() -> None:
    s = with_lessons()
    states = [a_session(f"s{n}", events=1, last_at=at(n)) for n in range(3)]
    left = '["session:s0", "session:s1"]'
    asyncio.run(s.write(WriteBatch(sessions=tuple(states), progress={"consolidation:now": left})))
    s.clock.at = at(60 * 24)  # type: ignore[attr-defined]
    noted: list[str] = []
    write = s.write

    async def watched(batch: WriteBatch) -> None:
        if batch.progress.get("consolidation:now"):
            noted.append(batch.progress["consolidation:now"])
        await write(batch)

    s.write = watched  # type: ignore[method-assign]
    assert done(s).sessions == 3
    assert '["session:s0"]' in noted and '["session:s1"]' in noted
    assert asyncio.run(s.store.progress("consolidation:")) == {}
