"""Reads the end of the daemon's log and follows it; knows rotation, not colours."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_POLL_S = 0.25
_BLOCK_BYTES = 1 << 16


def last_lines(path: Path, count: int) -> list[str]:
    """Return the last `count` lines; empty if there is no log."""
    try:
        with path.open("rb") as log:
            log.seek(0, os.SEEK_END)
            left, data = log.tell(), b""
            while left > 0 and data.count(b"\n") <= count:
                step = min(_BLOCK_BYTES, left)
                left -= step
                log.seek(left)
                data = log.read(step) + data
    except FileNotFoundError:
        return []
    return data.decode("utf-8", "replace").splitlines()[-count:] if count else []


def follow(path: Path) -> Iterator[str]:
    """Yield lines written from now on, for ever; goes on with the new file after rotation."""
    return _follow(path, *_end(path))


def _follow(path: Path, offset: int, inode: int) -> Iterator[str]:
    rest = b""
    while True:
        select.select([], [], [], _POLL_S)
        try:
            with path.open("rb") as log:
                info = os.fstat(log.fileno())
                if info.st_ino != inode or info.st_size < offset:
                    offset, inode, rest = 0, info.st_ino, b""
                log.seek(offset)
                data = log.read()
        except FileNotFoundError:
            continue
        offset += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")


def _end(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_size, info.st_ino


def fields_of(line: str) -> dict[str, Any]:
    """Read one line; what is no JSON object becomes `{"event": LINE}`."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"event": line}


def readable(fields: dict[str, Any]) -> str:
    """Return a line of the log for reading: time, level, event, then the facts."""
    known = ("at", "level", "event", "logger", "traceback")
    facts = [f"{name}={value}" for name, value in fields.items() if name not in known]
    head = [str(fields.get("at", ""))[:19].replace("T", " "), str(fields.get("level", ""))]
    text = "  ".join(part for part in [*head, str(fields.get("event", "")), *facts] if part)
    return f"{text}\n{str(fields['traceback']).rstrip()}" if fields.get("traceback") else text
