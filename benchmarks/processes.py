"""What a running process and its children use: processor time, memory; Linux only."""

from __future__ import annotations

import os
import select
import threading
import time
from pathlib import Path

from benchmarks.daemon import rss_bytes

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_LOOK_EVERY_S = 0.1


def family_of(pid: int) -> list[int]:
    """Return a process and its children, theirs too."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            found.extend(family_of(int(child)))
    return found


def cpu_s(pid: int) -> float:
    """Return the processor time of a process and its children, ended ones included."""
    total = 0
    for one in family_of(pid):
        try:
            stat = Path(f"/proc/{one}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        fields = stat.rpartition(")")[2].split()
        own = int(fields[11]) + int(fields[12])
        total += own + int(fields[13]) + int(fields[14])
    return total / _TICKS_PER_S


def pin_to_one_core(pid: int) -> int:
    """Keep all threads of a process on one core, and children that it starts; return which."""
    core = min(os.sched_getaffinity(0))
    for one in family_of(pid):
        for thread in Path(f"/proc/{one}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})
    return core


class Peak:
    """Watches the memory of a process and its children until it is left; a context manager."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.all_bytes = 0
        self.own_bytes = 0

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            sizes = [rss_bytes(one) for one in family_of(self._pid)]
            self.own_bytes = max(self.own_bytes, sizes[0])
            self.all_bytes = max(self.all_bytes, sum(sizes))


def pause(seconds: float) -> None:
    """Let time pass."""
    select.select([], [], [], seconds)


def idle_share(pid: int, seconds: float) -> float:
    """Return which share of a core a process and its children use in the next `seconds`."""
    used, started = cpu_s(pid), time.monotonic()
    pause(seconds)
    return (cpu_s(pid) - used) / (time.monotonic() - started)
