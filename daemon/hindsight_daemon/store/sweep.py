"""The fsync sweep: makes what LanceDB wrote survive a power loss, which it never asks for itself.

Local tables only. Blocking; call it from a worker thread, after a commit and before the journal
forgets the rows.
"""

from __future__ import annotations

import os
from pathlib import Path


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def _fsync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # pruned meanwhile
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SyncSweep:
    """Knows which files of a table are already on the disk, and syncs the others."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._synced: set[str] = set()

    def mark_all(self) -> None:
        """Take what is there as synced: it was written before this process began."""
        self._synced = {path for path, _ in self._files()}

    def sync(self) -> int:
        """Sync files that appeared since the last call, then their folders; return how many."""
        present = self._files()
        fresh = [(path, folder) for path, folder in present if path not in self._synced]
        for path, _ in fresh:
            _fsync(path)
        for folder in {folder for _, folder in fresh}:
            _fsync(folder)
        if fresh:
            _fsync(self._root)
            _fsync(os.path.dirname(self._root))  # noqa: PTH120 - plain strings all through
        self._synced = {path for path, _ in present}
        return len(fresh)

    def _files(self) -> list[tuple[str, str]]:
        files: list[tuple[str, str]] = []
        folders = [self._root]
        while folders:
            folder = folders.pop()
            for entry in _entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    files.append((entry.path, folder))
        return files


def folder_bytes(root: Path) -> tuple[int, int]:
    """Return the size of all files below a folder, and how many `.manifest` files there are."""
    size = manifests = 0
    folders = [str(root)]
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            try:
                size += entry.stat(follow_symlinks=False).st_size
            except FileNotFoundError:
                continue
            manifests += entry.name.endswith(".manifest")
    return size, manifests
