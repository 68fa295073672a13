"""A person decides between memories that cannot both hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_daemon.errors import NotFound, UsageProblem
from hindsight_daemon.model import Memory
from hindsight_daemon.protocol.conflict_documents import ConflictsResult, ResolveResult
from hindsight_daemon.protocol.params import ConflictsParams, RememberParams, ResolveParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.conflicts import conflicts, resolve
from hindsight_daemon.service.remember import remember
from hindsight_daemon.service.services import Services
from tests.support.services import services_in_memory

OLD = "Only admins may force-push to main"
NEW = "Only admins may not force-push to main"


def told(s: Services, text: str, day: int) -> str:
    params = RememberParams(text=text, occurred_at=f"2026-02-{day:02}")
    return asyncio.run(remember(s, params, Call(client="test"))).id


def listed(s: Services) -> ConflictsResult:
    return asyncio.run(conflicts(s, ConflictsParams(), Call()))


def decided(s: Services, decision: str, *ids: str, **fields: Any) -> ResolveResult:
    params = ResolveParams(ids=ids, decision=decision, **fields)
    return asyncio.run(resolve(s, params, Call(client="person")))


def memory_of(s: Services, memory_id: str) -> Memory:
    return asyncio.run(s.store.get([memory_id]))[memory_id]


def test_both_sides_of_a_conflict_are_listed_once_with_the_reason() -> None:
    s = services_in_memory()
    old, new = told(s, OLD, 1), told(s, NEW, 2)
    [pair] = listed(s).conflicts
    assert (pair.newer.id, pair.older.id) == (new, old)
    assert pair.reason


@pytest.mark.parametrize(("decision", "survivor"), [("keep-new", 1), ("keep-old", 0)])
def test_the_side_that_lost_is_replaced_and_names_its_successor(
    decision: str, survivor: int
) -> None:
    s = services_in_memory()
    ids = [told(s, OLD, 1), told(s, NEW, 2)]
    kept, lost = ids[survivor], ids[1 - survivor]
    assert decided(s, decision, lost, reason="asked the team").superseded == [lost]
    assert memory_of(s, kept).status == "unverified"
    assert (memory_of(s, kept).supersedes, memory_of(s, kept).conflicts_with) == (lost, ())
    assert (memory_of(s, lost).status, memory_of(s, lost).superseded_by) == ("superseded", kept)
    assert {key.status for key in asyncio.run(s.store.keys_of([lost]))} == {"superseded"}
    assert listed(s).conflicts == []
    history = asyncio.run(s.store.history(lost))
    assert (history[-1].action, history[-1].actor) == ("resolved", "person")
    assert "asked the team" in history[-1].reason


def test_both_may_be_kept_and_are_never_asked_about_again() -> None:
    s = services_in_memory()
    old, new = told(s, OLD, 1), told(s, NEW, 2)
    decided(s, "keep-both", new)
    assert {memory_of(s, i).status for i in (old, new)} == {"unverified"}
    assert listed(s).conflicts == []


def test_a_dry_run_decides_nothing() -> None:
    s = services_in_memory()
    old, new = told(s, OLD, 1), told(s, NEW, 2)
    assert decided(s, "keep-new", new, dry_run=True).superseded == [old]
    assert len(listed(s).conflicts) == 1


def test_a_memory_without_conflict_and_an_unknown_decision_are_refused() -> None:
    s = services_in_memory()
    alone = told(s, "The gateway listens on port 7000", 1)
    with pytest.raises(NotFound):
        decided(s, "keep-new", alone)
    with pytest.raises(UsageProblem):
        decided(s, "toss-a-coin", alone)


def test_conflicts_are_known_after_a_restart() -> None:
    s = services_in_memory()
    told(s, OLD, 1)
    told(s, NEW, 2)
    again = services_in_memory(s.store)  # type: ignore[arg-type]
    assert len(listed(again).conflicts) == 1
