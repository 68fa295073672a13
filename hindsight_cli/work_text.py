"""How far long work is, in a few words beside a progress bar; pure."""

from __future__ import annotations

from hindsight_cli.wording import size
from hindsight_daemon.protocol.params import Progress

_IN_BYTES = frozenset(("read", "install"))
"""Stages whose amounts are bytes; those of others are pieces."""
_SURE_AFTER_S = 0.5
"""A rate over less time says nothing."""


def work_text(progress: Progress, done_here: int, elapsed_s: float) -> str:
    """Say parts, amount, rate and time left; `done_here` is what was done in `elapsed_s`."""
    in_bytes = progress.stage in _IN_BYTES
    words = [f"{progress.item}/{progress.items} files"] if in_bytes and progress.items else []
    if progress.total:
        done, total = amount(progress.done, in_bytes), amount(progress.total, in_bytes)
        # The unit is said once where it is the same.
        words.append(f"{_unitless(done, total)}/{total}")
    if done_here > 0 and elapsed_s >= _SURE_AFTER_S:
        rate = done_here / elapsed_s
        words.append(f"{amount(rate, in_bytes)}/s")
        if progress.total:
            words.append(f"{clock((progress.total - progress.done) / rate)} left")
    return "  ".join(words)


def amount(number: float, in_bytes: bool) -> str:
    """Return bytes in binary units, pieces as a plain number."""
    return size(number) if in_bytes else f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def clock(seconds: float) -> str:
    """Return a length of time as `m:ss`, from an hour on `h:mm:ss`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _unitless(done: str, total: str) -> str:
    value, _, unit = done.partition(" ")
    return value if unit and total.endswith(f" {unit}") else done
