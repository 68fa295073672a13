"""Transcripts whose place a variable of the environment names, whatever they are called there.

For `sources` only; asks the environment of this process, as the watcher does that finds them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def folder_named_by(variable: str, env: Mapping[str, str]) -> list[Path]:
    """Return the folder of the file that a variable names, none unless by an absolute path."""
    named = Path(env.get(variable, ""))
    return [named.parent] if named.is_absolute() else []


def is_named_by(variable: str, path: Path) -> bool:
    """Tell whether a file has the name that the variable gives."""
    named = os.environ.get(variable, "")
    return bool(named) and path.name == Path(named).name
