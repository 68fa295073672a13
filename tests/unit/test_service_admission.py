"""What becomes of a statement: added, merged, set in place of an older one, or in conflict."""

from __future__ import annotations

import asyncio
from typing import Any

from hindsight_daemon.model import Evidence, Memory
from hindsight_daemon.protocol.documents import RememberResult
from hindsight_daemon.protocol.params import RememberParams, WhyParams
from hindsight_daemon.service.admission import Admission, Admitted
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.memories import why
from hindsight_daemon.service.remember import remember
from hindsight_daemon.service.services import Services
from tests.support.services import services_in_memory
from tests.support.store_builders import a_memory, at


def told(s: Services, text: str, **fields: Any) -> RememberResult:
    return asyncio.run(remember(s, RememberParams(text=text, **fields), Call(client="test")))


def memory_of(s: Services, memory_id: str) -> Memory:
    return asyncio.run(s.store.get([memory_id]))[memory_id]


def admitted(s: Services, *memories: Memory) -> list[Admitted]:
    async def body() -> list[Admitted]:
        admission = Admission(s, actor="test")
        found = [await admission.admit(memory, keys_for(memory)) for memory in memories]
        await s.write(admission.batch())
        return found

    return asyncio.run(body())


def a_lesson(number: int, text: str, *events: str, **fields: Any) -> Memory:
    evidence = (Evidence(session_id="s1", event_ids=events),) if events else ()
    return a_memory(number, text, **{"evidence": evidence, "trust": "agent", **fields})


def test_what_differs_in_case_width_and_punctuation_merges() -> None:
    s = services_in_memory()
    first = told(s, "Always run ruff before you commit.", kind="preference")
    second = told(s, "always run  RUFF before you commit", kind="preference")
    assert (second.outcome, second.id) == ("merged", first.id)
    merged = memory_of(s, first.id)
    assert merged.version == 2
    assert merged.confidence > 0.8


def test_a_statement_in_other_order_and_with_fillers_merges() -> None:
    s = services_in_memory()
    first = told(s, "Always run ruff before committing", kind="preference")
    again = told(s, "Please make sure to run ruff before committing", kind="preference")
    assert again.id == first.id
    zh = told(s, "提交之前务必运行 ruff 检查", kind="preference")
    assert told(s, "提交前一定要运行ruff检查", kind="preference").id == zh.id


def test_another_number_never_merges() -> None:
    s = services_in_memory()
    one = told(s, "Retry the upload at most 3 times")
    assert told(s, "Retry the upload at most 5 times").id != one.id


def test_the_opposite_statement_replaces_the_older_one() -> None:
    s = services_in_memory()
    old = told(s, "Squash the commits before merging", kind="preference")
    new = told(s, "Never squash the commits before merging", kind="preference")
    assert (new.outcome, new.affected) == ("superseded", [new.id, old.id])
    retired = memory_of(s, old.id)
    assert (retired.status, retired.superseded_by) == ("superseded", new.id)
    assert memory_of(s, new.id).supersedes == old.id
    keys = asyncio.run(s.store.keys_of([old.id]))
    assert {key.status for key in keys} == {"superseded"}


def test_an_older_statement_that_arrives_late_does_not_replace_the_newer() -> None:
    s = services_in_memory()
    new = told(s, "Never squash the commits before merging", occurred_at="2026-03-01")
    old = told(s, "Squash the commits before merging", occurred_at="2026-01-01")
    assert old.outcome == "added"
    assert new.id in old.affected
    assert memory_of(s, new.id).status == "unverified"
    late = memory_of(s, old.id)
    assert (late.status, late.superseded_by) == ("superseded", new.id)
    again = told(s, "Squash the commits before merging", occurred_at="2026-01-01")
    assert (again.outcome, again.id) == ("merged", old.id)
    assert memory_of(s, old.id).status == "superseded"


def test_an_old_value_told_anew_holds_again() -> None:
    s = services_in_memory()
    told(s, "Squash the commits before merging", occurred_at="2026-01-01")
    told(s, "Never squash the commits before merging", occurred_at="2026-02-01")
    back = told(s, "Squash the commits before merging", occurred_at="2026-03-01")
    assert back.outcome == "superseded"
    assert memory_of(s, back.id).status == "unverified"


def test_a_request_for_this_time_leaves_the_rule_alone() -> None:
    s = services_in_memory()
    rule = told(s, "Squash the commits before merging", kind="preference")
    assert told(s, "Do not squash the commits before merging this time").outcome == "added"
    zh = told(s, "合并之前要压缩提交", kind="preference")
    assert told(s, "这次合并之前不要压缩提交").outcome == "added"
    assert {memory_of(s, i).status for i in (rule.id, zh.id)} == {"unverified"}


def test_a_rule_of_one_project_is_no_end_of_the_rule_for_all() -> None:
    s = services_in_memory()
    rule = told(s, "Squash the commits before merging", scope="global")
    here = told(s, "Never squash the commits before merging", project="/work/shop")
    assert here.outcome == "added"
    assert memory_of(s, rule.id).status == "unverified"


def test_an_agents_inference_does_not_overturn_what_the_user_said() -> None:
    s = services_in_memory()
    said = told(s, "Squash the commits before merging", kind="preference")
    guess = a_lesson(
        7, "Never squash the commits before merging", "e1", kind="preference", project=""
    )
    [found] = admitted(s, guess)
    assert found.conflicts == (said.id,)
    assert memory_of(s, said.id).status == "unverified"
    assert memory_of(s, said.id).conflicts_with == (guess.id,)
    assert memory_of(s, guess.id).conflicts_with == (said.id,)


def test_key_facts_are_flagged_on_both_sides_and_stay() -> None:
    s = services_in_memory()
    old = told(s, "Agents may force-push to main", kind="preference")
    new = told(s, "Agents may not force-push to main", kind="preference")
    assert new.outcome == "added"
    assert [warning.code for warning in new.warnings] == ["conflict"]
    assert memory_of(s, old.id).conflicts_with == (new.id,)
    assert memory_of(s, new.id).conflicts_with == (old.id,)


def test_the_same_lesson_twice_in_one_write_is_one_memory() -> None:
    s = services_in_memory()
    one = a_lesson(1, "Run the migrations before the tests", "e1")
    two = a_lesson(2, "Run the migrations before running the tests.", "e2")
    first, second = admitted(s, one, two)
    assert (first.outcome, second.outcome) == ("added", "merged")
    kept = memory_of(s, one.id)
    assert [link.event_ids for link in kept.evidence] == [("e1",), ("e2",)]
    assert two.id not in asyncio.run(s.store.get([two.id]))


def test_evidence_that_is_known_strengthens_nothing() -> None:
    s = services_in_memory()
    admitted(s, a_lesson(1, "Run the migrations before the tests", "e1"))
    before = memory_of(s, a_lesson(1, "").id)
    admitted(s, a_lesson(2, "Run the migrations before the tests", "e1"))
    assert memory_of(s, before.id) == before


def test_a_lesson_learned_again_keeps_its_successor() -> None:
    s = services_in_memory()
    old = a_lesson(
        1,
        "Squash the commits before merging",
        "e1",
        kind="preference",
        project="",
        created_at=at(-5),
        trust="user",
    )
    admitted(s, old)
    new = told(s, "Never squash the commits before merging", kind="preference")
    admitted(s, old)
    again = memory_of(s, old.id)
    assert (again.status, again.superseded_by) == ("superseded", new.id)


def test_episodes_never_merge() -> None:
    s = services_in_memory()
    one = a_memory(1, "Fixed the build", kind="episode", layer="episodic", created_at=at(1))
    two = a_memory(2, "Fixed the build", kind="episode", layer="episodic", created_at=at(2))
    assert [found.outcome for found in admitted(s, one, two)] == ["added", "added"]


def test_why_names_what_replaced_a_memory_and_what_it_replaced() -> None:
    s = services_in_memory()
    ids = [
        told(s, f"The gateway listens on port {7000 + n}", occurred_at=f"2026-02-0{n}").id
        for n in (1, 2, 3)
    ]

    def links(memory_id: str) -> list[tuple[str, str]]:
        steps = asyncio.run(why(s, WhyParams(id=memory_id), Call())).steps
        return [(step.what, step.id) for step in steps[1:]]

    first, second, third = ids
    assert links(first) == [("replaced by", second), ("replaced by", third)]
    assert links(second) == [("replaced by", third), ("replaces", first)]
    assert links(third) == [("replaces", second), ("replaces", first)]


def test_a_guess_against_the_users_word_is_worth_less() -> None:
    s = services_in_memory()
    said = told(s, "Squash the commits before merging", kind="preference")
    guess = a_lesson(
        7,
        "Never squash the commits before merging",
        "e1",
        kind="preference",
        project="",
        confidence=0.8,
    )
    admitted(s, guess)
    assert memory_of(s, guess.id).confidence <= memory_of(s, said.id).confidence / 2
    assert [key.confidence for key in asyncio.run(s.store.keys_of([guess.id]))] == [
        memory_of(s, guess.id).confidence
    ]


def test_a_retired_lesson_stays_retired_when_it_is_learned_again() -> None:
    s = services_in_memory()
    lesson = a_lesson(1, "Run the migrations before the tests", "e1", status="contradicted")
    admitted(s, lesson)
    admitted(s, a_lesson(1, "Run the migrations before the tests", "e1"))
    assert memory_of(s, lesson.id).status == "contradicted"
