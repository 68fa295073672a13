"""What every store promises, checked on the fake and on LanceDB: with rows still in the journal,
folded into the tables, compacted, after closing and opening again, and at a place without files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from msgspec import structs

from hindsight_daemon.errors import AmbiguousId, BadInput, NotFound
from hindsight_daemon.model import (
    Anchor,
    Checkpoint,
    Evidence,
    Held,
    Step,
    ToolCall,
    ToolUse,
    WorkingItem,
    WorkingState,
)
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import (
    EventFilter,
    JudgeJob,
    JudgeUse,
    RecallRecord,
    Store,
    WriteBatch,
)
from tests.support.fake_store import FakeStore
from tests.support.store_builders import (
    MODEL,
    SETTINGS,
    FixedClock,
    a_change,
    a_key,
    a_memory,
    a_session,
    a_tombstone,
    an_event,
    at,
    everything,
    memory_id,
    test_paths,
)

Settle = Callable[[], Awaitable[None]]
Body = Callable[[Store, Settle], Awaitable[None]]
Run = Callable[[Body], None]


class Reopened:
    """A LanceStore that is closed and opened again whenever a test lets it settle."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


async def opened(kind: str) -> Store:
    """Open a fresh store of one kind."""
    if kind == "fake":
        return FakeStore()
    uri = "memory://" if kind == "remote" else ""
    store = await open_store(test_paths(), structs.replace(SETTINGS, uri=uri), FixedClock())
    return cast(Store, Reopened(store)) if kind == "reopened" else store


@pytest.fixture(params=["fake", "pending", "folded", "compacted", "reopened", "remote"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a test's body against a fresh store; `settle` makes its rows what the parameter says."""

    async def with_store(body: Body) -> None:
        store = await opened(request.param)

        async def settle() -> None:
            if request.param in ("folded", "compacted", "remote"):
                await store.flush()
            if request.param in ("compacted", "remote"):
                await store.maintain(force=True)
            if isinstance(store, Reopened):
                await store.close()
                store.store = await opened("pending")

        try:
            await body(store, settle)
        finally:
            await store.close()

    return lambda body: asyncio.run(with_store(body))


def test_a_committed_memory_comes_back_whole(run: Run) -> None:
    memory = a_memory(
        1,
        "多语言 text with 'quotes', \\ and \u0000 and 🦀",
        lessons=("one", "two"),
        execution_path=(Step(action="ran make", result="ok"),),
        evidence=(Evidence(session_id="s1", event_ids=("e1",), quote='"q"'),),
        anchors=(Anchor(kind="file", value="a.py", digest="d"),),
        duration_s=1.5,
        source_turn=4,
        last_verified_at=at(2),
        pinned=True,
        tags=("a", "b"),
        outcome="success",
    )

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(memory, a_memory(2))))
        await settle()
        assert await store.get([memory.id, "no such id"]) == {memory.id: memory}

    run(body)


def test_a_memory_read_from_the_tables_equals_the_one_written(run: Run) -> None:
    memories = tuple(a_memory(n, lessons=("x",) * (n % 3)) for n in range(5))

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=memories))
        await settle()
        found = await store.get([m.id for m in memories])
        assert list(found.values()) == list(memories)

    run(body)


def test_a_later_commit_replaces_the_memory(run: Run) -> None:
    old = a_memory(1, status="unverified")
    new = structs.replace(old, status="valid", version=2)

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(old,)))
        await settle()
        await store.commit(WriteBatch(memories=(new,)))
        assert (await store.get([old.id]))[old.id] == new
        await settle()
        assert (await store.get([old.id]))[old.id] == new
        assert (await store.stats()).memories_by["status"] == {"valid": 1}

    run(body)


def test_a_removed_memory_is_found_by_no_read(run: Run) -> None:
    gone, stays = a_memory(1, "alpha beta"), a_memory(2, "alpha gamma")
    keys = (a_key(gone, vector=(1.0, 0.0)), a_key(stays, vector=(1.0, 0.1)))

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(gone, stays), keys=keys))
        await settle()
        await store.commit(WriteBatch(removed=(gone.id,)))
        for _ in range(2):
            assert list(await store.get([gone.id, stays.id])) == [stays.id]
            assert [m.id for m in await store.list(everything(), limit=9)] == [stays.id]
            for hits in (
                await store.search_terms(["alpha"], everything(), limit=9),
                await store.search_vector((1.0, 0.0), MODEL, everything(), limit=9),
                await store.search_recent(everything(), limit=9),
            ):
                assert [hit.key.memory_id for hit in hits] == [stays.id]
            assert await store.keys_of([gone.id]) == ()
            with pytest.raises(NotFound):
                await store.resolve(gone.id)
            await settle()

    run(body)


def test_an_id_removed_and_written_in_one_batch_ends_up_written(run: Run) -> None:
    old, new = a_memory(1, "old"), a_memory(1, "new")

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(old,), keys=(a_key(old),)))
        await settle()
        await store.commit(WriteBatch(memories=(new,), removed=(old.id,), keys=(a_key(new),)))
        await settle()
        assert (await store.get([old.id]))[old.id].text == "new"
        assert [key.text for key in await store.keys_of([old.id])] == ["new"]

    run(body)


def test_replacing_the_keys_of_a_memory_leaves_only_the_new_ones(run: Run) -> None:
    memory = a_memory(1, "apple pear")

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(
            WriteBatch(memories=(memory,), keys=(a_key(memory), a_key(memory, "fig", "goal")))
        )
        await settle()
        await store.commit(
            WriteBatch(replace_keys_of=(memory.id,), keys=(a_key(memory, "plum", "lesson"),))
        )
        await settle()
        assert [key.terms for key in await store.keys_of([memory.id])] == ["plum"]
        assert await store.search_terms(["apple", "fig"], everything(), limit=5) == ()
        assert len(await store.search_terms(["plum"], everything(), limit=5)) == 1

    run(body)


def test_prefixes_resolve_to_one_id_or_say_why_not(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=tuple(a_memory(n) for n in range(4))))
        await settle()
        shorts = await store.short_ids([memory_id(n) for n in range(4)])
        for full, short in shorts.items():
            assert len(short) >= 8
            assert await store.resolve(short) == full
            assert await store.resolve(short.upper()) == full
        with pytest.raises(AmbiguousId):
            await store.resolve(memory_id(0)[:3])
        for nothing in ("", "ffff", "' OR 1=1 --"):
            with pytest.raises(NotFound):
                await store.resolve(nothing)

    run(body)


def test_the_list_goes_from_newest_to_oldest_in_pages(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=tuple(a_memory(n) for n in range(7))))
        await settle()
        seen: list[str] = []
        while page := await store.list(everything(), limit=3, before_id=seen[-1] if seen else ""):
            seen += [memory.id for memory in page]
        assert seen == [memory_id(n) for n in reversed(range(7))]

    run(body)


FILTERS = {
    "project by name": ({"projects": ("app",), "with_projectless": False}, {0, 3, 4, 5, 6}),
    "project by path": (
        {"projects": ("/home/dev/app",), "with_projectless": False},
        {0, 3, 4, 5, 6},
    ),
    "project and what has none": ({"projects": ("app",)}, {0, 1, 2, 3, 4, 5, 6}),
    "unknown project": ({"projects": ("nowhere",), "with_projectless": False}, set()),
    "kind": ({"kinds": ("decision",)}, {3}),
    "layer": ({"layers": ("episodic", "working")}, {4}),
    "status": ({"statuses": ("stale",)}, {5}),
    "not status": ({"not_statuses": ("stale", "valid")}, {0, 1, 2, 3, 4, 6, 7}),
    "private to another": ({"private_to": "codex"}, {0, 1, 2, 3, 4, 5, 7}),
    "private to its writer": ({"private_to": "claude-code"}, {0, 1, 2, 3, 4, 5, 6, 7}),
    "task type": ({"task_type": 'debug\'s "end" \\'}, {4}),
    "role": ({"agent_role": "reviewer"}, {5}),
    "session": ({"session_id": "s2"}, {3}),
    "agent": ({"agent": "codex"}, {7}),
    "since is inclusive": ({"since": at(5)}, {5, 6, 7}),
    "until is not": ({"until": at(5)}, {0, 1, 2, 3, 4}),
    "expired later": ({"now": at(30)}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
    "expires now": ({"now": at(60)}, {0, 1, 2, 3, 4, 5, 6, 7}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_every_read_sees_what_the_filter_says(run: Run, name: str) -> None:
    memories = (
        a_memory(0),
        a_memory(1, project=""),
        a_memory(2, project="/elsewhere/other", scope="global"),
        a_memory(3, kind="decision", session_id="s2"),
        a_memory(4, layer="episodic", task_type='debug\'s "end" \\'),
        a_memory(5, status="stale", agent_role="reviewer"),
        a_memory(6, scope="private"),
        a_memory(7, project="/srv/application", agent="codex", scope="shared"),
        a_memory(8, project="/x/y", expires_at=at(60)),
    )
    fields, expected = FILTERS[name]
    where = everything(**fields)
    ids = {memory_id(n) for n in expected}

    async def body(store: Store, settle: Settle) -> None:
        keys = tuple(a_key(m, "word", vector=(1.0, m.created_at.minute / 60)) for m in memories)
        await store.commit(WriteBatch(memories=memories, keys=keys))
        await settle()
        assert {m.id for m in await store.list(where, limit=20)} == ids
        for hits in (
            await store.search_terms(["word"], where, limit=20),
            await store.search_vector((1.0, 0.0), MODEL, where, limit=20),
            await store.search_recent(where, limit=20),
        ):
            assert {hit.key.memory_id for hit in hits} == ids

    run(body)


def test_vector_search_ranks_by_cosine_similarity(run: Run) -> None:
    near, far, none = a_memory(1), a_memory(2), a_memory(3)

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(
            WriteBatch(
                memories=(near, far, none),
                keys=(
                    a_key(near, vector=(3.0, 0.0, 0.0)),
                    a_key(far, vector=(1.0, 1.0, 0.0)),
                    a_key(none),
                ),
            )
        )
        await settle()
        hits = await store.search_vector((2.0, 0.0, 0.0), MODEL, everything(), limit=5)
        assert [hit.key.memory_id for hit in hits] == [near.id, far.id]
        assert [round(hit.score, 4) for hit in hits] == [1.0, 0.7071]
        assert {hit.key.embedder for hit in hits} == {MODEL}
        assert await store.search_vector((1.0, 0.0), "another", everything(), limit=5) == ()
        assert len(await store.search_vector((1.0, 0, 0), MODEL, everything(), limit=1)) == 1

    run(body)


def test_keyword_search_prefers_rare_terms_and_repeats(run: Run) -> None:
    memories = [a_memory(n) for n in range(6)]
    terms = [
        "common",
        "common rare",
        "common common x",
        "common y",
        "src/db/pool.py:88",
        "内存 存泄",
    ]

    async def body(store: Store, settle: Settle) -> None:
        keys = tuple(a_key(m, t) for m, t in zip(memories, terms, strict=True))
        await store.commit(WriteBatch(memories=tuple(memories), keys=keys))
        await settle()

        async def found(*words: str) -> list[str]:
            hits = await store.search_terms(words, everything(), limit=10)
            assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)
            return [hit.key.memory_id for hit in hits]

        assert (await found("common", "rare"))[0] == memory_id(1)
        assert set(await found("common")) == {memory_id(n) for n in range(4)}
        assert await found("src/db/pool.py:88") == [memory_id(4)]
        assert await found("存泄") == [memory_id(5)]
        assert await found("Common", "absent") == []
        assert await found() == []

    run(body)


def test_recent_keys_come_newest_first(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        memories = tuple(a_memory(n) for n in range(5))
        await store.commit(WriteBatch(memories=memories, keys=tuple(a_key(m) for m in memories)))
        await settle()
        hits = await store.search_recent(everything(), limit=3)
        assert [hit.key.memory_id for hit in hits] == [memory_id(n) for n in (4, 3, 2)]
        assert hits[0].score == at(4).timestamp()

    run(body)


def test_keys_wait_for_vectors_distilled_first_then_newest(run: Run) -> None:
    turns = [a_memory(n, kind="turn", layer="episodic") for n in (1, 2)]
    lessons = [a_memory(n) for n in (3, 4)]
    done = a_memory(5)

    async def body(store: Store, settle: Settle) -> None:
        keys = [a_key(m) for m in (*turns, *lessons)] + [a_key(done, vector=(1.0, 0.0))]
        await store.commit(WriteBatch(memories=(*turns, *lessons, done), keys=tuple(keys)))
        await settle()
        waiting = await store.keys_without_vector(MODEL, limit=9)
        assert [k.memory_id for k in waiting] == [memory_id(n) for n in (4, 3, 2, 1)]
        assert len(await store.keys_without_vector("next", limit=9)) == 5
        await store.fill_vectors(
            {k.id: (0.0, 1.0) for k in waiting[:3]} | {"gone": (1.0, 1.0)}, MODEL
        )
        await settle()
        assert [k.memory_id for k in await store.keys_without_vector(MODEL, limit=9)] == [
            memory_id(1)
        ]
        hits = await store.search_vector((0.0, 1.0), MODEL, everything(), limit=9)
        assert {h.key.memory_id for h in hits} == {memory_id(n) for n in (2, 3, 4, 5)}
        stats = await store.stats()
        assert (stats.pending_vectors, stats.embedders) == (1, {MODEL: 4})

    run(body)


def wide(*head: float) -> tuple[float, ...]:
    """Return a vector as long as those of real models, which the engine treats apart."""
    return (*head, *[0.0] * (384 - len(head)))


def test_a_key_written_again_with_the_same_text_keeps_its_vector(run: Run) -> None:
    memory = a_memory(1, "same")
    key = a_key(memory, vector=wide(1.0))

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(memory,), keys=(key,)))
        await settle()
        stale = structs.replace(key, status="stale", vector=None)
        await store.commit(WriteBatch(keys=(stale,)))
        await settle()
        hits = await store.search_vector(wide(1.0), MODEL, everything(), limit=5)
        assert [hit.key.status for hit in hits] == ["stale"]
        other = structs.replace(stale, text="other")
        await store.commit(WriteBatch(keys=(other,)))
        await settle()
        assert await store.search_vector(wide(1.0), MODEL, everything(), limit=5) == ()
        assert [k.text for k in await store.keys_without_vector(MODEL, limit=5)] == ["other"]

    run(body)


def test_vectors_that_cannot_be_searched_are_refused(run: Run) -> None:
    memory = a_memory(1)

    async def body(store: Store, _: Settle) -> None:
        await store.commit(WriteBatch(keys=(a_key(memory, vector=(1.0, 0.0)),)))
        for bad in ((1.0,), (float("nan"), 1.0), (float("inf"), 1.0)):
            with pytest.raises(BadInput):
                await store.commit(WriteBatch(keys=(a_key(memory, part="b", vector=bad),)))
        assert len(await store.keys_of([memory.id])) == 1

    run(body)


def test_two_embedders_live_side_by_side(run: Run) -> None:
    memory = a_memory(1)
    key = a_key(memory, vector=wide(1.0))

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(memory,), keys=(key,)))
        await settle()
        await store.fill_vectors({key.id: wide(0.0, 0.0, 1.0)}, "next")
        await settle()
        assert (
            len(await store.search_vector(wide(0.0, 0.0, 1.0), "next", everything(), limit=5)) == 1
        )
        assert await store.keys_without_vector("next", limit=5) == ()
        fresh = a_key(a_memory(2), vector=wide(0.0, 1.0))
        await store.commit(
            WriteBatch(keys=(fresh, structs.replace(key, text="other", vector=None)))
        )
        await settle()
        assert len(await store.search_vector(wide(0.0, 1.0), MODEL, everything(), limit=5)) == 1
        assert len(await store.keys_without_vector("next", limit=5)) == 2

    run(body)


def test_the_same_content_is_found_while_it_is_live(run: Run) -> None:
    here = a_memory(1, content_hash="h", project="/p")
    there = a_memory(2, content_hash="h", project="/q")

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(memories=(here, there)))
        await settle()
        assert await store.same_content("h", "/p") == here.id
        assert await store.same_content("h", "/elsewhere") is None
        assert await store.same_content("", "/p") is None
        assert set(await store.with_content(["h", "", "other"])) == {here.id, there.id}
        await store.commit(WriteBatch(memories=(structs.replace(here, status="superseded"),)))
        assert await store.same_content("h", "/p") is None

    run(body)


def test_events_are_append_only_and_come_in_order(run: Run) -> None:
    tool = ToolUse(name="Bash", category="shell", command="make", exit_code=2, is_error=True)
    events = [an_event(n, tool=tool if n == 2 else None, files=("a.py",)) for n in (3, 1, 2)]

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=(*events, an_event(1, "s2"))))
        await settle()
        changed = structs.replace(events[0], text="changed")
        await store.commit(WriteBatch(events=(changed, an_event(4))))
        ordered = sorted([*events, an_event(4)], key=lambda e: e.seq)
        assert [e async for e in store.events_of("s1")] == ordered
        assert [e async for e in store.events_of("s1", after_seq=2)] == ordered[2:]
        assert [e async for e in store.events_of("none")] == []
        known = await store.known_events([events[0].id, "unknown"])
        assert known == {events[0].id}
        assert list(await store.events_by_id([ordered[3].id, "x", ordered[0].id])) == [
            ordered[3],
            ordered[0],
        ]
        stats = await store.stats()
        assert (stats.events, stats.sources) == (5, {"claude-code": 5})

    run(body)


def test_a_long_session_is_iterated_whole(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        events = [an_event(n) for n in range(1203)]
        await store.commit(WriteBatch(events=tuple(events[:1200])))
        await settle()
        await store.commit(WriteBatch(events=tuple(events[1200:])))
        assert [e.seq async for e in store.events_of("s1")] == list(range(1203))

    run(body)


def test_literal_search_finds_any_script_in_any_case_newest_first(run: Run) -> None:
    tool = ToolUse(
        name="Bash",
        category="shell",
        command='grep "a\\b" 数据库.sql',
        arguments='{"command": "grep \\"a\\\\\\\\b\\" 数据库.sql", "note": "first\\nsecond"}',
    )
    edit = ToolUse(name="Edit", category="edit", arguments='{"new_string": "x = \\"É\\""}')
    events = (
        an_event(1, text="Das Datenbank-ÜBERLAUF-Problem, it's 100% 'real'"),
        an_event(2, text="数据库连接超时", role="assistant", kind="text"),
        an_event(3, text="", tool=tool, role="assistant", kind="tool_call"),
        an_event(4, text="ok", tool=structs.replace(tool, arguments=""), kind="tool_result"),
        an_event(5, text="", tool=edit, role="assistant", kind="tool_call"),
        an_event(6, "s2", text="数据库 again", agent="codex", id="codex:6"),
        an_event(7, "s2", text="数据库 at no time", ts=None),
    )

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=events[:5]))
        await settle()
        await store.commit(WriteBatch(events=events[5:]))

        async def found(text: str, limit: int = 10, **fields: Any) -> list[int]:
            where = EventFilter(**fields)
            return [e.seq for e in await store.search_events(text, where, limit=limit)]

        assert await found("überlauf") == [1]
        assert await found("IT'S 100% 'REAL'") == [1]
        assert await found("100_") == []
        assert await found("数据库") == [6, 4, 3, 2, 7]
        assert await found("数据库", limit=2) == [6, 4]
        assert await found('"A\\b"') == [4, 3]
        assert await found("first\nsecond") == [3]
        assert await found('x = "é"') == [5]
        assert await found("new_string") == [5]
        assert await found("category") == []
        assert await found("数据库", sessions=("s2", "s3")) == [6, 7]
        assert await found("数据库", agent="codex") == [6]
        assert await found("数据库", roles=("assistant",)) == [3, 2]
        assert await found("数据库", kinds=("tool_result", "text")) == [4, 2]
        assert await found("数据库", tool="bash") == [4, 3]
        assert await found("数据库", tool="SHELL", kinds=("tool_call",)) == [3]
        assert await found("ok", tool="edit") == []
        assert await found("数据库", since=at(3), until=at(6)) == [4, 3]
        assert await found("", limit=5) == []
        assert await store.search_events("überlauf", EventFilter(), limit=1) == (events[0],)

    run(body)


def test_a_search_through_many_events_keeps_the_newest(run: Run) -> None:
    events = [an_event(n, text=f"needle {n % 7}") for n in range(700)]

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=tuple(events[:600])))
        await settle()
        await store.commit(WriteBatch(events=tuple(events[600:])))
        hits = await store.search_events("Needle 3", EventFilter(), limit=30)
        assert [e.seq for e in hits] == [n for n in range(699, -1, -1) if n % 7 == 3][:30]
        many = EventFilter(sessions=("s1", *(f"other{n}" for n in range(3000))))
        assert len(await store.search_events("needle", many, limit=1000)) == 700
        none = EventFilter(sessions=tuple(f"other{n}" for n in range(3000)))
        assert await store.search_events("needle", none, limit=1000) == ()

    run(body)


def test_the_neighbours_of_an_event_come_in_order(run: Run) -> None:
    events = [an_event(n) for n in (2, 4, 6, 8, 10)]

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=(*events[:3], an_event(5, "s2"))))
        await settle()
        await store.commit(WriteBatch(events=tuple(events[3:])))

        async def near(seq: int, before: int, after: int, session: str = "s1") -> list[int]:
            found = await store.events_near(session, seq, before=before, after=after)
            return [e.seq for e in found]

        assert await near(6, 1, 1) == [4, 6, 8]
        assert await near(6, 0, 0) == [6]
        assert await near(2, 3, 1) == [2, 4]
        assert await near(10, 2, 9) == [6, 8, 10]
        assert await near(6, 9, 9) == [2, 4, 6, 8, 10]
        assert await near(6, 1, 1, "none") == []

    run(body)


def test_sessions_come_with_the_newest_activity_first(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        states = (
            a_session("old", last_at=at(1), events=3, consolidated_events=3),
            a_session("new", last_at=at(9), events=3, consolidated_events=1),
            a_session("seen", last_seen_at=at(5), events=1),
        )
        await store.commit(WriteBatch(sessions=states))
        await settle()
        assert [s.session_id for s in await store.sessions()] == ["new", "seen", "old"]
        waiting = await store.sessions(unconsolidated=True)
        assert [s.session_id for s in waiting] == ["new", "seen"]
        assert await store.session("old") == states[0]
        assert await store.session("none") is None

    run(body)


def test_the_books_are_kept(run: Run) -> None:
    memory = a_memory(1, session_id="s9", kind="episode")
    checkpoint = Checkpoint(path="/t.jsonl", source="claude-code", parser_version=1, offset=10)
    recall = RecallRecord(recall_id="r1", at=at(1), query="q", returned=(memory.id,))
    call = ToolCall(id="c1", session_id="s9", tool="Bash", category="shell", memory_ids=("m",))

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(
            WriteBatch(
                memories=(memory,),
                tool_calls=(call, structs.replace(call, state="dirty")),
                tombstones=(a_tombstone(1, vector=(1.0, 2.0), embedder=MODEL), a_tombstone(2)),
                history=(a_change(memory, 1), a_change(memory, 2, "verified")),
                checkpoints=(checkpoint,),
                recalls=(recall,),
                request_key="k",
                response='{"ok":1}',
            )
        )
        await settle()
        newer = structs.replace(checkpoint, offset=20)
        await store.commit(WriteBatch(checkpoints=(newer,), lifted=(a_tombstone(2).id,)))
        await settle()
        assert await store.checkpoint("/t.jsonl") == newer
        assert await store.checkpoint("/other") is None
        assert list(await store.checkpoints()) == [newer]
        assert [t.vector for t in await store.tombstones()] == [(1.0, 2.0)]
        assert [h.action for h in await store.history(memory.id)] == ["added", "verified"]
        assert await store.history("other") == ()
        assert await store.recall_record("r1") == recall
        assert await store.recall_record("r2") is None
        assert await store.answered("k") == '{"ok":1}'
        assert await store.answered("j") is None
        assert [m.id for m in await store.memories_of_session("s9", ["episode"])] == [memory.id]
        assert await store.memories_of_session("s9", ["lesson"]) == ()

    run(body)


def test_what_is_held_comes_back_whole_and_by_its_state(run: Run) -> None:
    first = Held(
        id="h1",
        what="memory",
        reason="r",
        since=at(1),
        digest="d1",
        text="t",
        body="{}",
        origin="o",
    )
    second = structs.replace(first, id="h2", since=at(2), digest="d2", trust="external")

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(held=(second, first)))
        await settle()
        assert await store.held() == (first, second)
        released = structs.replace(first, state="released", decided_at=at(3), decided_by="me")
        await store.commit(WriteBatch(held=(released,)))
        await settle()
        assert await store.held() == (released, second)
        assert await store.held(state="held") == (second,)
        assert await store.held(state="dropped") == ()
        assert (await store.stats()).held == 1

    run(body)


def test_counts_follow_what_was_written(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        memories = (a_memory(1), a_memory(2, kind="turn", layer="episodic"))
        await store.commit(WriteBatch(memories=memories, sessions=(a_session("s1"),)))
        await settle()
        stats = await store.stats()
        assert stats.memories_by == {
            "layer": {"semantic": 1, "episodic": 1},
            "kind": {"lesson": 1, "turn": 1},
            "status": {"unverified": 2},
        }
        assert (stats.sessions, stats.tombstones, stats.maintenance_failures) == (1, 0, 0)

    run(body)


def test_concurrent_commits_all_arrive(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        await asyncio.gather(
            *(store.commit(WriteBatch(memories=(a_memory(n),))) for n in range(50))
        )
        assert len(await store.list(everything(), limit=100)) == 50
        await settle()
        assert len(await store.get([memory_id(n) for n in range(50)])) == 50
        assert await store.check() == ()

    run(body)


def test_a_batch_that_cannot_be_stored_leaves_its_neighbours_alone(run: Run) -> None:
    async def body(store: Store, _: Settle) -> None:
        bad = WriteBatch(
            memories=(a_memory(2),), keys=(a_key(a_memory(2), vector=(float("nan"), 0.0)),)
        )
        results = await asyncio.gather(
            store.commit(WriteBatch(memories=(a_memory(1),))),
            store.commit(bad),
            store.commit(WriteBatch(memories=(a_memory(3),))),
            return_exceptions=True,
        )
        assert [type(r) for r in results] == [type(None), BadInput, type(None)]
        assert [m.id for m in await store.list(everything(), limit=9)] == [
            memory_id(3),
            memory_id(1),
        ]

    run(body)


def test_an_event_that_grew_replaces_the_stored_one(run: Run) -> None:
    short = an_event(1, text="I have")
    long = structs.replace(short, text="I have found the cause")

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=(short, an_event(2))))
        await settle()
        await store.commit(WriteBatch(grown=(long, an_event(9))))
        for _ in range(2):
            assert [e.text for e in await store.events_by_id([long.id])] == [long.text]
            found = [e async for e in store.events_of("s1")]
            assert [e.id for e in found] == [short.id, an_event(2).id]
            assert found[0] == long
            assert (await store.stats()).events == 2
            await settle()

    run(body)


def test_events_that_were_dropped_are_gone_and_do_not_come_back(run: Run) -> None:
    goes, stays = an_event(1, text="going"), an_event(2)

    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(events=(goes, stays)))
        await settle()
        await store.commit(WriteBatch(dropped_events={goes.id: goes.agent}))
        for _ in range(2):
            assert [e.id async for e in store.events_of("s1")] == [stays.id]
            assert await store.events_by_id([goes.id, stays.id]) == (stays,)
            assert await store.events_near("s1", stays.seq, before=5, after=5) == (stays,)
            assert await store.search_events("going", EventFilter(), limit=9) == ()
            assert await store.known_events([goes.id]) == {goes.id}
            assert (await store.stats()).events == 1
            await store.commit(WriteBatch(events=(goes,)))
            await settle()

    run(body)


def a_working(session_id: str, minute: int, **fields: Any) -> WorkingState:
    return WorkingState(session_id=session_id, updated_at=at(minute), expires_at=at(900), **fields)


def test_live_states_are_kept_by_session_and_apart_from_memories(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        item = WorkingItem(
            kind="failure", text="端口被占用", at=at(1), event_id="e1", key="make up"
        )
        first = a_working("s1", 1, goal="fix", items=(item,), is_open=True)
        await store.commit(WriteBatch(working=(first, a_working("s2", 2))))
        await settle()
        assert await store.working("s1") == (first,)
        assert [state.session_id for state in await store.working()] == ["s2", "s1"]
        again = structs.replace(first, updated_at=at(3), items=())
        await store.commit(WriteBatch(working=(again,), working_gone=("s2", "s9")))
        await settle()
        assert await store.working() == (again,)
        assert (await store.stats()).memories_by["layer"] == {}

    run(body)


def test_notes_of_background_work_are_set_and_removed_by_name(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        await store.commit(WriteBatch(progress={"tries:a": "1", "tries:b": "2", "other": "x"}))
        await settle()
        assert await store.progress("tries:") == {"tries:a": "1", "tries:b": "2"}
        await store.commit(WriteBatch(progress={"tries:a": "", "tries:b": "3"}))
        await settle()
        assert await store.progress("") == {"other": "x", "tries:b": "3"}

    run(body)


def test_the_judge_keeps_its_queue_its_costs_and_its_answers(run: Run) -> None:
    async def body(store: Store, settle: Settle) -> None:
        late, soon = (
            JudgeJob(id=memory_id(n), session_id="s", digest=f"d{n}", at=at(n)) for n in (9, 2)
        )
        use = JudgeUse(day="2026-03-01", purpose="distil", model="m", calls=1, tokens_in=10)
        older = structs.replace(use, day="2026-02-01")
        await store.commit(
            WriteBatch(
                judge_jobs=(late, soon), judge_use=(use, older), judge_answers={"k": '{"a": 1}'}
            )
        )
        await store.commit(WriteBatch(judge_use=(structs.replace(use, failures=1, tokens_out=5),)))
        await settle()
        assert list(await store.judge_jobs()) == [soon, late]
        assert list(await store.judge_jobs(limit=1)) == [soon]
        both = structs.replace(use, calls=2, failures=1, tokens_in=20, tokens_out=5)
        assert list(await store.judge_use("2026-03-01")) == [both]
        assert list(await store.judge_use("2026-01-01")) == [older, both]
        assert await store.judge_answer("k") == '{"a": 1}'
        assert await store.judge_answer("other") is None
        again = structs.replace(soon, attempts=1, reason="no JSON", at=at(20))
        await store.commit(WriteBatch(judge_jobs=(again,), judge_done={late.id: late.digest}))
        await store.commit(WriteBatch(judge_done={again.id: "of another revision"}))
        assert list(await store.judge_jobs()) == [again]

    run(body)
