"""What is looked at before a local table is opened, and how a damaged one is set aside.

Only file names and sizes; no engine. Nothing is ever deleted: damaged files are renamed.
"""

from __future__ import annotations

import os
from pathlib import Path

from hindsight_daemon.store.port import StoreProblem

MAGIC = b"LANC"
_VERSION_MAX = (1 << 64) - 1


def manifest_version(path: Path) -> int | None:
    """Return the table version of a manifest file, or None if the name is no manifest's.

    Names are the version, or (v2) 2^64 - 1 minus the version in twenty digits.
    """
    if path.suffix != ".manifest" or not path.stem.isdigit():
        return None
    number = int(path.stem)
    return _VERSION_MAX - number if len(path.stem) == 20 else number


def is_sound(path: Path) -> bool:
    """Tell whether a manifest is not empty and ends with the format's magic."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            if file.tell() < len(MAGIC):
                return False
            file.seek(-len(MAGIC), os.SEEK_END)
            return file.read() == MAGIC
    except FileNotFoundError:
        return True  # pruned meanwhile by a daemon that is alive


def newest_manifests(folder: Path) -> list[Path]:
    """Return the manifests of a table folder, newest first."""
    found = [(manifest_version(path), path) for path in (folder / "_versions").glob("*.manifest")]
    return [path for _, path in sorted(((v, p) for v, p in found if v is not None), reverse=True)]


def set_aside(path: Path, stamp: str) -> Path:
    """Rename a damaged file or folder next to itself and return its new place."""
    target = path.with_name(f"{path.name}.corrupt-{stamp}")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.corrupt-{stamp}.{number}")
    path.rename(target)
    return target


def repair_manifests(folder: Path, stamp: str) -> list[StoreProblem]:
    """Set aside damaged newest manifests of a table, so that its last sound version opens.

    Lance would open a zero-filled newest manifest as an empty table without a word. If no sound
    manifest is left, the whole folder is set aside and the table begins anew.
    """
    problems: list[StoreProblem] = []
    manifests = newest_manifests(folder)
    for path in manifests:
        if is_sound(path):
            return problems
        kept = set_aside(path, stamp)
        what = f"manifest `{path.name}` was damaged and is now `{kept.name}`"
        problems.append(StoreProblem(where=folder.stem, what=what, severity="repaired"))
    if manifests:
        kept = set_aside(folder, stamp)
        what = f"no sound version was left; the table begins anew, its files are in `{kept}`"
        problems.append(StoreProblem(where=folder.stem, what=what, severity="error"))
    return problems


def find_bad_manifests(folder: Path) -> list[StoreProblem]:
    """Report a damaged newest manifest without touching it."""
    manifests = newest_manifests(folder)
    if not manifests or is_sound(manifests[0]):
        return []
    what = f"newest manifest `{manifests[0].name}` is damaged"
    return [StoreProblem(where=folder.stem, what=what, severity="error")]
