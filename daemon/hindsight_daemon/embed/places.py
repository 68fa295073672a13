"""Finds out where a model lies on this machine, by looking at names and sizes only.

Never imports the package that carries a model, never reads its big files, never asks the network.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

from hindsight_daemon.embed.folders import is_complete
from hindsight_daemon.embed.pins import have_pinned_sizes
from hindsight_daemon.embed.spec import (
    EndpointSource,
    FolderSource,
    HubSource,
    ModelSpec,
    Place,
    Source,
    WheelSource,
)

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def hub_dir(models_dir: Path) -> Path:
    """Return the cache that fastembed downloads into."""
    return models_dir / "hub"


def built_dir(spec: ModelSpec, models_dir: Path) -> Path:
    """Return the folder that a converted model gets; another `model_id` gets another one."""
    return models_dir / re.sub(r"[^\w.]+", "-", spec.model_id)


def find_place(spec: ModelSpec, models_dir: Path) -> Place | None:
    """Return the first source of the model that is on this machine, None if none is."""
    for source in spec.sources:
        if (place := _look(source, spec, models_dir)) is not None:
            return place
    return None


def package_dir(package: str) -> Path | None:
    """Return the folder of an installed package, found without importing it."""
    importlib.invalidate_caches()  # it may have been installed since this process started
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # half-initialised in sys.modules
        return None
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def _look(source: Source, spec: ModelSpec, models_dir: Path) -> Place | None:
    if isinstance(source, EndpointSource):
        return Place(kind="endpoint", folder=Path(), source=source)
    if isinstance(source, FolderSource):
        folder = Path(source.folder)
        return Place(kind="folder", folder=folder, source=source) if folder.is_dir() else None
    if isinstance(source, WheelSource):
        return _look_in_wheel(source, spec, models_dir)
    return _look_in_hub_cache(source, models_dir)


def _look_in_wheel(source: WheelSource, spec: ModelSpec, models_dir: Path) -> Place | None:
    if source.recipe and is_complete(built := built_dir(spec, models_dir)):
        return Place(kind="cache", folder=built, source=source)
    package = package_dir(source.package)
    if package is None or not have_pinned_sizes(package / source.folder, source.files):
        return None
    return Place(
        kind="wheel",
        folder=package / source.folder,
        source=source,
        is_ready=not source.recipe,
    )


def _look_in_hub_cache(source: HubSource, models_dir: Path) -> Place | None:
    snapshots = hub_dir(models_dir) / f"models--{source.repo.replace('/', '--')}" / "snapshots"
    needed = (*source.files, *_TOKENIZER_FILES)
    try:
        # The newest download wins; an unfinished one lacks files and is passed over.
        revisions = sorted(snapshots.iterdir(), key=lambda path: -path.stat().st_mtime_ns)
    except OSError:
        return None
    for folder in revisions:
        if all((folder / name).is_file() for name in needed):
            return Place(kind="hub", folder=folder, source=source)
    return None
