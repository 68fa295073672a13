"""Derived data made anew, over a store in memory: what comes back, what stays, what stays gone."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import structs

from hindsight_daemon.model import Memory, SessionState
from hindsight_daemon.protocol.params import ForgetParams, ReindexParams, RememberParams
from hindsight_daemon.protocol.upkeep_documents import ReindexResult
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.forget import forget
from hindsight_daemon.service.reindex import reindex
from hindsight_daemon.service.remember import remember
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import WriteBatch
from tests.support.event_builders import Session
from tests.support.fake_store import FakeStore
from tests.support.services import services_in_memory


def a_session(number: int, table: str) -> Session:
    test = f"pytest tests/test_{table}.py -x"
    return (
        Session(f"s{number}")
        .user(f"The {table} test hangs, please fix it")
        .run(test, f"E   TimeoutError: lock wait timeout on table {table}\n1 failed", 1)
        .say(
            "The test hangs because the fixture leaves a second connection open, and that "
            "connection still holds the table lock."
        )
        .edit(f"tests/{table}/conftest.py")
        .run(test, "1 passed in 0.84s")
        .say("Fixed: the fixture now disposes of its engine, so nothing holds the lock.")
        .user("Remember: the staging database listens on port 5433")
        .say("Noted.", ends_turn=True)
    )


def learned(*tables: str) -> tuple[Services, FakeStore]:
    store = FakeStore()
    s = services_in_memory(store)

    async def body() -> None:
        for number, table in enumerate(tables, 1):
            session = a_session(number, table)
            first = session.events[0]
            state = SessionState(
                session_id=first.session_id,
                agent=first.agent,
                project="/w/app",
                cwd="/w/app",
                events=len(session.events),
                first_at=first.ts,
                last_at=session.events[-1].ts,
            )
            await s.write(WriteBatch(events=tuple(session.events), sessions=(state,)))
            await consolidate_session(s, first.session_id, final=True)

    asyncio.run(body())
    asyncio.run(reindex(s, ReindexParams(from_events=True), Call()))  # the turns
    return s, store


def again(s: Services, **params: Any) -> ReindexResult:
    return asyncio.run(reindex(s, ReindexParams(**{"from_events": True, **params}), Call()))


def told(store: FakeStore) -> dict[str, tuple[str, str, str]]:
    return {m.id: (m.kind, m.text, m.status) for m in store.memories.values()}


def lesson(store: FakeStore) -> Memory:
    return next(m for m in store.memories.values() if m.kind == "solution")


def test_what_was_lost_comes_back_from_its_events_under_the_same_ids() -> None:
    s, store = learned("invoices", "payments")
    before, keys = told(store), {(k.id, k.text) for k in store.keys.values()}
    assert {kind for kind, _, _ in before.values()} >= {"episode", "solution", "fact", "turn"}
    store.memories.clear()
    store.keys.clear()
    result = again(s)
    assert result.added > 3 and result.turns > 0
    assert told(store) == before
    assert {(k.id, k.text) for k in store.keys.values()} == keys


def test_a_second_time_changes_nothing() -> None:
    s, store = learned("invoices", "payments")
    again(s)
    before = dict(store.memories)
    result = again(s)
    assert (result.added, result.changed, result.removed, result.rekeyed) == (0, 0, 0, 0)
    assert store.memories == before


def test_what_was_forgotten_stays_gone() -> None:
    s, store = learned("invoices")
    gone = lesson(store)
    asyncio.run(forget(s, ForgetParams(ids=(gone.id,), reason="wrong"), Call(client="me")))
    again(s)
    assert gone.id not in store.memories
    assert not any(m.text == gone.text for m in store.memories.values())


def test_what_was_removed_by_decision_stays_gone_without_a_tombstone() -> None:
    s, store = learned("invoices")
    gone = lesson(store)
    asyncio.run(forget(s, ForgetParams(ids=(gone.id,)), Call(client="me")))
    for tombstone in asyncio.run(store.tombstones()):
        asyncio.run(s.write(WriteBatch(lifted=(tombstone.id,))))
    assert again(s).kept_out >= 1
    assert gone.id not in store.memories


def test_what_people_stated_and_decided_stays() -> None:
    s, store = learned("invoices")
    stated = asyncio.run(
        remember(s, RememberParams(text="Deploys go out on Tuesdays"), Call(client="me"))
    )
    known = lesson(store)
    checked = structs.replace(known, status="valid", pinned=True, confidence=0.95, tags=("mine",))
    asyncio.run(s.write(WriteBatch(memories=(checked,))))
    again(s)
    assert stated.id in store.memories
    assert store.memories[known.id] == checked


def test_what_the_events_do_not_give_any_more_goes_with_its_history_kept() -> None:
    s, store = learned("invoices")
    episode = next(m for m in store.memories.values() if m.kind == "episode")
    stale = structs.replace(
        lesson(store), id="0" * 8, text="An older rule said this.", derived_from=(episode.id,)
    )
    asyncio.run(s.write(WriteBatch(memories=(stale,))))
    assert again(s, dry_run=True).removed == 1 and stale.id in store.memories
    assert again(s).removed == 1
    assert stale.id not in store.memories
    (entry,) = asyncio.run(store.history(stale.id))
    assert "An older rule" in entry.before


def test_sessions_whose_events_were_let_go_keep_their_memories() -> None:
    s, store = learned("invoices")
    before = dict(store.memories)
    (state,) = asyncio.run(store.sessions())
    thinned = structs.replace(state, thinned_through=99)
    drops = {event.id: event.agent for event in store.events.values()}
    asyncio.run(s.write(WriteBatch(dropped_events=drops, sessions=(thinned,))))
    result = again(s)
    assert (result.sessions, result.sessions_kept) == (0, 1)
    assert store.memories == before


def test_keys_that_were_dropped_are_made_of_the_memories() -> None:
    s, store = learned("invoices")
    before = {key.id for key in store.keys.values() if key.key_kind == "text"}
    texts = {store.keys[i].text for i in before}
    store.keys.clear()
    result = again(s, from_events=False)
    assert result.rekeyed == len(store.memories)
    assert texts - {key.text for key in store.keys.values()} <= {
        t for t in texts if t not in {m.text for m in store.memories.values()}
    }


def test_a_plan_changes_nothing() -> None:
    s, store = learned("invoices")
    store.memories.clear()
    store.keys.clear()
    plan = again(s, dry_run=True)
    assert plan.added > 0 and {step.action for step in plan.steps} == {"add"}
    assert store.memories == {} and store.keys == {}
