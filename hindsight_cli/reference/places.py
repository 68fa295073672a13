"""Where man pages and completion scripts of one user go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def data_folder(env: Mapping[str, str]) -> Path:
    """Return `XDG_DATA_HOME`, by default `~/.local/share`; other programs look there.

    `HINDSIGHT_HOME` does not move it.
    """
    home = Path(env.get("HOME") or Path.home())
    named = env.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else home / ".local" / "share"
