"""Loads ONNX models through fastembed and asks them; the only importer of fastembed.

Everything is loaded from a folder, so no code that could reach a network runs here (`hub` does the
downloading). fastembed is imported late: it costs about a second. Its log lines and those of the
runtime are switched off, since they would go to stderr.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from hindsight_daemon.embed.batches import clip, group_by_length
from hindsight_daemon.embed.port import Vectors
from hindsight_daemon.embed.spec import HubSource, ModelSpec
from hindsight_daemon.errors import EmbedderUnavailable

_ERRORS_ONLY = 3
_registering = threading.Lock()


class OnnxEmbedder:
    """An embedder in memory. Calls may overlap: neither tokenizer nor session keeps state."""

    def __init__(self, spec: ModelSpec, folder: Path, source: object, threads: int) -> None:
        self.model_id = spec.model_id
        self.dimension = spec.dimension
        self._spec = spec
        with _native_errors(f"`{spec.name}` cannot be loaded from `{folder}`"):
            fastembed = import_fastembed()
            self._model = fastembed.TextEmbedding(
                _fastembed_name(spec, source, fastembed.TextEmbedding),
                **_load_options(folder, threads),
            )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension), for stored texts."""
        return self._embed([self._spec.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), for a search query."""
        vector: Vectors = self._embed([self._spec.query_prefix + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> Vectors:
        texts = [clip(_encodable(text), self._spec.max_tokens) for text in texts]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for group in group_by_length(texts, self._spec.max_tokens):
            batch = [texts[n] for n in group]
            with _native_errors(f"`{self._spec.name}` failed on {len(batch)} texts"):
                found = np.asarray(list(self._model.embed(batch, batch_size=len(batch))))
            if found.shape[1:] != (self.dimension,):
                raise EmbedderUnavailable(
                    f"`{self._spec.name}` gives vectors of shape {found.shape[1:]}, "
                    f"not ({self.dimension},)"
                )
            vectors[group] = found
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return unit


class OnnxReranker:
    """A cross-encoder in memory. Calls may overlap."""

    def __init__(self, spec: ModelSpec, folder: Path, source: object, threads: int) -> None:
        self.model_id = spec.model_id
        self.languages = spec.languages
        self._spec = spec
        with _native_errors(f"`{spec.name}` cannot be loaded from `{folder}`"):
            import_fastembed()
            from fastembed.rerank.cross_encoder import TextCrossEncoder

            self._model = TextCrossEncoder(
                _fastembed_name(spec, source, TextCrossEncoder), **_load_options(folder, threads)
            )

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one relevance score a text, higher is better, unbounded."""
        query = clip(_encodable(query), self._spec.max_tokens)
        clipped = [clip(_encodable(text), self._spec.max_tokens) for text in texts]
        scores = [0.0] * len(clipped)
        for group in group_by_length(
            [f"{query} {text}" for text in clipped], self._spec.max_tokens
        ):
            batch = [clipped[n] for n in group]
            with _native_errors(f"`{self._spec.name}` failed on {len(batch)} texts"):
                found = list(self._model.rerank(query, batch, batch_size=len(batch)))
            for n, score in zip(group, found, strict=True):
                scores[n] = float(score)
        return scores


def import_fastembed() -> ModuleType:
    """Return fastembed, kept from the terminal, from threads of its own and from telling on us.

    onnxruntime (1.32 and later) writes a device id and usage events below `~/.cache/Microsoft` and
    uploads them; it looks at its switch once, when it is first imported.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import fastembed
    import loguru
    import onnxruntime

    loguru.logger.disable("fastembed")
    onnxruntime.set_default_logger_severity(_ERRORS_ONLY)
    module: ModuleType = fastembed
    return module


def _load_options(folder: Path, threads: int) -> dict[str, Any]:
    return {
        "specific_model_path": str(folder),
        "cache_dir": str(folder),  # unused then, but fastembed would create one under /tmp
        "local_files_only": True,
        "threads": threads,
        "cuda": False,
        "enable_cpu_mem_arena": False,
    }


def _fastembed_name(spec: ModelSpec, source: object, family: Any) -> str:
    """Return the name under which fastembed knows the model, registering it if it is ours."""
    if isinstance(source, HubSource):
        return source.name
    from fastembed.common.model_description import ModelSource, PoolingType

    name = f"hindsight/{spec.role}/{spec.model_id}"
    with _registering:  # the registry is global to the process and refuses a name twice
        if any(known["model"].lower() == name.lower() for known in family.list_supported_models()):
            return name
        common = {
            "model": name,
            "model_file": spec.model_file,
            "license": spec.licence,
            "sources": ModelSource(url="file:///nowhere"),  # one is demanded, and never used
        }
        if spec.role == "embedder":
            family.add_custom_model(
                **common,
                pooling=PoolingType(spec.pooling.upper()),
                normalization=True,
                dim=spec.dimension,
            )
        else:
            family.add_custom_model(**common)
    return name


def _encodable(text: str) -> str:
    """Replace lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _native_errors:
    """Turns what the native libraries raise into `EmbedderUnavailable`.

    tokenizers raises bare `Exception`, onnxruntime a dozen classes without a common base: they are
    told by where they come from. Mistakes of ours (TypeError, KeyError, …) pass through.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or error is None:
            return
        is_native = kind is Exception or kind.__module__.startswith("onnxruntime")
        if is_native or isinstance(error, (OSError, ValueError, RuntimeError, ImportError)):
            reason = str(error).strip().splitlines() or [kind.__name__]
            raise EmbedderUnavailable(f"{self._what}: {reason[0][:300]}") from error
