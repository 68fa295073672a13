"""SearchFilter means the same as SQL for LanceDB, as SQL for the journal and as a predicate."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime, timedelta

import lancedb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_daemon.store.outbox import micros
from hindsight_daemon.store.port import SearchFilter
from hindsight_daemon.store.where import conditions, lance_literal, matches, matching_projects
from tests.support.store_builders import T0, a_memory

COLUMNS = [
    *("id", "project", "kind", "layer", "status", "agent", "agent_role", "task_type"),
    *("session_id", "scope", "created_at", "expires_at"),
]
TRICKY = [
    "",
    "a",
    "it's",
    "''",
    "\\",
    "\\'",
    "a\\",
    '"q"',
    "%",
    "_",
    "中文",
    "x;--",
    "\n",
    "🦀",
    "é",
]

words = st.sampled_from(TRICKY) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6
)
projects = st.sampled_from(["", "/w/app", "/x/app", "app", "/w/other/", "/it's/中文"])
moments = st.integers(-5, 5).map(lambda n: T0 + timedelta(microseconds=n))


def fields_of(number: int, drawn: dict[str, object]) -> dict[str, object]:
    return {**drawn, "id": f"id{number}"}


records = st.lists(
    st.fixed_dictionaries(
        {
            "project": projects,
            "kind": st.sampled_from(["lesson", "turn"]),
            "layer": st.sampled_from(["semantic", "working"]),
            "status": st.sampled_from(["valid", "stale"]),
            "agent": words,
            "agent_role": words,
            "task_type": words,
            "session_id": words,
            "scope": st.sampled_from(["private", "shared", "global"]),
            "created_at": moments,
            "expires_at": st.none() | moments,
        }
    ),
    min_size=1,
    max_size=8,
)
some = st.lists(st.sampled_from(["valid", "stale"]), max_size=2).map(tuple)
filters = st.builds(
    SearchFilter,
    now=moments,
    projects=st.lists(
        st.sampled_from(["app", "/w/app", "other", "none", "中文", ""]), max_size=2
    ).map(tuple),
    with_projectless=st.booleans(),
    kinds=st.lists(st.sampled_from(["lesson", "turn"]), max_size=2).map(tuple),
    layers=st.lists(st.sampled_from(["semantic", "working"]), max_size=1).map(tuple),
    statuses=some,
    not_statuses=some,
    task_type=st.just("") | words,
    agent_role=st.just("") | words,
    session_id=st.just("") | words,
    agent=st.just("") | words,
    private_to=st.none() | words,
    since=st.none() | moments,
    until=st.none() | moments,
)


@given(records, filters)
def test_the_journal_and_the_predicate_agree(
    drawn: list[dict[str, object]], where: SearchFilter
) -> None:
    memories = [a_memory(n, **fields_of(n, row)) for n, row in enumerate(drawn)]
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE TABLE memory ({', '.join(COLUMNS)})")
    for memory in memories:
        values = [getattr(memory, name) for name in COLUMNS]
        row = [micros(v) if isinstance(v, datetime) else v for v in values]
        db.execute(f"INSERT INTO memory VALUES ({', '.join('?' * len(row))})", row)
    bound: list[object] = []

    def literal(value: str | datetime) -> str:
        bound.append(micros(value) if isinstance(value, datetime) else value)
        return "?"

    parts = conditions(where, {m.project for m in memories}, literal)
    sql = f"SELECT id FROM memory WHERE {' AND '.join(parts)}"
    found = {row[0] for row in db.execute(sql, bound)}
    db.close()
    assert found == {m.id for m in memories if matches(where, m)}


@settings(max_examples=15)
@given(records, filters)
def test_lance_and_the_predicate_agree(drawn: list[dict[str, object]], where: SearchFilter) -> None:
    memories = [a_memory(n, **fields_of(n, row)) for n, row in enumerate(drawn)]
    time = pa.timestamp("us", tz="UTC")
    columns = {
        name: pa.array(
            [getattr(m, name) for m in memories], time if name.endswith("_at") else pa.string()
        )
        for name in COLUMNS
    }

    async def ask() -> set[str]:
        connection = await lancedb.connect_async("memory://")
        table = await connection.create_table("t", pa.table(columns))
        parts = conditions(where, {m.project for m in memories}, lance_literal)
        result = await table.query().where(" AND ".join(parts)).select(["id"]).to_arrow()
        return set(result.column("id").to_pylist())

    assert asyncio.run(ask()) == {m.id for m in memories if matches(where, m)}


@settings(max_examples=15)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=20), min_size=1))
def test_any_text_is_found_by_its_literal_and_finds_only_itself(texts: list[str]) -> None:
    async def ask() -> None:
        connection = await lancedb.connect_async("memory://")
        table = await connection.create_table("t", pa.table({"text": pa.array(texts)}))
        for text in texts[:3]:
            result = await table.query().where(f"text = {lance_literal(text)}").to_arrow()
            assert result.column("text").to_pylist() == [t for t in texts if t == text]

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["app"], ["/w/app", "app"]),
        (["/w/app"], ["/w/app"]),
        (["application"], []),
        (["w"], []),
        ([""], [""]),
        (["other"], ["/w/other/"]),
    ],
)
def test_projects_match_by_path_or_last_component(asked: list[str], found: list[str]) -> None:
    known = ["", "/w/app", "app", "/w/app2", "/w/other/"]
    assert matching_projects(asked, known) == found
