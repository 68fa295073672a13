"""What a store is after its process was killed, its files were damaged or the disk was full."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hindsight_daemon.errors import DiskFull, StorageFailed, StoreTooNew
from hindsight_daemon.store.fold import FAILURES_BEFORE_SIFTING
from hindsight_daemon.store.journal import connect
from hindsight_daemon.store.lance_store import LanceStore
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import StoreProblem, WriteBatch
from hindsight_daemon.store.selfcheck import newest_manifests
from tests.support.store_builders import (
    SETTINGS,
    FixedClock,
    a_change,
    a_key,
    a_memory,
    a_session,
    a_tombstone,
    an_event,
    everything,
    memory_id,
    test_paths,
)

pytestmark = pytest.mark.fault
ROOT = Path(__file__).resolve().parents[2]


def with_store(
    body: Callable[[LanceStore], Awaitable[Any]],
    *,
    read_only: bool = False,
    settings: Any = SETTINGS,
) -> Any:
    """Open the test's store, run the body, close it, return what the body returned."""

    async def run() -> Any:
        store = await open_store(test_paths(), settings, FixedClock(), read_only=read_only)
        assert isinstance(store, LanceStore)
        try:
            return await body(store)
        finally:
            await store.close()

    return asyncio.run(run())


def run_child(point: str, count: int, kill_after_lines: int = 0) -> list[tuple[str, str, int]]:
    """Run the writing child until it dies; return what it told."""
    command = [sys.executable, "-m", "tests.support.store_child", point, str(count)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "daemon")])}
    told: list[tuple[str, str, int]] = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            word, operation, number = line.split()
            told.append((word, operation, int(number)))
            if kill_after_lines and len(told) == kill_after_lines:
                child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    return told


def assert_nothing_lost(told: list[tuple[str, str, int]]) -> None:
    """Compare the reopened store with what was acknowledged."""
    versions: dict[int, int] = {}
    for word, operation, number in told:
        if word == "ack" and operation != "open":
            versions[number] = {"add": 1, "put": 2, "del": 0}[operation]
    assert versions
    unsure = {told[-1][2]} if told[-1][0] == "try" else set()
    ids = {memory_id(n): n for n in versions}

    async def body(store: LanceStore) -> None:
        for _ in range(2):
            found = {ids[m.id]: m.version for m in (await store.get(list(ids))).values()}
            for number in set(versions) - unsure:
                assert found.get(number, 0) == versions[number], number
            listed = await store.list(everything(), limit=10_000)
            hits = await store.search_terms(["memory"], everything(), limit=10_000)
            hit_ids = [hit.key.memory_id for hit in hits]
            assert sorted(hit_ids) == sorted(m.id for m in listed)
            assert [p for p in await store.check() if p.severity == "error"] == []
            await store.flush()
            events = [e.id async for e in store.events_of("s1")]
            assert len(events) == len(set(events)) == (await store.stats()).events
            await store.maintain(force=True)

    with_store(body)


@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("committed", 3),
        ("committed", 77),
        ("written", 1),
        ("written", 2),
        ("written", 9),
        ("synced", 1),
        ("synced", 8),
        ("compacting", 1),
        ("compacting", 5),
    ],
)
def test_a_kill_at_any_commit_point_loses_and_doubles_nothing(point: str, count: int) -> None:
    assert_nothing_lost(run_child(point, count))


def test_a_kill_at_any_moment_and_again_after_restart_loses_nothing() -> None:
    first = run_child("never", 1, kill_after_lines=151)
    assert_nothing_lost(first)
    again = run_child("never", 1, kill_after_lines=240)
    assert_nothing_lost(again)


def fill(count: int = 20) -> None:
    """Write some memories with all that belongs to them, each batch folded on its own."""

    async def body(store: LanceStore) -> None:
        for n in range(count):
            memory = a_memory(n)
            await store.commit(
                WriteBatch(
                    memories=(memory,),
                    keys=(a_key(memory, vector=(1.0, n / count)),),
                    events=(an_event(n),),
                    history=(a_change(memory, n),),
                )
            )
            if n % 5 == 4:
                await store.flush()

    with_store(body)


def problems_at_open() -> list[StoreProblem]:
    """Open the store, let it settle, return what it found."""

    async def body(store: LanceStore) -> list[StoreProblem]:
        return list(await store.check())

    return list(with_store(body))


def assert_whole(count: int = 20) -> None:
    """Check that every memory of `fill` is there, by every way to it."""

    async def body(store: LanceStore) -> None:
        ids = [memory_id(n) for n in range(count)]
        assert list(await store.get(ids)) == ids
        hits = await store.search_terms(["memory"], everything(), limit=100)
        assert {hit.key.memory_id for hit in hits} == set(ids)
        near = await store.search_vector((1.0, 0.0), "test-model@1", everything(), limit=100)
        assert len(near) == count
        assert [e.seq async for e in store.events_of("s1")] == list(range(count))

    with_store(body)


@pytest.mark.parametrize("table", ["memories", "keys", "events"])
@pytest.mark.parametrize("damage", ["zeros", "empty", "cut"])
def test_a_damaged_newest_manifest_is_set_aside_and_its_rows_replayed(
    table: str, damage: str
) -> None:
    fill()
    folder = test_paths().store_dir / f"{table}.lance"
    newest = newest_manifests(folder)[0]
    content = newest.read_bytes()
    newest.write_bytes({"zeros": bytes(len(content)), "empty": b"", "cut": content[:-9]}[damage])
    found = problems_at_open()
    assert {p.severity for p in found} == {"repaired"}
    assert found[0].where == table
    assert list(folder.glob("_versions/*.corrupt-*"))
    assert_whole()


def test_a_table_without_any_sound_version_begins_anew_and_says_what_is_lost() -> None:
    fill(5)
    folder = test_paths().store_dir / "memories.lance"
    for manifest in newest_manifests(folder):
        manifest.write_bytes(b"")
    found = problems_at_open()
    assert any(p.where == "memories" and p.severity == "error" for p in found)
    assert list(test_paths().store_dir.glob("memories.lance.corrupt-*"))
    assert_whole(5)  # few enough to be replayed whole


@pytest.fixture
def damaged_journal() -> Iterator[Path]:
    """Give the path of a journal that a test damages while no store is open."""
    fill()

    async def more(store: LanceStore) -> None:
        await store.commit(
            WriteBatch(
                tombstones=(a_tombstone(50),),
                removed=(memory_id(19),),
                sessions=(a_session("s1", events=20),),
            )
        )

    with_store(more)
    return test_paths().journal_file


def test_a_journal_of_garbage_is_kept_aside_and_the_tables_still_serve(
    damaged_journal: Path,
) -> None:
    damaged_journal.write_bytes(b"not a database at all" * 1000)
    found = problems_at_open()
    assert {p.severity for p in found} == {"repaired", "warning"}
    assert len(list(damaged_journal.parent.glob("journal.db.corrupt-*"))) == 1

    async def body(store: LanceStore) -> None:
        assert len(await store.list(everything(), limit=100)) == 19
        assert await store.get([memory_id(19)]) == {}
        assert [t.memory_id for t in await store.tombstones()] == [memory_id(50)]
        assert await store.known_events([an_event(3).id]) == {an_event(3).id}
        session = await store.session("s1")
        assert session is not None
        assert session.events == 20
        assert await store.keys_without_vector("test-model@1", limit=9) == ()
        await store.commit(WriteBatch(memories=(a_memory(30),)))
        assert len(await store.list(everything(), limit=100)) == 20

    with_store(body)


def test_a_journal_with_damaged_pages_gives_back_what_can_be_read(damaged_journal: Path) -> None:
    with damaged_journal.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size - 8192)
        file.write(os.urandom(8192))
    db = connect(damaged_journal, read_only=False)
    db.execute("DELETE FROM note WHERE name = 'closed'")  # as after a crash
    db.close()
    with_store(lambda store: store.list(everything(), limit=100))

    async def body(store: LanceStore) -> None:
        assert len(await store.list(everything(), limit=100)) == 19
        assert await store.get([memory_id(19)]) == {}

    with_store(body)


def test_a_lost_journal_is_built_anew_from_the_tables(damaged_journal: Path) -> None:
    damaged_journal.unlink()
    found = problems_at_open()
    assert [p.severity for p in found] == ["repaired"]

    async def body(store: LanceStore) -> None:
        assert len(await store.list(everything(), limit=100)) == 19
        assert len(await store.tombstones()) == 1

    with_store(body)


def test_a_torn_write_ahead_log_loses_only_what_was_torn() -> None:
    async def body(store: LanceStore) -> None:
        for n in range(6):
            await store.commit(WriteBatch(memories=(a_memory(n),)))
        journal = test_paths().journal_file
        log = journal.with_name("journal.db-wal").read_bytes()
        copy = test_paths().data_dir / "copy"
        copy.mkdir()
        (copy / "journal.db").write_bytes(journal.read_bytes())
        (copy / "journal.db-wal").write_bytes(log[: len(log) - 5000])

    with_store(body)
    db = connect(test_paths().data_dir / "copy" / "journal.db", read_only=False)
    assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
    found = [row[0] for row in db.execute("SELECT id FROM memory ORDER BY id")]
    db.close()
    assert found == [memory_id(n) for n in range(len(found))]
    assert 0 < len(found) < 6


def test_a_store_of_a_newer_program_is_left_alone() -> None:
    fill(1)
    db = connect(test_paths().journal_file, read_only=False)
    db.execute("PRAGMA user_version = 999")
    db.close()
    for read_only in (False, True):
        with pytest.raises(StoreTooNew):
            with_store(lambda store: store.stats(), read_only=read_only)


def test_a_reader_sees_folded_and_pending_rows_of_a_store_that_another_process_holds() -> None:
    fill(5)

    async def body(store: LanceStore) -> None:
        await store._folder.flush()
        async with store._folder._lock:  # a daemon that hangs folds no more
            memory = a_memory(7)
            await store.commit(WriteBatch(memories=(memory,), keys=(a_key(memory, "pending"),)))
            reader = await open_store(test_paths(), SETTINGS, FixedClock(), read_only=True)
            try:
                assert len(await reader.list(everything(), limit=9)) == 6
                assert len(await reader.get([memory_id(2), memory_id(7)])) == 2
                assert len(await reader.search_terms(["pending"], everything(), limit=9)) == 1
                assert len(await reader.search_terms(["memory"], everything(), limit=9)) == 5
                assert (await reader.stats()).pending_fold == 2
                with pytest.raises(StorageFailed):
                    await reader.commit(WriteBatch(memories=(a_memory(8),)))
            finally:
                await reader.close()

    with_store(body)


def test_a_reserve_of_free_space_is_left_and_reads_go_on() -> None:
    fill(3)
    greedy = structs.replace(SETTINGS, reserve_bytes=1 << 60)

    async def body(store: LanceStore) -> None:
        with pytest.raises(DiskFull):
            await store.commit(WriteBatch(memories=(a_memory(5),)))
        assert len(await store.list(everything(), limit=9)) == 3

    with_store(body, settings=greedy)


def test_a_row_of_the_wrong_type_does_not_keep_the_others_out() -> None:
    async def body(store: LanceStore) -> None:
        wrong: Any = "not a number"
        await store.commit(WriteBatch(memories=(a_memory(1, source_turn=wrong), a_memory(2))))
        for _ in range(FAILURES_BEFORE_SIFTING + 1):
            with contextlib.suppress(StorageFailed):
                await store.flush()
        stats = await store.stats()
        assert (stats.pending_fold, stats.tables["memories"].rows) == (0, 1)
        assert any(memory_id(1) in problem.what for problem in await store.check())

    with_store(body)


def test_failing_folds_are_told_and_what_was_committed_stays_readable() -> None:
    async def body(store: LanceStore) -> None:
        async def refuse(*_: Any, **__: Any) -> None:
            raise StorageFailed("table `memories`: broken")

        store._lance.write = refuse  # type: ignore[method-assign]
        memory = a_memory(1)
        await store.commit(WriteBatch(memories=(memory,), keys=(a_key(memory),)))
        with pytest.raises(StorageFailed):
            await store.flush()
        stats = await store.stats()
        assert (stats.pending_fold, stats.maintenance_failures > 0) == (2, True)
        assert "broken" in stats.last_failure
        assert await store.get([memory.id]) == {memory.id: memory}
        assert len(await store.search_terms(["memory"], everything(), limit=5)) == 1

    with_store(body)
    assert list(with_store(lambda store: store.get([memory_id(1)]))) == [memory_id(1)]


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """Mount a 16 MB disk where the data go, or skip."""
    folder = home / "data"
    folder.mkdir(parents=True, mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_acknowledged(small_disk: Path) -> None:
    acknowledged: list[str] = []

    async def write_until_full(store: LanceStore) -> None:
        for n in range(2000):
            memory = a_memory(n, os.urandom(20_000).hex())
            await store.commit(WriteBatch(memories=(memory,)))
            acknowledged.append(memory.id)

    async def body(store: LanceStore) -> None:
        with pytest.raises(DiskFull):
            await write_until_full(store)
        assert acknowledged
        assert len(await store.get(acknowledged)) == len(acknowledged)

    with_store(body)
    assert small_disk.is_dir()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)

    async def after(store: LanceStore) -> None:
        assert len(await store.get(acknowledged)) == len(acknowledged)
        await store.flush()
        await store.commit(WriteBatch(memories=(a_memory(5000),)))
        assert [p for p in await store.check() if p.severity == "error"] == []

    with_store(after)
