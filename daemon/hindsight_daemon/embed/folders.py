"""Makes model folders that are either whole or not there.

A folder is filled under a temporary name and renamed when every file is on disk, so a reader never
sees half of it and a killed build leaves only rubbish, which the next one removes. A lock file
lets a second process wait for the first instead of doing the work twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from hindsight_daemon.errors import EmbedderUnavailable

_MARK = "complete.json"
_PARTIAL = ".partial-"


def is_complete(folder: Path) -> bool:
    """Tell whether a folder was finished by `make_folder` and its files still have their sizes."""
    try:
        sizes = json.loads((folder / _MARK).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def make_folder(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return `folder`, filled by `fill(temporary folder)` unless it is complete already.

    Raises `EmbedderUnavailable` when the disk does not take it; whatever `fill` raises passes.
    """
    parent = folder.parent
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(parent / f"{folder.name}.lock"):
            if is_complete(folder):
                return folder
            for leftover in parent.glob(f"{_PARTIAL}{folder.name}-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f"{_PARTIAL}{folder.name}-", dir=parent))
            try:
                fill(temporary)
                _finish(temporary)
                if folder.exists():  # damaged, or `is_complete` would have said so
                    shutil.rmtree(folder)
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as exc:
        raise EmbedderUnavailable(
            f"cannot build the model in `{folder}`: {exc.strerror or exc}",
            hint="check room and permissions of the cache folder",
        ) from exc
    return folder


def _finish(folder: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    (folder / _MARK).write_text(json.dumps(sizes), encoding="utf-8")
    # Without this a power failure could keep the rename and lose the contents.
    for name in (*sizes, _MARK):
        descriptor = os.open(folder / name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; it goes with the process, however that ends. The file stays."""
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
