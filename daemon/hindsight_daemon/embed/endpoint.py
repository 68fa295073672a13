"""An embedder behind an OpenAI-compatible endpoint: `openai:NAME` in the setting `embed.model`.

What is sent passes through the `clean` of whoever makes it, since this package knows nothing of
secrets. The dimension is learnt from the first answer.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.credential import read_key
from hindsight_daemon.embed.port import Vectors
from hindsight_daemon.embed.spec import EndpointSource, ModelSpec
from hindsight_daemon.errors import ConfigProblem, EmbedderUnavailable, PermissionProblem
from hindsight_daemon.outbound import CallFailed, Endpoint

PREFIX = "openai:"
OPENAI_URL = "https://api.openai.com/v1"
MAX_BATCH = 64
MAX_BATCH_CHARS = 60_000
MAX_TEXT_CHARS = 24_000
"""Beyond the window of any current model; what is refused as too long is shortened further."""

_SHORTEST_CHARS = 200
_QUERY_TIMEOUT_S = 5.0

Clean = Callable[[str], str]


def names_endpoint(setting: str) -> bool:
    """Tell whether a model setting names a model behind an endpoint."""
    return setting.startswith(PREFIX)


def spec_of_endpoint(settings: EmbedSettings) -> ModelSpec:
    """Describe the endpoint's model; raises `EmbedderUnavailable` if its address cannot be one.

    The id names model and host, and the prefix of stored texts, which changes their vectors.
    """
    name = settings.model.removeprefix(PREFIX).strip()
    base_url = settings.base_url or OPENAI_URL
    host = urlsplit(base_url).hostname or ""
    if not name or not host:
        raise EmbedderUnavailable(
            f"`{settings.model}` at `{base_url}` names no model behind an endpoint",
            hint="`embed.model` is openai:NAME, `embed.base_url` such as http://127.0.0.1:8080/v1",
        )
    prefix = settings.passage_prefix
    variant = f"+{hashlib.sha256(prefix.encode()).hexdigest()[:6]}" if prefix else ""
    return ModelSpec(
        name=settings.model,
        model_id=f"{PREFIX}{name}@{host}{variant}",
        role="embedder",
        licence="",
        sources=(EndpointSource(base_url=base_url, model=name),),
        query_prefix=settings.query_prefix,
        passage_prefix=prefix,
    )


class EndpointEmbedder:
    """Asks an endpoint for vectors. Calls may overlap.

    Raises `EmbedderUnavailable` if the key cannot be had.
    """

    def __init__(self, spec: ModelSpec, settings: EmbedSettings, clean: Clean) -> None:
        source = next(one for one in spec.sources if isinstance(one, EndpointSource))
        self.model_id = spec.model_id
        self.dimension = 0
        self._spec = spec
        self._model = source.model
        self._clean = clean
        self._timeout_s = settings.timeout_s
        self._stopped = threading.Event()
        try:
            key = read_key(settings.key_env, settings.key_file)
            headers = {"authorization": f"Bearer {key}"} if key else {}
            self._endpoint = Endpoint(source.base_url, headers, secret=key)
        except (ConfigProblem, PermissionProblem) as exc:
            raise EmbedderUnavailable(exc.message, hint=exc.hint) from exc

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension), for stored texts."""
        ready = [self._ready(self._spec.passage_prefix, text) for text in texts]
        rows: list[Vectors] = []
        for batch in batches(ready):
            rows += self._ask(batch, self._timeout_s, attempts=0)
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), for a search query; one attempt, no waiting."""
        timeout_s = min(self._timeout_s, _QUERY_TIMEOUT_S)
        return self._ask([self._ready(self._spec.query_prefix, text)], timeout_s, attempts=1)[0]

    def close(self) -> None:
        """Release connections; a pause between attempts ends."""
        self._stopped.set()
        self._endpoint.close_blocking()

    def _ready(self, prefix: str, text: str) -> str:
        clean = self._clean(text).encode("utf-8", "replace").decode("utf-8")[:MAX_TEXT_CHARS]
        # Endpoints refuse an empty text, and the whole batch with it.
        return prefix + clean if clean.strip() else f"{prefix}-"

    def _ask(self, texts: list[str], timeout_s: float, attempts: int) -> list[Vectors]:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        try:
            found = self._endpoint.ask_blocking(
                "embeddings",
                body,
                timeout_s=timeout_s,
                sleep=self._stopped.wait,
                attempts=attempts,
            )
        except CallFailed as failure:
            if failure.reason == "rejected" and (smaller := _smaller(texts)):
                return [row for part in smaller for row in self._ask(part, timeout_s, attempts)]
            raise EmbedderUnavailable(
                failure.message, hint="check `embed.base_url`, `embed.model` and the key"
            ) from failure
        return self._read(found, len(texts))

    def _read(self, found: Any, count: int) -> list[Vectors]:
        rows = found.get("data") if isinstance(found, dict) else None
        if not isinstance(rows, list) or len(rows) != count:
            raise self._strange(f"no {count} vectors")
        try:
            ordered = sorted(rows, key=lambda row: int(row["index"]))
            matrix = np.asarray([row["embedding"] for row in ordered], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as exc:
            raise self._strange("vectors that are none") from exc
        if matrix.ndim != 2 or not matrix.shape[1] or not np.isfinite(matrix).all():
            raise self._strange("vectors that are none")
        if self.dimension and matrix.shape[1] != self.dimension:
            raise self._strange(
                f"vectors of {matrix.shape[1]} dimensions, before it was {self.dimension}"
            )
        self.dimension = int(matrix.shape[1])
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        unit: Vectors = matrix / np.maximum(lengths, np.finfo(np.float32).tiny)
        return list(unit)

    def _strange(self, what: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"`{self._model}` at `{self._endpoint.host}` sent {what}")


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in order, in groups that an endpoint takes in one call."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == MAX_BATCH or size + len(text) > MAX_BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _smaller(texts: list[str]) -> list[list[str]]:
    """Return what to ask instead of a refused batch: its halves, or a text cut in half."""
    if len(texts) > 1:
        middle = len(texts) // 2
        return [texts[:middle], texts[middle:]]
    shorter = texts[0][: len(texts[0]) // 2]
    return [[shorter]] if len(shorter) >= _SHORTEST_CHARS else []
