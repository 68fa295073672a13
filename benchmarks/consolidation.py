"""How long it takes to consolidate many sessions, and how much memory: distilling, generalising.

Sessions are made up and written through the store package as if they had just been read: a goal, a
failing test, an explanation, an edit, a passing test. One in ten belongs to a family of five that
meet the same trouble elsewhere. Then a real daemon is told to consolidate, in one run without a
budget, and a second time, when nothing is left to do. RSS is that of the daemon with its children.

    python -m benchmarks.consolidation [--episodes 10000] [--projects 4] [--json OUT]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.daemon import daemon_in, rss_bytes, temporary_home
from benchmarks.synthetic import Words
from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.model import Event, Origin, SessionState, ToolUse
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import WriteBatch

_START = datetime(2026, 1, 1, tzinfo=UTC)
_FAMILY = 5
_BATCH = 100
_SAMPLE_S = 0.2
_CONFIG = """
[consolidate]
every_s = 0
max_items = 1000000
max_s = 36000
"""
_ERRORS = (
    "TimeoutError: lock wait timeout on table {name}",
    "ConnectionError: pool {name} exhausted",
    "ValueError: unknown field {name} in payload",
    "KeyError: '{name}'",
    "PermissionError: cannot write {name}.lock",
)


class Told:
    """Says what one session is about; members of a family differ in their names only."""

    def __init__(self, words: Words, seed: int) -> None:
        self._words = words
        self._random = random.Random(seed)
        self._families: list[tuple[str, str, str]] = []

    def _trouble(self) -> tuple[str, str, str]:
        error = self._random.choice(_ERRORS)
        cause = f"the {self._words.sentence(2, 3)} still holds the {self._words.sentence(3, 5)}"
        fix = f"the fixture now releases the {self._words.sentence(3, 5)}"
        return error, cause, fix

    def session(self, number: int) -> tuple[str, str, str, str]:
        """Return name, error, cause and fix of the numbered session."""
        name = f"{self._words.sentence(1, 1)}_{number}"
        if number % 10 == 0:
            if number % (10 * _FAMILY) == 0:
                self._families.append(self._trouble())
            error, cause, fix = self._families[-1]
        else:
            error, cause, fix = self._trouble()
        return name, error.format(name=name), cause, fix


def events_of(number: int, told: Told, project: str) -> list[Event]:
    """Return the events of one session with one task."""
    name, error, cause, fix = told.session(number)
    session_id = f"bench-{number:06d}"
    at = _START + timedelta(minutes=7 * number)
    events: list[Event] = []

    def add(role: str, kind: str, text: str, tool: ToolUse | None = None, **more: Any) -> None:
        seq = len(events)
        events.append(
            Event(
                id=f"claude-code:{session_id}:{seq}",
                agent="claude-code",
                session_id=session_id,
                seq=seq,
                role=role,  # type: ignore[arg-type]
                kind=kind,  # type: ignore[arg-type]
                text=text,
                ts=at + timedelta(seconds=9 * seq),
                tool=tool,
                cwd=project,
                origin=Origin(path=f"/t/{session_id}.jsonl", line=seq + 1, sha256="0" * 64),
                **more,
            )
        )

    def run(command: str, output: str, code: int) -> None:
        call_id = f"c{len(events)}"
        tool = ToolUse(name="Bash", category="shell", call_id=call_id, command=command)
        add("assistant", "tool_call", "", tool)
        done = ToolUse(
            name="Bash", category="shell", call_id=call_id, command=command, exit_code=code
        )
        add("tool", "tool_result", output, done)

    test = f"pytest tests/test_{name}.py -x"
    add("user", "prompt", f"The {name} test fails, please fix it")
    run(test, f"E   {error}\n1 failed in 2.31s", 1)
    add("assistant", "text", f"The test fails because {cause}.")
    file = f"{project}/tests/{name}/conftest.py"
    edit = {"file_path": file, "old_string": "yield x", "new_string": "yield x\nx.close()"}
    tool = ToolUse(name="Edit", category="edit", call_id="e", arguments=json.dumps(edit))
    add("assistant", "tool_call", "", tool, files=(file,))
    result = ToolUse(name="Edit", category="edit", call_id="e", is_error=False)
    add("tool", "tool_result", "updated", result, files=(file,))
    run(test, "1 passed in 0.84s", 0)
    add("assistant", "text", f"Fixed: {fix}.", ends_turn=True)
    return events


async def fill(episodes: int, projects: int) -> None:
    """Write the sessions, not yet consolidated."""
    store = await open_store(resolve_paths(), StoreSettings(reserve_bytes=0), SystemClock())
    told = Told(Words(3), 3)
    for first in range(0, episodes, _BATCH):
        events: list[Event] = []
        states: list[SessionState] = []
        for number in range(first, min(episodes, first + _BATCH)):
            # Whole families share a project, as recurring trouble does.
            project = f"/work/bench{number // (10 * _FAMILY) % projects}"
            mine = events_of(number, told, project)
            events += mine
            states.append(
                SessionState(
                    session_id=mine[0].session_id,
                    agent="claude-code",
                    project=project,
                    cwd=project,
                    events=len(mine),
                    first_at=mine[0].ts,
                    last_at=mine[-1].ts,
                )
            )
        await store.commit(WriteBatch(events=tuple(events), sessions=tuple(states)))
    await store.close()


class Watch:
    """Samples the resident memory of a process and its children while work goes on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(_SAMPLE_S):
            pids = [self._pid, *_children(self._pid)]
            self.peak_bytes = max(self.peak_bytes, sum(map(rss_bytes, pids)))


def _children(pid: int) -> Iterator[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return
    yield from map(int, text.split())


def measure(episodes: int, projects: int) -> dict[str, Any]:
    """Fill a store, consolidate it twice, and return the figures."""
    with temporary_home({"HINDSIGHT_EMBED_MODEL": "none"}) as home:
        config = resolve_paths().config_file
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(_CONFIG, encoding="utf-8")
        started = time.monotonic()
        os.umask(0o077)
        asyncio.run(fill(episodes, projects))
        result: dict[str, Any] = {"episodes": episodes, "fill_s": time.monotonic() - started}
        with daemon_in(home) as client:
            pid = client.status().pid
            result["rss_before_mb"] = rss_bytes(pid) / 1e6
            for name in ("first", "again"):
                with Watch(pid) as watch:
                    started = time.monotonic()
                    cpu = _cpu_s(pid)
                    done = client.consolidate(wait=True)
                    result[name] = {
                        "s": round(time.monotonic() - started, 1),
                        "cpu_s": round(_cpu_s(pid) - cpu, 1),
                        "peak_rss_mb": round(watch.peak_bytes / 1e6),
                        "sessions": done.sessions,
                        "episodes": done.episodes,
                        "memories": done.memories,
                        "generalised": done.generalised,
                        "updated": done.updated,
                        "failed": done.failed,
                        "remaining": done.remaining,
                    }
            stats = client.stats()
            result["kinds"] = stats.memories["kind"]
            result["store_mb"] = round(stats.store["bytes"] / 1e6, 1)
    return result


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(options.episodes, options.projects)
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
