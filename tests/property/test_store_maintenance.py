"""The maintenance policy: what is done to a table of a given health, and that it comes to rest."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hindsight_daemon.store.maintenance import (
    FAILURES_BEFORE_REBUILD,
    INDEX_FROM_ROWS,
    KEEP_VERSIONS,
    VECTOR_INDEX_FROM_ROWS,
    Chore,
    TableHealth,
    decide,
)

QUIET = TableHealth(
    table="keys", rows=500, fragments=3, folds=3, wanted=("id", "terms"), since_compaction_s=9999.0
)


def chores(idle_s: float = 0.0, force: bool = False, **changes: object) -> list[Chore]:
    return decide([structs.replace(QUIET, **changes)], idle_s=idle_s, force=force)


def test_a_small_table_with_few_fragments_is_left_alone() -> None:
    assert chores() == []
    assert chores(idle_s=3600.0) == []


def test_many_fragments_are_compacted_at_once_and_fewer_when_idle() -> None:
    assert [c.do for c in chores(fragments=50)] == ["compact"]
    assert chores(fragments=20) == []
    assert [c.do for c in chores(fragments=20, idle_s=61.0)] == ["compact"]


def test_a_large_table_waits_for_more_fragments_or_for_time() -> None:
    large = {"rows": 500_000, "indexed": ("id", "terms")}
    assert chores(**large, fragments=60, since_compaction_s=10.0) == []
    assert [c.do for c in chores(**large, fragments=60, since_compaction_s=700.0)] == ["compact"]
    assert [c.do for c in chores(**large, fragments=200, since_compaction_s=10.0)] == ["compact"]


def test_indices_come_with_the_thousandth_row() -> None:
    found = chores(rows=INDEX_FROM_ROWS, indexed=("terms",))
    assert [(c.do, c.column) for c in found] == [("index", "id")]


def test_a_vector_index_comes_with_enough_vectors_and_anew_when_they_doubled() -> None:
    some = VECTOR_INDEX_FROM_ROWS
    full = ("id", "terms")
    assert chores(rows=some, indexed=full, vectors={"v": some - 1}) == []
    assert [c.column for c in chores(rows=some, indexed=full, vectors={"v": some})] == ["v"]
    trained = {"indexed": (*full, "v"), "trained": {"v": some}}
    assert chores(rows=some * 2, vectors={"v": some * 2 - 1}, **trained) == []
    assert [c.column for c in chores(rows=some * 2, vectors={"v": some * 2}, **trained)] == ["v"]


def test_repeated_failure_rebuilds_the_indices_before_the_next_try() -> None:
    found = chores(fragments=60, indexed=("id", "terms"), failures=FAILURES_BEFORE_REBUILD)
    assert [(c.do, c.column) for c in found] == [
        ("rebuild", "id"),
        ("rebuild", "terms"),
        ("compact", ""),
    ]


def test_old_versions_go_early_only_where_they_waste_room() -> None:
    live = 100_000_000
    assert chores(fragments=60)[0].keep_versions_for == KEEP_VERSIONS
    wasteful = chores(fragments=60, live_bytes=live, disk_bytes=6 * live)[0]
    assert timedelta(0) < wasteful.keep_versions_for < KEEP_VERSIONS


healths = st.builds(
    TableHealth,
    table=st.just("keys"),
    rows=st.integers(0, 3_000_000),
    fragments=st.integers(0, 500),
    folds=st.integers(0, 100),
    wanted=st.just(("id", "terms")),
    unindexed_rows=st.integers(0, 100_000),
    vectors=st.dictionaries(st.just("v"), st.integers(0, 3_000_000)),
    live_bytes=st.integers(0, 10**9),
    disk_bytes=st.integers(0, 10**10),
    since_compaction_s=st.floats(0, 10_000),
    failures=st.integers(0, 5),
)


@given(healths, st.floats(0, 10_000), st.booleans())
def test_when_all_chores_are_done_there_is_nothing_left_to_do(
    health: TableHealth, idle_s: float, force: bool
) -> None:
    found = decide([health], idle_s=idle_s, force=force)
    assert all(chore.why for chore in found)
    built = {c.column for c in found if c.column}
    compacted = any(c.do == "compact" for c in found)
    after = structs.replace(
        health,
        indexed=tuple(built | set(health.indexed)),
        trained={c: health.vectors[c] for c in built & set(health.vectors)},
        failures=0,
    )
    if compacted:
        after = structs.replace(
            after, fragments=1, folds=0, unindexed_rows=0, since_compaction_s=0.0
        )
    assert decide([after], idle_s=idle_s) == []
