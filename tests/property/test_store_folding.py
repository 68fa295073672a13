"""Folding, the overlay and the rows themselves, for any sequence of changes."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hindsight_daemon.model import Anchor, Event, Evidence, Memory, Origin, Step, ToolUse
from hindsight_daemon.store.bm25 import TermStatistics
from hindsight_daemon.store.fold_plan import FoldPlan, plan_fold
from hindsight_daemon.store.outbox import Op, OutboxRow, Table, decode_row, encode
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.rows import records_of, table_of
from hindsight_daemon.store.schema import vector_column
from tests.support.store_builders import MODEL, T0, a_key, a_memory, everything

IDS = ["a", "b", "c"]
changes = st.lists(st.tuples(st.sampled_from(IDS), st.booleans()), min_size=1, max_size=24)


def as_rows(drawn: list[tuple[str, bool]], known: set[str] | None = None) -> list[OutboxRow]:
    """Turn (id, is written) into rows as the journal would number and name them."""
    present = set(known or ())
    rows: list[OutboxRow] = []
    for seq, (row_id, written) in enumerate(drawn, 1):
        if written:
            op = Op.PUT if row_id in present else Op.ADD
            present.add(row_id)
            memory = a_memory(seq, id=row_id, project=f"p{seq}")
            rows.append(OutboxRow(seq, Table.MEMORIES, op, row_id, memory))
        elif row_id in present:
            present.discard(row_id)
            rows.append(OutboxRow(seq, Table.MEMORIES, Op.REMOVE, row_id))
    return rows


def carry_out(plan: FoldPlan, table: dict[str, list[OutboxRow]]) -> None:
    """Do to a table, in which an id may wrongly occur twice, what a plan says."""
    for row_id in plan.remove:
        table.pop(row_id, None)
    for row in plan.upsert:
        table[row.id] = [row]
    for row in plan.add:
        table.setdefault(row.id, []).append(row)


def last_words(rows: list[OutboxRow]) -> dict[str, list[OutboxRow]]:
    """Return the table that row-by-row folding would give."""
    table: dict[str, list[OutboxRow]] = {}
    for row in rows:
        if row.op is Op.REMOVE:
            table.pop(row.id, None)
        else:
            table[row.id] = [row]
    return table


@given(changes, st.integers(1, 9))
def test_folding_in_rounds_of_any_size_gives_what_folding_one_by_one_gives(
    drawn: list[tuple[str, bool]], size: int
) -> None:
    rows = as_rows(drawn)
    table: dict[str, list[OutboxRow]] = {}
    for start in range(0, len(rows), size):
        carry_out(plan_fold(rows[start : start + size], is_replay=False), table)
    assert table == last_words(rows)


@given(changes, st.integers(1, 9), st.integers(0, 3))
def test_a_round_carried_out_twice_doubles_nothing(
    drawn: list[tuple[str, bool]], size: int, at_round: int
) -> None:
    rows = as_rows(drawn)
    table: dict[str, list[OutboxRow]] = {}
    for number, start in enumerate(range(0, len(rows), size)):
        part = rows[start : start + size]
        carry_out(plan_fold(part, is_replay=False), table)
        if number == at_round:
            carry_out(plan_fold(part, is_replay=True), table)
    assert table == last_words(rows)


@given(changes, st.integers(0, 24))
def test_the_overlay_shows_the_last_word_on_every_id_that_is_not_folded(
    drawn: list[tuple[str, bool]], folded: int
) -> None:
    rows = as_rows(drawn)
    overlay = Overlay(TermStatistics())
    overlay.apply(rows)
    overlay.drop_through(Table.MEMORIES, folded)
    left = [row for row in rows if row.seq > folded]
    assert overlay.pending() == len(left)
    for row_id in IDS:
        assert overlay.row(Table.MEMORIES, row_id) == next(
            (row for row in reversed(left) if row.id == row_id), None
        )
    overlay.drop_through(Table.MEMORIES, 1000)
    assert (overlay.pending(), overlay.size_bytes) == (0, 0)


terms = st.lists(st.sampled_from(["a", "b", "c", "内存", "d/e"]), min_size=1, max_size=8).map(
    " ".join
)


@given(st.lists(st.tuples(st.sampled_from(IDS), terms), min_size=1, max_size=12), terms)
def test_overlay_keyword_search_finds_exactly_the_keys_that_hold_a_term(
    drawn: list[tuple[str, str]], query: str
) -> None:
    overlay = Overlay(TermStatistics())
    for seq, (key_id, text) in enumerate(drawn, 1):
        key = a_key(a_memory(1), text, id=key_id)
        overlay.apply([OutboxRow(seq, Table.KEYS, Op.PUT, key_id, key)])
    current = dict(drawn)
    wanted = set(query.split())
    hits = overlay.search_terms(sorted(wanted), everything(), 10)
    assert {h.key.id for h in hits} == {i for i, t in current.items() if wanted & set(t.split())}
    assert all(hit.score > 0 for hit in hits)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
tuples = st.lists(texts, max_size=3).map(tuple)
moments = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(
    lambda value: value.replace(tzinfo=UTC)
)
memories = st.builds(
    Memory,
    id=texts,
    layer=st.just("semantic"),
    kind=st.just("lesson"),
    text=texts,
    created_at=moments,
    updated_at=moments,
    lessons=tuples,
    execution_path=st.lists(st.builds(Step, action=texts), max_size=2).map(tuple),
    evidence=st.lists(st.builds(Evidence, quote=texts, event_ids=tuples), max_size=2).map(tuple),
    anchors=st.lists(st.builds(Anchor, kind=st.just("file"), value=texts), max_size=2).map(tuple),
    duration_s=st.none() | st.floats(allow_nan=False),
    source_turn=st.none() | st.integers(0, 1 << 40),
    expires_at=st.none() | moments,
    pinned=st.booleans(),
)
events = st.builds(
    Event,
    id=texts,
    agent=texts,
    session_id=texts,
    seq=st.integers(0, 1 << 50),
    role=st.just("tool"),
    kind=st.just("tool_result"),
    text=texts,
    ts=st.none() | moments,
    tool=st.none() | st.builds(ToolUse, name=texts, exit_code=st.none() | st.integers(-9, 255)),
    origin=st.none() | st.builds(Origin, path=texts),
    files=tuples,
)


@given(st.lists(memories, min_size=1, max_size=4), st.lists(events, min_size=1, max_size=4))
def test_records_survive_the_tables_and_the_outbox(
    some_memories: list[Memory], some_events: list[Event]
) -> None:
    for table, records in ((Table.MEMORIES, some_memories), (Table.EVENTS, some_events)):
        rows = [OutboxRow(n, table, Op.ADD, r.id, r) for n, r in enumerate(records)]
        assert records_of(table_of(table, rows), type(records[0])) == records
        for row in rows:
            assert row.record is not None
            body = encode(row.record)
            assert decode_row(row.seq, table, Op.ADD, row.id, body, None) == row


def test_keys_of_two_embedders_get_a_vector_column_each() -> None:
    key = a_key(a_memory(1), vector=None)
    floats = [np.array(v, dtype=np.float32) for v in ([1, 2], [3, 4, 5])]
    rows = [
        OutboxRow(1, Table.KEYS, Op.ADD, "a", structs.replace(key, embedder=MODEL), floats[0]),
        OutboxRow(
            2, Table.KEYS, Op.ADD, "b", structs.replace(key, embedder="Next/Model"), floats[1]
        ),
        OutboxRow(3, Table.KEYS, Op.ADD, "c", key),
    ]
    table = table_of(Table.KEYS, rows)
    assert table.column(vector_column(MODEL)).to_pylist() == [[1.0, 2.0], None, None]
    assert table.column(vector_column("Next/Model")).to_pylist() == [None, [3.0, 4.0, 5.0], None]
    assert T0.tzinfo is UTC
