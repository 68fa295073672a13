"""Loads models through fastembed; the one seam to its exceptions, its logging and its network.

Never reaches for a network unless `allow_download` says so: fastembed would otherwise retry for
39 seconds. Batches are small and sorted by length, which bounds memory and saves padding.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_daemon.embed.port import Embedder, Reranker, Vectors
from hindsight_daemon.embed.registry import ModelSpec, hub_folder, ready_folder
from hindsight_daemon.errors import EmbedderUnavailable

BATCH_SIZE = 16
MAX_TEXT_CHARS = 4000
"""Longer texts are cut before tokenising; 512 tokens hold about 2,000 characters of English."""

_MODEL_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_quantized.onnx",
)


@contextlib.contextmanager
def _seam(name: str) -> Iterator[None]:
    # fastembed raises ValueError, onnxruntime RuntimeError subclasses, tokenizers a bare Exception.
    try:
        yield
    except EmbedderUnavailable:
        raise
    except ImportError as exc:
        raise EmbedderUnavailable(f"cannot load `{name}`: {exc}") from exc
    except Exception as exc:
        reason = str(exc).splitlines()[0][:200] if str(exc) else type(exc).__name__
        raise EmbedderUnavailable(f"cannot load `{name}`: {reason}") from exc


def _silence() -> None:
    from loguru import logger

    logger.remove()
    for name in ("huggingface_hub", "fastembed", "onnxruntime"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _options(
    spec: ModelSpec, models_dir: Path, threads: int, allow_download: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {"threads": threads, "local_files_only": not allow_download}
    options["enable_cpu_mem_arena"] = False
    if spec.hub:
        options["cache_dir"] = str(hub_folder(spec, models_dir))
    else:
        options["specific_model_path"] = str(ready_folder(spec, models_dir))
    return options


def _model_file(folder: Path) -> str:
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            return name
    raise EmbedderUnavailable(f"`{folder}` holds no ONNX model ({', '.join(_MODEL_FILES)})")


class FastembedEmbedder:
    """An ONNX embedder with the prefixes its model was trained with."""

    def __init__(self, model: Any, spec: ModelSpec, dimension: int) -> None:
        self._model = model
        self._spec = spec
        self.model_id = spec.model_id
        self.dimension = dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension), for stored texts."""
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        prepared = [self._spec.passage_prefix + texts[n][:MAX_TEXT_CHARS] for n in order]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for n, vector in zip(
            order, self._model.embed(prepared, batch_size=BATCH_SIZE), strict=True
        ):
            vectors[n] = vector
        return _unit(vectors)

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), for a search query."""
        prepared = self._spec.query_prefix + text[:MAX_TEXT_CHARS]
        vector = np.asarray(next(iter(self._model.embed([prepared]))), np.float32)
        unit: Vectors = _unit(vector[None, :])[0]
        return unit


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(norms, 1e-9)).astype(np.float32, copy=False)
    return result


class FastembedReranker:
    """An ONNX cross-encoder."""

    def __init__(self, model: Any, spec: ModelSpec) -> None:
        self._model = model
        self.model_id = spec.model_id
        self.languages = () if "multilingual" in spec.languages else spec.languages

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one relevance score a text, higher is better, unbounded."""
        cut = [text[:MAX_TEXT_CHARS] for text in texts]
        return [float(score) for score in self._model.rerank(query, cut, batch_size=BATCH_SIZE)]


def load_embedder(
    spec: ModelSpec, models_dir: Path, threads: int, *, allow_download: bool = False
) -> Embedder:
    """Load an embedder; raises `EmbedderUnavailable`."""
    with _seam(spec.name):
        options = _options(spec, models_dir, threads, allow_download)
        from fastembed import TextEmbedding

        _silence()
        name = spec.hub or f"hindsight/{spec.model_id}"
        if not spec.hub:
            _register_embedder(TextEmbedding, name, spec, Path(options["specific_model_path"]))
        model = TextEmbedding(name, **options)
        dimension = spec.dimension or len(next(iter(model.embed(["dimension"]))))
        return FastembedEmbedder(model, spec, dimension)


def _register_embedder(library: Any, name: str, spec: ModelSpec, folder: Path) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(known["model"].lower() == name.lower() for known in library.list_supported_models()):
        return
    data = [file.name for file in folder.glob("*.onnx.data")]
    library.add_custom_model(
        model=name,
        pooling=PoolingType.CLS if spec.pooling == "cls" else PoolingType.MEAN,
        normalization=True,
        dim=spec.dimension or 1,
        model_file=_model_file(folder),
        additional_files=data,
        sources=ModelSource(url="file:///local"),
        license=spec.licence,
    )


def load_reranker(
    spec: ModelSpec, models_dir: Path, threads: int, *, allow_download: bool = False
) -> Reranker:
    """Load a cross-encoder; raises `EmbedderUnavailable`."""
    with _seam(spec.name):
        options = _options(spec, models_dir, threads, allow_download)
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        _silence()
        name = spec.hub or f"hindsight/{spec.model_id}"
        known = {m["model"].lower() for m in TextCrossEncoder.list_supported_models()}
        if not spec.hub and name.lower() not in known:
            TextCrossEncoder.add_custom_model(
                model=name,
                sources=ModelSource(url="file:///local"),
                model_file=_model_file(Path(options["specific_model_path"])),
            )
        return FastembedReranker(TextCrossEncoder(name, **options), spec)


def download(spec: ModelSpec, models_dir: Path, threads: int) -> Path:
    """Fetch a model from its hub and try it once; raises `EmbedderUnavailable`."""
    os.environ.pop("HF_HUB_OFFLINE", None)
    if spec.role == "embedder":
        load_embedder(spec, models_dir, threads, allow_download=True).embed_query("hello")
    else:
        load_reranker(spec, models_dir, threads, allow_download=True).score("hello", ["world"])
    folder = hub_folder(spec, models_dir)
    (folder / ".complete").write_text(spec.model_id, "utf-8")
    return folder
