"""How long everything takes, beside floors that nothing can beat.

    python -m benchmarks.latency [--json OUT] [--sizes 1000,10000,100000] [--ingest-mb 10]
        [--clients 50]

Whole processes (median of 20) stand beside a bare `python -c pass`; recall inside the daemon
beside an exact scan of the same vectors in numpy; both are taken in the same run, because a busy
machine changes absolute figures and hardly the ratios. Memories and vectors are synthetic and
written through the store package before the daemon starts; queries are embedded by the real model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.daemon import daemon_in, rss_bytes, temporary_home
from benchmarks.metrics import percentile
from benchmarks.report import machine, progress, save, table
from benchmarks.synthetic import PROJECT, Words, claude_code_transcripts, memories, vectors
from hindsight_daemon.client import Client
from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import load_settings
from hindsight_daemon.engine.terms import terms_of
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import SearchFilter, Store, WriteBatch

RUNS = 20
QUERIES = 60
_BATCH = 1000
_DEPTH = 100
_WARM_UP = 5
_TOP = 10
_CALLS_PER_CLIENT = 4
_CLIENT_TIMEOUT_S = 120.0


def spread(values_ms: Sequence[float]) -> dict[str, float]:
    """Return p50 and p95 of times in milliseconds."""
    return {
        "p50_ms": round(percentile(values_ms, 0.5), 2),
        "p95_ms": round(percentile(values_ms, 0.95), 2),
    }


def time_processes(
    commands: Mapping[str, Sequence[str]], runs: int = RUNS
) -> dict[str, dict[str, float]]:
    """Run all commands in turn, a number of rounds; raises `CalledProcessError` if one fails.

    In turn, so that a load that comes and goes meets all of them alike.
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(
                command,
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if number:  # the first fills the page cache
                times[name].append((time.perf_counter() - started) * 1000)
    return {name: spread(values) for name, values in times.items()}


def processes(query: str) -> dict[str, dict[str, float]]:
    """Time whole processes against the warm daemon of this environment."""
    entry = shutil.which("hindsight", path=str(Path(sys.executable).parent)) or "hindsight"
    recall = [entry, "recall", "--project", PROJECT, query]
    return time_processes(
        {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import socket, json'": [sys.executable, "-c", "import socket, json"],
            "hindsight --version": [entry, "--version"],
            "hindsight recall": recall,
            "hindsight recall --json": [*recall, "--json"],
            "hindsight recall --explain": [*recall, "--explain"],
        }
    )


async def write_memories(size: int, dimension: int, embedder: str) -> dict[str, Any]:
    """Fill the store of this environment, measure its arms alone and return both figures."""
    paths = resolve_paths()
    settings = load_settings(paths.config_file)
    found = vectors(size, dimension) if embedder else None
    store = await open_store(paths, settings.store, SystemClock())
    try:
        started = time.perf_counter()
        rows = list(memories(size, Words(), found, embedder))
        for start in range(0, size, _BATCH):
            part = rows[start : start + _BATCH]
            await store.commit(
                WriteBatch(
                    memories=tuple(memory for memory, _ in part),
                    keys=tuple(key for _, key in part),
                )
            )
        await store.flush()
        written_s = time.perf_counter() - started
        started = time.perf_counter()
        await store.maintain(force=True)
        figures: dict[str, Any] = {
            "written_per_s": round(size / written_s),
            "maintenance_s": round(time.perf_counter() - started, 2),
        }
        figures["arms"] = await _arms(store, found, embedder)
        if found is not None:
            figures["numpy_exact_scan"] = _exact_scan(found)
            keys = [key.id for _, key in rows]
            figures["vector_recall_at_10"] = await _vector_recall(store, found, keys, embedder)
        figures["store_bytes"] = (await store.stats()).size_bytes
    finally:
        await store.close()
    return figures


async def _arms(store: Store, found: Any, embedder: str) -> dict[str, dict[str, float]]:
    words = Words(seed=11)
    probes = vectors(QUERIES + _WARM_UP, found.shape[1], seed=13) if found is not None else None
    times: dict[str, list[float]] = {}
    for number in range(QUERIES + _WARM_UP):
        where = SearchFilter(now=SystemClock().now(), projects=(PROJECT,))
        terms = terms_of(words.query())
        searches: dict[str, Callable[[], Awaitable[object]]] = {
            "keyword": partial(store.search_terms, terms, where, limit=_DEPTH),
            "recent": partial(store.search_recent, where, limit=_DEPTH),
        }
        if probes is not None:
            probe = probes[number].tolist()
            searches["vector"] = partial(store.search_vector, probe, embedder, where, limit=_DEPTH)
        for name, search in searches.items():
            started = time.perf_counter()
            await search()
            if number >= _WARM_UP:
                times.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        await asyncio.gather(*(search() for search in searches.values()))
        if number >= _WARM_UP:
            times.setdefault("together", []).append((time.perf_counter() - started) * 1000)
    return {name: spread(values) for name, values in times.items()}


def _exact_scan(found: Any) -> dict[str, float]:
    times: list[float] = []
    for probe in vectors(QUERIES, found.shape[1], seed=13):
        started = time.perf_counter()
        scores = found @ probe
        depth = min(_DEPTH, len(scores) - 1)
        np.argpartition(-scores, depth)[:depth]
        times.append((time.perf_counter() - started) * 1000)
    return spread(times)


async def _vector_recall(store: Store, found: Any, keys: Sequence[str], embedder: str) -> float:
    """Return the share of the exact ten nearest keys among the ten that the store names."""
    where = SearchFilter(now=SystemClock().now(), projects=(PROJECT,))
    top = min(_TOP, len(keys))
    shares: list[float] = []
    for probe in vectors(QUERIES, found.shape[1], seed=13):
        exact = {keys[row] for row in np.argsort(-(found @ probe))[:top]}
        hits = await store.search_vector(probe.tolist(), embedder, where, limit=_DEPTH)
        shares.append(len(exact & {hit.key.id for hit in hits[:top]}) / top)
    return round(sum(shares) / len(shares), 4)


def concurrent_recalls(clients: int) -> dict[str, Any]:
    """Let `clients` connections ask at once, each several queries; return whole times and errors.

    The queries differ, so each one is embedded; compare with one client's first asking.
    """
    words = Words(seed=19)
    asked = [[words.query() for _ in range(_CALLS_PER_CLIENT)] for _ in range(clients)]
    times: list[float] = []
    errors: list[str] = []
    together = threading.Barrier(clients)

    def ask(queries: Sequence[str]) -> None:
        with Client(timeout_s=_CLIENT_TIMEOUT_S, client_name="benchmark") as client:
            together.wait()
            for query in queries:
                started = time.perf_counter()
                try:
                    client.recall(query, project=PROJECT, limit=10, rerank="off")
                except HindsightError as exc:
                    errors.append(exc.message)
                else:
                    times.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=ask, args=(queries,)) for queries in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    missing = clients * _CALLS_PER_CLIENT - len(times)
    return {
        "clients": clients,
        "failed": missing,
        "errors": sorted(set(errors)),
        "client": spread(times) if times else None,
    }


def recalls(client: Client) -> dict[str, Any]:
    """Ask synthetic queries, each once and then again; return internal and whole times.

    The second asking finds its query vector in the daemon's cache, so it tells the time without
    embedding.
    """
    words = Words(seed=17)
    queries = [words.query() for _ in range(QUERIES + _WARM_UP)]
    figures: dict[str, Any] = {}
    for name in ("first_asked", "asked_again"):
        inside: list[float] = []
        outside: list[float] = []
        for number, query in enumerate(queries):
            started = time.perf_counter()
            result = client.recall(query, project=PROJECT, limit=10, rerank="off")
            if number >= _WARM_UP:
                outside.append((time.perf_counter() - started) * 1000)
                inside.append(result.took_ms)
        figures[name] = {"daemon": spread(inside), "client": spread(outside)}
    return figures


def measure_size(size: int, embedder: str, dimension: int, clients: int) -> dict[str, Any]:
    """Measure a store of `size` memories with vectors of `embedder` (none if empty).

    `clients` ask at once after one alone has; none if 0.
    """
    progress(f"{size} memories: writing")
    environment = {} if embedder else {"HINDSIGHT_EMBED_MODEL": "none"}
    with temporary_home(environment) as home:
        figures = asyncio.run(write_memories(size, dimension, embedder))
        progress(f"{size} memories: asking")
        with daemon_in(home) as client:
            status = client.status()
            figures["rss_idle_bytes"] = rss_bytes(status.pid)
            figures["recall"] = recalls(client)
            if clients:
                figures["concurrent"] = concurrent_recalls(clients)
            figures["rss_loaded_bytes"] = rss_bytes(status.pid)
            figures["pending_vectors"] = client.status().pending_vectors
        if embedder:
            # Keywords only, on the same store: what a machine without a model sees.
            os.environ["HINDSIGHT_EMBED_MODEL"] = "none"
            with daemon_in(home) as client:
                figures["recall_keywords_only"] = recalls(client)["first_asked"]
    return figures


def measure_ingest(size_mb: float) -> dict[str, Any]:
    """Measure how fast generated Claude Code transcripts go in, without vectors."""
    progress(f"ingest: {size_mb:g} MB")
    with temporary_home({"HINDSIGHT_EMBED_MODEL": "none"}) as home, daemon_in(home) as client:
        folder = home / "transcripts"
        folder.mkdir()
        paths = claude_code_transcripts(folder, int(size_mb * 1e6), Words(seed=3))
        size_bytes = sum(path.stat().st_size for path in paths)
        started = time.perf_counter()
        report = client.ingest((str(folder),), project=PROJECT)
        acknowledged_s = time.perf_counter() - started
        client.sync(vectors=False)
        folded_s = time.perf_counter() - started
        return {
            "mb": round(size_bytes / 1e6, 2),
            "files": len(paths),
            "events": report.events,
            "turns": report.turns,
            "episodes": report.episodes,
            "acknowledged_s": round(acknowledged_s, 2),
            "folded_s": round(folded_s, 2),
            "mb_per_s": round(size_bytes / 1e6 / acknowledged_s, 2),
            "events_per_s": round(report.events / acknowledged_s),
            "rss_bytes": rss_bytes(client.status().pid),
        }


def measure_processes() -> tuple[dict[str, Any], str, int]:
    """Measure whole processes; also return the active embedder and its dimension."""
    progress("whole processes")
    with temporary_home() as home, daemon_in(home) as client:
        for text in ("The staging database listens on port 5433", "部署之前先跑迁移脚本"):
            client.remember(text, project=PROJECT)
        client.sync()
        client.recall("warm up")
        embedder = client.status().embedder
        active = [model for model in client.models().models if model.active and model.dimension]
        figures = processes("which port does the database use")
        return (
            figures,
            "" if embedder == "none" else embedder,
            (active[0].dimension if active else 0),
        )


def print_report(document: dict[str, Any]) -> None:
    """Print all figures as tables."""
    bare = document["processes"]["python -c pass"]["p50_ms"]
    print("\n## Whole processes, warm daemon\n")
    print(
        table(
            ["command", "p50 ms", "p95 ms", "× bare Python"],
            [
                [name, row["p50_ms"], row["p95_ms"], f"{row['p50_ms'] / bare:.1f}"]
                for name, row in document["processes"].items()
            ],
        )
    )
    print("\n## Recall by number of memories (p50 / p95 ms)\n")
    rows = []
    for size, found in document["sizes"].items():
        recall, arms = found["recall"], found["arms"]
        rows.append(
            [
                size,
                *(
                    _pair(row)
                    for row in (
                        recall["first_asked"]["daemon"],
                        recall["asked_again"]["daemon"],
                        recall["asked_again"]["client"],
                        found.get("recall_keywords_only", recall["first_asked"])["daemon"],
                        arms["keyword"],
                        arms.get("vector"),
                        arms["recent"],
                        found.get("numpy_exact_scan"),
                    )
                ),
                found.get("vector_recall_at_10", "-"),
                _crowd(found),
                f"{found['rss_idle_bytes'] / 1e6:.0f} / {found['rss_loaded_bytes'] / 1e6:.0f}",
            ]
        )
    print(
        table(
            [
                "memories",
                "daemon, embedding",
                "daemon, embedded",
                "client, embedded",
                "keywords only",
                "keyword arm",
                "vector arm",
                "recent arm",
                "numpy scan",
                "vector recall@10",
                "many clients (p95 × one's, failed)",
                "RSS idle / loaded MB",
            ],
            rows,
        )
    )
    print("\n## Ingest of Claude Code transcripts\n")
    print(table(list(document["ingest"]), [list(document["ingest"].values())]))


def _pair(row: dict[str, float] | None) -> str:
    return "-" if row is None else f"{row['p50_ms']:.1f} / {row['p95_ms']:.1f}"


def _crowd(found: dict[str, Any]) -> str:
    crowd = found.get("concurrent")
    if crowd is None or crowd["client"] is None:
        return "-" if crowd is None else f"all failed, {crowd['failed']}"
    alone_ms = found["recall"]["first_asked"]["client"]["p95_ms"]
    ratio = crowd["client"]["p95_ms"] / alone_ms
    return f"{_pair(crowd['client'])} ({ratio:.1f} ×, {crowd['failed']})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", default="", metavar="OUT", help="save the figures here")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of memories")
    parser.add_argument("--ingest-mb", type=float, default=10.0, help="size of the transcripts")
    parser.add_argument("--clients", type=int, default=50, help="how many ask at once (0: none)")
    parser.add_argument("--embedder", choices=("auto", "none"), default="auto")
    options = parser.parse_args(arguments)
    try:
        sizes = [int(size) for size in options.sizes.split(",") if size]
    except ValueError:
        parser.error(f"`{options.sizes}` are not numbers")
    timed, embedder, dimension = measure_processes()
    if options.embedder == "none":
        embedder = ""
    document: dict[str, Any] = {
        "processes": timed,
        "sizes": {
            str(size): measure_size(size, embedder, dimension, options.clients) for size in sizes
        },
        "ingest": measure_ingest(options.ingest_mb),
        "settings": {"embedder": embedder or "none", "queries": QUERIES, "runs": RUNS} | machine(),
    }
    print_report(document)
    if options.json:
        save(options.json, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
