"""Keeps converted models in the cache: each is made once, whole or not at all."""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
from pathlib import Path

from hindsight_daemon.embed.e5.materialise import write_model_folder
from hindsight_daemon.embed.pinned import verify_pinned
from hindsight_daemon.errors import DiskFull, EmbedderUnavailable


def converted_folder(model_id: str, weights: Path, sha256: str, models_dir: Path) -> Path:
    """Return the converted model's folder, converting it first if it is not there.

    The work happens in a temporary folder that is renamed at the end: a killed conversion leaves
    only litter, and of two that race the first wins and the other uses its result.
    """
    name = f"{model_id.replace('/', '-')}-{sha256[:12]}"
    final = models_dir / name
    if (final / "model.onnx").is_file():
        return final
    verify_pinned(weights, sha256, models_dir)
    try:
        models_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(models_dir, name)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=models_dir))
        try:
            write_model_folder(weights.read_bytes(), temporary)
            _publish(temporary, final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as exc:
        if exc.errno == errno.ENOSPC:
            raise DiskFull(f"no room to convert the model in `{models_dir}`") from exc
        raise EmbedderUnavailable(f"cannot convert into `{models_dir}`: {exc.strerror}") from exc
    return final


def _publish(temporary: Path, final: Path) -> None:
    try:
        temporary.rename(final)
    except OSError:
        if not (final / "model.onnx").is_file():
            raise


def _sweep(models_dir: Path, name: str) -> None:
    # Litter of a conversion that was killed; a living one touches its folder within seconds.
    for folder in models_dir.glob(f".{name}-*"):
        age_s = time.time() - folder.stat().st_mtime
        if age_s > 600:
            shutil.rmtree(folder, ignore_errors=True)
