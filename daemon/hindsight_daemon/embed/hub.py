"""Fetches a built-in model of fastembed from its hub; the only code here that uses the network.

Called only when somebody asked for it. One attempt: fastembed's default of three sleeps 39 seconds
before it admits that there is no network.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hindsight_daemon.embed.onnx_models import import_fastembed
from hindsight_daemon.embed.spec import HubSource, ModelRole
from hindsight_daemon.errors import EmbedderUnavailable

_LOOK_S = 0.5

Progress = Callable[[int, int], None]


def download(source: HubSource, role: ModelRole, cache_dir: Path, progress: Progress) -> None:
    """Download the files of a model into fastembed's cache at `cache_dir`.

    An interrupted download goes on where it stopped. Raises `EmbedderUnavailable`.
    """
    family: Any = import_fastembed().TextEmbedding
    if role == "reranker":
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        family = TextCrossEncoder
    try:
        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _watched(cache_dir, source.size_bytes, progress), warnings.catch_warnings():
            # Bars are off through the environment, and fastembed tries to turn them on again.
            warnings.filterwarnings("ignore", message="Cannot enable progress bars")
            description = family._get_model_description(source.name)
            family.download_model(description, str(cache_dir), retries=1)
    except (OSError, ValueError) as exc:
        raise EmbedderUnavailable(
            f"`{source.name}` cannot be fetched from `{source.repo}`: {exc}",
            hint="check the network; HF_ENDPOINT names a mirror, HF_HUB_OFFLINE must be unset",
        ) from exc


@contextlib.contextmanager
def _watched(folder: Path, size_bytes: int, progress: Progress) -> Iterator[None]:
    """Report how much of `size_bytes` has arrived in `folder` while the body runs.

    fastembed has no hook for it, so the folder is measured; both sizes are approximate.
    """
    before = _bytes_in(folder)
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            progress(min(_bytes_in(folder) - before, size_bytes), size_bytes)

    watcher = threading.Thread(target=look, name="model-download", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    progress(size_bytes, size_bytes)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # renamed while we look
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total
