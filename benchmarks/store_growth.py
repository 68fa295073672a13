"""How the store grows and how fast it stays: single commits, then searches at several sizes.

`python -m benchmarks.store_growth [--commits 5000] [--events 40000] [--sizes 10000,100000]
[--json OUT]`. Synthetic data: 384-d clustered unit vectors, 40 Zipf words a key, 50 projects.
Everything happens in a temporary folder. Latencies are p50/p95 in milliseconds of one caller on
one event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.model import Event, Key, Memory, Origin
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import SearchFilter, Store, WriteBatch

DIMENSION = 384
MODEL = "synthetic@1"
_CLUSTERS = 500
_BATCH = 250


class Source:
    """Draws memories, keys and queries from one distribution."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = self._rng.standard_normal((_CLUSTERS, DIMENSION)).astype(np.float32)
        self._number = 0

    def vector(self) -> tuple[float, ...]:
        """Return a unit vector near one of the centres."""
        centre = self._centres[self._rng.integers(_CLUSTERS)]
        drawn = centre + 0.7 * self._rng.standard_normal(DIMENSION).astype(np.float32)
        return tuple((drawn / np.linalg.norm(drawn)).tolist())

    def words(self, count: int) -> str:
        """Return words whose frequencies follow Zipf's law."""
        return " ".join(f"w{min(int(x), 50_000)}" for x in self._rng.zipf(1.3, count))

    def pair(self, *, with_vector: bool) -> tuple[Memory, Key]:
        """Return a memory with its key."""
        self._number += 1
        now = datetime.now(UTC)
        memory = Memory(
            id=new_id(now),
            layer="semantic",
            kind="lesson",
            text=self.words(30),
            created_at=now,
            updated_at=now,
            project=f"/home/dev/p{self._number % 50}",
            session_id=f"s{self._number // 20}",
            content_hash=str(self._number),
        )
        key = Key(
            id=new_id(now),
            memory_id=memory.id,
            key_kind="text",
            text=memory.text,
            terms=self.words(40),
            created_at=now,
            kind=memory.kind,
            layer=memory.layer,
            project=memory.project,
            session_id=memory.session_id,
            vector=self.vector() if with_vector else None,
            embedder=MODEL if with_vector else "",
        )
        return memory, key


def rss_mb() -> float:
    """Return this process's resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


async def timed(action: Callable[[], Awaitable[Any]], repeats: int = 40) -> dict[str, float]:
    """Return p50 and p95 of an action in milliseconds."""
    taken: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        await action()
        taken.append((time.perf_counter() - started) * 1e3)
    taken.sort()
    return {"p50": round(taken[len(taken) // 2], 2), "p95": round(taken[int(len(taken) * 0.95)], 2)}


async def latencies(store: Store, source: Source, ids: list[str]) -> dict[str, Any]:
    """Time the reads that a recall is made of, with and without a project filter."""
    rng = np.random.default_rng(1)
    everywhere = SearchFilter(now=datetime.now(UTC), not_statuses=("archived", "superseded"))
    project = SearchFilter(now=datetime.now(UTC), projects=("p7",))

    def some(count: int) -> list[str]:
        return [ids[i] for i in rng.integers(len(ids), size=count)]

    def by_vector(where: SearchFilter) -> Awaitable[Any]:
        return store.search_vector(source.vector(), MODEL, where, limit=50)

    def by_terms(where: SearchFilter) -> Awaitable[Any]:
        return store.search_terms(source.words(8).split(), where, limit=50)

    return {
        "get 20": await timed(lambda: store.get(some(20))),
        "vector": await timed(lambda: by_vector(everywhere)),
        "vector, project": await timed(lambda: by_vector(project)),
        "terms": await timed(lambda: by_terms(everywhere)),
        "terms, project": await timed(lambda: by_terms(project)),
        "recent": await timed(lambda: store.search_recent(project, limit=50)),
        "both arms": await timed(lambda: asyncio.gather(by_vector(project), by_terms(project))),
        "stats": await timed(store.stats, 10),
        "rss_mb": round(rss_mb()),
    }


async def describe(store: Store) -> dict[str, Any]:
    """Return size, fragments and versions."""
    stats = await store.stats()
    return {
        "mb": round(stats.size_bytes / 1e6, 1),
        "fragments": {name: table.fragments for name, table in stats.tables.items()},
        "versions": {name: table.versions for name, table in stats.tables.items()},
        "maintenance": [stats.maintenance_runs, stats.maintenance_failures, stats.last_failure],
    }


async def _opened(folder: str) -> Store:
    paths = resolve_paths({"HINDSIGHT_HOME": folder, "HOME": folder})
    return await open_store(paths, StoreSettings(), SystemClock())


async def single_commits(folder: str, commits: int) -> dict[str, Any]:
    """Commit one memory at a time, timing reads at the start, at the end and when settled."""
    store, source = await _opened(folder), Source(1)
    ids: list[str] = []
    taken: list[float] = []
    result: dict[str, Any] = {}
    for number in range(commits):
        memory, key = source.pair(with_vector=True)
        started = time.perf_counter()
        await store.commit(WriteBatch(memories=(memory,), keys=(key,)))
        taken.append((time.perf_counter() - started) * 1e3)
        ids.append(memory.id)
        if number == 499:
            await store.flush()
            result["after 500"] = await latencies(store, source, ids)
    taken.sort()
    result["commit"] = {"p50": taken[len(taken) // 2], "p95": taken[int(len(taken) * 0.95)]}
    await store.flush()
    result[f"after {commits}"] = await latencies(store, source, ids)
    result["size"] = await describe(store)
    await store.maintain(force=True)
    result["settled"] = await latencies(store, source, ids)
    result["settled size"] = await describe(store)
    await store.close()
    return result


async def ingest(folder: str, count: int) -> dict[str, Any]:
    """Commit transcript events in batches as the tailer does, then read a session back."""
    store, source = await _opened(folder), Source(3)
    text = [source.words(250) for _ in range(200)]
    size = 0
    started = time.perf_counter()
    for first in range(0, count, _BATCH):
        events = tuple(
            Event(
                id=f"claude-code:{first + n}",
                agent="claude-code",
                session_id=f"s{first // 2000}",
                seq=first + n,
                role="assistant",
                kind="text",
                text=text[n % len(text)],
                ts=datetime.now(UTC),
                origin=Origin(path="/t.jsonl", line=n, sha256="0" * 64),
            )
            for n in range(_BATCH)
        )
        size += sum(len(msgspec.json.encode(event)) for event in events)
        await store.known_events([event.id for event in events])
        await store.commit(WriteBatch(events=events))
    committed = time.perf_counter() - started
    await store.flush()
    folded = time.perf_counter() - started
    started = time.perf_counter()
    read = len([event async for event in store.events_of("s1")])
    result = {
        "mb": round(size / 1e6, 1),
        "mb_per_s": round(size / 1e6 / folded, 1),
        "acknowledged_mb_per_s": round(size / 1e6 / committed, 1),
        "read_events": read,
        "read_ms": round((time.perf_counter() - started) * 1e3),
        "rss_mb": round(rss_mb()),
        "size": await describe(store),
    }
    await store.close()
    return result


async def at_size(folder: str, rows: int) -> dict[str, Any]:
    """Fill the store in batches to a size, let it settle, and time reads."""
    store, source = await _opened(folder), Source(2)
    ids: list[str] = []
    started = time.perf_counter()
    while len(ids) < rows:
        pairs = [source.pair(with_vector=True) for _ in range(min(_BATCH, rows - len(ids)))]
        await store.commit(
            WriteBatch(memories=tuple(m for m, _ in pairs), keys=tuple(k for _, k in pairs))
        )
        ids += [memory.id for memory, _ in pairs]
    await store.flush()
    result: dict[str, Any] = {"fill_s": round(time.perf_counter() - started, 1)}
    result["unsettled size"] = await describe(store)
    started = time.perf_counter()
    while await store.maintain(force="settle_s" not in result):
        result["settle_s"] = round(time.perf_counter() - started, 1)
    result.update(await latencies(store, source, ids))
    result["size"] = await describe(store)
    await store.close()
    started = time.perf_counter()
    store = await _opened(folder)
    result["reopen_s"] = round(time.perf_counter() - started, 2)
    await store.close()
    return result


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=5000)
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.commits:
        with tempfile.TemporaryDirectory() as folder:
            results["single commits"] = asyncio.run(single_commits(folder, options.commits))
            print(json.dumps(results, indent=1), flush=True)
    if options.events:
        with tempfile.TemporaryDirectory() as folder:
            results["ingest"] = asyncio.run(ingest(folder, options.events))
            print(json.dumps(results["ingest"], indent=1), flush=True)
    for size in [int(text) for text in options.sizes.split(",") if text]:
        with tempfile.TemporaryDirectory() as folder:
            results[f"{size} keys"] = asyncio.run(at_size(folder, size))
            print(json.dumps(results[f"{size} keys"], indent=1), flush=True)
    results["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
