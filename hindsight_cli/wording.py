"""How memories, times and sizes read in the output of several commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hindsight_cli import when
from hindsight_daemon.clock import parse_time

if TYPE_CHECKING:
    # `output` uses the words of this module, too.
    from hindsight_cli.output import Output


def size(count_bytes: float) -> str:
    """Return a number of bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count_bytes < 1024:
            return f"{count_bytes:.0f} {unit}" if unit == "B" else f"{count_bytes:.1f} {unit}"
        count_bytes /= 1024
    return f"{count_bytes:.1f} TiB"


def span(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    parts: list[str] = []
    left = int(seconds)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def moment(text: str, out: Output) -> str:
    """Return an ISO time as an age for a terminal, else as its local day."""
    at = parse_time(text) if text else None
    if at is None:
        return ""
    now = when.local_now()
    return when.age(at, now) if out.is_terminal else at.astimezone(now.tzinfo).date().isoformat()


def exact(text: str) -> str:
    """Return an ISO time as local date and minute."""
    at = parse_time(text) if text else None
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M")


def exact_second(text: str) -> str:
    """Return an ISO time as local date, minute and second."""
    at = parse_time(text) if text else None
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def short_id(memory: Mapping[str, Any]) -> str:
    """Return the id that is enough to name a memory."""
    return str(memory.get("short_id") or memory["id"])


def project_name(path: str) -> str:
    """Return the last part of a project's path."""
    return path.rstrip("/").rpartition("/")[2]


def memory_rows(memories: list[dict[str, Any]], out: Output) -> list[list[str]]:
    """Return id, date, kind, project and text of memories as cells of a table.

    The standing is told with the kind where it is out of the ordinary.
    """
    return [
        [
            short_id(memory),
            moment(str(memory.get("valid_from") or memory["created_at"]), out),
            _kind(memory),
            project_name(str(memory["project"])) or "-",
            str(memory["text"]),
        ]
        for memory in memories
    ]


def _kind(memory: Mapping[str, Any]) -> str:
    status = str(memory["status"])
    plain = status in ("unverified", "valid")
    return str(memory["kind"]) if plain else f"{memory['kind']} ({status})"


MEMORY_HEADINGS = ("ID", "DATE", "KIND", "PROJECT", "TEXT")
