"""Checks files against their known SHA-256, once: what was checked is remembered by size and time.

The memory (`verified.json` in the models folder) spares the daemon from hashing 70 MB at every
start. It guards against mixed-up and damaged files, not against somebody who may write to the
user's own folders. Two processes may overwrite each other's notes, which costs a second hashing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindsight_daemon.embed.spec import Pin
from hindsight_daemon.errors import EmbedderUnavailable

_MEMORY_FILE = "verified.json"


def have_pinned_sizes(folder: Path, pins: Sequence[Pin]) -> bool:
    """Tell whether every pinned file is there with its size, without reading it."""
    return all(_size(folder / pin.path) == pin.size_bytes for pin in pins)


def check_pins(folder: Path, pins: Sequence[Pin], models_dir: Path) -> None:
    """Raise `EmbedderUnavailable` naming the first file that is missing or not what it should be.

    Reads each file at most once for as long as its size and modification time stay.
    """
    memory_path = models_dir / _MEMORY_FILE
    memory = _recall(memory_path)
    before = dict(memory)
    for pin in pins:
        path = folder / pin.path
        try:
            stat = path.stat()
            noted = [stat.st_size, stat.st_mtime_ns, pin.sha256]
            if memory.get(str(path)) == noted:
                continue
            found = file_sha256(path)
        except OSError as exc:
            raise EmbedderUnavailable(f"cannot read `{path}`: {exc.strerror}") from exc
        if found != pin.sha256:
            raise EmbedderUnavailable(
                f"`{path}` is not the file hindsight knows: its SHA-256 is {found}",
                hint="install the package again, in the version hindsight asks for",
            )
        memory[str(path)] = noted
    if memory != before:
        _remember(memory_path, memory)


def file_sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _recall(path: Path) -> dict[str, Any]:
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _remember(path: Path, memory: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    # A read-only cache only means that the files are hashed again next time.
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(memory, indent=1), encoding="utf-8")
        temporary.replace(path)
