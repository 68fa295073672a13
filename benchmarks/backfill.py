"""How fast, how small and how quietly transcripts go in.

    python -m benchmarks.backfill [--mb N] [--sessions N] [--data DIR] [--json OUT]

Generates mixed sessions (`benchmarks.sessions`), reads them without embedding through a real
daemon, and then asks how small sessions, recalls beside a backfill, followed files and new lines
do. With `--data` the transcripts of a folder are read over and over under fresh session ids
instead of generated ones. `--only` names the parts to run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.daemon import daemon_in, temporary_home
from benchmarks.processes import Peak, cpu_s, idle_share, pause, pin_to_one_core
from benchmarks.report import machine, progress, save, table
from benchmarks.sessions import lines_of, write_mixed, write_small
from hindsight_daemon.client import Client
from hindsight_daemon.protocol.params import Progress

_SEED_BYTES = 12_000_000
_RECALLS = 60
_ACTIVE_FILES = 50
_FRESH_LINES = 20
_WORDS = (
    "failing test in the socket module",
    "why does the parser raise",
    "how is the cache turned off",
    "数据库连接池的上限",
    "refactor the logging code",
    "what did we decide about the client",
)


def _figures(pid: int, size_bytes: int, folder: Path, client: Client) -> tuple[dict[str, Any], Any]:
    used, started = cpu_s(pid), time.monotonic()
    read_cpu_s: list[float] = []

    def on_progress(progress: Progress) -> None:
        # The first word of learning: by then all events are stored and searchable.
        if progress.stage == "consolidate" and not read_cpu_s:
            read_cpu_s.append(cpu_s(pid) - used)

    with Peak(pid) as peak:
        report = client.ingest((str(folder),), on_progress=on_progress)
    took_s = time.monotonic() - started
    spent_s = cpu_s(pid) - used
    read_s = read_cpu_s[0] if read_cpu_s else spent_s
    return {
        "events_mb_per_s": round(size_bytes / 1e3 / report.read_ms, 2),
        "events_mb_per_cpu_s": round(size_bytes / 1e6 / read_s, 2),
        "lessons_cpu_s": round(spent_s - read_s, 2),
        "lessons_mb_per_cpu_s": round(size_bytes / 1e6 / max(spent_s - read_s, 0.01), 2),
        "mb": round(size_bytes / 1e6, 1),
        "took_s": round(took_s, 2),
        "mb_per_s": round(size_bytes / 1e6 / took_s, 2),
        "cpu_s": round(spent_s, 2),
        "mb_per_cpu_s": round(size_bytes / 1e6 / spent_s, 2),
        "peak_rss_mb": round(peak.all_bytes / 1e6),
        "peak_rss_daemon_mb": round(peak.own_bytes / 1e6),
    }, report


def _ingested(folder: Path, *, one_core: bool) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    with daemon_in(folder.parent) as client:
        pid = client.status().pid
        if one_core:
            pin_to_one_core(pid)
        figures, report = _figures(pid, size, folder, client)
        failed = [one for one in report.files if one.error]
        if failed:
            progress(f"{len(failed)} files failed, such as {failed[0].path}: {failed[0].error}")
        started = time.monotonic()
        client.sync(vectors=False)
        return figures | {
            "folded_after_s": round(time.monotonic() - started, 2),
            "files": len(report.files),
            "events": sum(one.events for one in report.files),
            "turns": report.turns,
            "episodes": report.episodes,
            "memories": report.memories,
        }


@contextlib.contextmanager
def _home(*, watch: bool = False) -> Iterator[Path]:
    with temporary_home({"HINDSIGHT_EMBED_MODEL": "none"}) as home:
        # Installed packages have their byte code; compiling anew costs each process a second.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if watch:
            # The agents' default folders lie below HOME.
            os.environ["HOME"] = str(home)
            os.environ["HINDSIGHT_WATCH"] = "true"
        yield home


def _written(folder: Path, size_bytes: int, data: str) -> None:
    folder.mkdir()
    if data:
        _repeat(Path(data), folder, size_bytes)
    else:
        write_mixed(folder, size_bytes)


def _repeat(data: Path, folder: Path, size_bytes: int) -> None:
    """Copy the line transcripts of a folder under fresh ids until there are so many bytes."""
    found = sorted(path for path in data.rglob("*.jsonl") if path.stat().st_size > 20_000)
    written, number = 0, 0
    while written < size_bytes:
        for path in found:
            number += 1
            text = path.read_text("utf-8", "replace")
            for old in set(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-", text)):
                text = text.replace(old, f"{number:08x}-{old[9:]}")
            text = re.sub(r'"(id|parentId)":"([0-9a-f]{8})"', rf'"\1":"\g<2>{number:x}"', text)
            copy = folder / f"{number:06d}-{path.name}"
            copy.write_text(text, "utf-8")
            written += copy.stat().st_size
            if written >= size_bytes:
                break


def measure_bulk(size_mb: float, data: str, *, one_core: bool) -> dict[str, Any]:
    """Measure one call of `ingest` over `size_mb` of mixed transcripts."""
    progress(f"backfill of {size_mb:g} MB{' on one core' if one_core else ''}")
    with _home() as home:
        _written(home / "transcripts", int(size_mb * 1e6), data)
        return _ingested(home / "transcripts", one_core=one_core)


def measure_small(count: int) -> dict[str, Any]:
    """Measure `count` small sessions in one call of `ingest`."""
    progress(f"{count} small sessions")
    with _home() as home:
        folder = home / "transcripts"
        folder.mkdir()
        write_small(folder, count)
        return _ingested(folder, one_core=False)


def _asked(client: Client, until: Callable[[int], bool]) -> list[float]:
    times: list[float] = []
    while not until(len(times)):
        query = f"{_WORDS[len(times) % len(_WORDS)]} {len(times)}"
        started = time.perf_counter()
        client.recall(query, all_projects=True, limit=10)
        times.append((time.perf_counter() - started) * 1000)
        pause(0.1)
    return times


def _spread(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=20, method="inclusive")
    return {"p50_ms": round(cuts[9], 1), "p95_ms": round(cuts[18], 1), "n": len(times)}


def measure_recalls(size_mb: float) -> dict[str, Any]:
    """Measure recalls on a quiet daemon and beside a backfill."""
    progress(f"recalls beside a backfill of {size_mb:g} MB")
    with _home() as home:
        seed, more = home / "seed", home / "more"
        seed.mkdir()
        more.mkdir()
        write_mixed(seed, _SEED_BYTES)
        write_mixed(more, int(size_mb * 1e6), first=50_000)
        with daemon_in(home) as client:
            client.ingest((str(seed),))
            client.sync(vectors=False)
            _asked(client, lambda n: n >= 10)
            quiet = _asked(client, lambda n: n >= _RECALLS)
            done = threading.Event()

            def backfill() -> None:
                with Client(timeout_s=3600.0, client_name="benchmark") as other:
                    other.ingest((str(more),))
                done.set()

            thread = threading.Thread(target=backfill)
            thread.start()
            beside = _asked(client, lambda n: done.is_set() and n >= 20)
            thread.join()
    found = {"quiet": _spread(quiet), "beside": _spread(beside)}
    return {**found, "ratio_p95": round(found["beside"]["p95_ms"] / found["quiet"]["p95_ms"], 2)}


def measure_following(seconds: float) -> dict[str, Any]:
    """Measure following of active files: the share of a core, and how soon lines are found."""
    progress(f"following {_ACTIVE_FILES} files")
    with _home(watch=True) as home:
        folder = home / ".claude" / "projects" / "-home-dev-shop"
        folder.mkdir(parents=True)
        sessions = [list(lines_of("claude-code", n, 60_000)) for n in range(_ACTIVE_FILES)]
        paths = [folder / f"{json.loads(s[0])['sessionId']}.jsonl" for s in sessions]
        for path, lines in zip(paths, sessions, strict=True):
            path.write_text("".join(lines), encoding="utf-8")
        with daemon_in(home) as client:
            pid = client.status().pid
            _until(lambda: client.stats().events > 10 * _ACTIVE_FILES, 60.0)
            client.sync(vectors=False)
            pause(15.0)  # the readers' look after the first reading
            idle = idle_share(pid, seconds)
            waits = [
                _wait_for(client, paths[n % len(paths)], n, json.loads(sessions[n % len(paths)][0]))
                for n in range(_FRESH_LINES)
            ]
            busy_ended = threading.Event()

            def write_on() -> None:
                number = _FRESH_LINES
                while not busy_ended.wait(0.2):
                    number += 1
                    where = number % len(paths)
                    _append(paths[where], json.loads(sessions[where][0]), f"line {number}", number)

            writer = threading.Thread(target=write_on)
            writer.start()
            busy = idle_share(pid, seconds)
            busy_ended.set()
            writer.join()
    return {
        "files": _ACTIVE_FILES,
        "idle_share_of_core": round(idle, 4),
        "share_at_5_lines_per_s": round(busy, 4),
        "findable_after_s": {
            "p50": round(statistics.median(waits), 3),
            "max": round(max(waits), 3),
            "n": len(waits),
        },
    }


def _append(path: Path, first: dict[str, Any], text: str, number: int) -> None:
    record = {**first, "uuid": f"{number:08x}-0000-4000-8000-000000000000", "parentUuid": None}
    record["message"] = {"role": "user", "content": text}
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(record) + "\n")


def _wait_for(client: Client, path: Path, number: int, first: dict[str, Any]) -> float:
    word = f"zq{number}marker{number * 7919}"
    _append(path, first, f"please remember the word {word} for later", number)
    started = time.monotonic()
    _until(lambda: bool(client.search(word).hits), 30.0)
    return time.monotonic() - started


def _until(is_so: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the daemon did not get there within {limit_s:g} s")
        pause(0.02)


PARTS = ("bulk", "one-core", "small", "recalls", "following")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.backfill",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mb", type=float, default=100.0, help="size of the mixed transcripts")
    parser.add_argument("--sessions", type=int, default=5000, help="number of small sessions")
    parser.add_argument("--data", default="", metavar="DIR", help="repeat these transcripts")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to watch idling")
    parser.add_argument("--only", default="", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--json", default="", metavar="OUT", help="save the figures here")
    options = parser.parse_args(arguments)
    parts = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part `{unknown.pop()}`")
    if not Path("/proc/self/stat").exists():
        parser.error("processor time is read from /proc, which this system lacks")
    runs: dict[str, Callable[[], dict[str, Any]]] = {
        "bulk": lambda: measure_bulk(options.mb, options.data, one_core=False),
        "one-core": lambda: measure_bulk(options.mb, options.data, one_core=True),
        "small": lambda: measure_small(options.sessions),
        "recalls": lambda: measure_recalls(options.mb),
        "following": lambda: measure_following(options.seconds),
    }
    document: dict[str, Any] = {name: runs[name]() for name in parts}
    document["settings"] = {"data": options.data or "generated"} | machine()
    for name, figures in document.items():
        print(f"\n## {name}\n")
        print(table(["figure", "value"], [[key, value] for key, value in figures.items()]))
    if options.json:
        save(options.json, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
