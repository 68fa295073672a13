"""Reads the small files near a transcript that tell what it does not: folder, branch, parent.

A family names them (`SideFileSource`); here they are opened, with as much distrust as anything
else. Nothing is ever refused for their sake.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hindsight_daemon.sources.port import SideFileSource, Source

MAX_BYTES = 256 * 1024
"""As much as is read of one; what tells the folder stands at the beginning."""


def texts_beside(source: Source, path: Path) -> dict[str, str]:
    """Return the beginnings of the side files there are, by name; the first of a name counts."""
    found: dict[str, str] = {}
    if isinstance(source, SideFileSource):
        for file in source.side_files(path):
            if file.name not in found and (text := _beginning(file)):
                found[file.name] = text
    return found


def _beginning(file: Path) -> str:
    """Return the text a regular file begins with; links could lead anywhere and are passed over."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
