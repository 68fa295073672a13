"""Holds the loaded models of the daemon: one of each, loaded on first use, dropped when idle.

Thread-safe: callers come from worker threads, one lock a model lets one of them in at a time.
A model that cannot be loaded is not tried again; `problem` says why, and search goes on by words.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed.loading import load_embedder, load_reranker
from hindsight_daemon.embed.port import Embedder, Reranker, Vectors
from hindsight_daemon.embed.registry import choose
from hindsight_daemon.errors import EmbedderUnavailable

_QUERY_CACHE = 512
_RERANK_STEP = 8


class ModelHost:
    """The embedder and the reranker that the settings ask for."""

    def __init__(self, settings: EmbedSettings, models_dir: Path) -> None:
        self._settings = settings
        self._models_dir = models_dir
        self._lock = threading.Lock()
        self._rerank_lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._used_at = time.monotonic()
        self._rerank_failure = ""
        self.problem = ""
        try:
            self._spec = choose("embedder", settings.model, models_dir)
        except EmbedderUnavailable as exc:
            # Keywords still work, so a missing model is a warning and not a refusal to start.
            self._spec = None
            self.problem = f"{exc.message}; {exc.hint}"

    @property
    def model_id(self) -> str:
        """The embedder's identity, empty if there is none or it failed."""
        return self._spec.model_id if self._spec and not self.problem else ""

    @property
    def dimension(self) -> int:
        """The embedder's dimension, 0 if there is none."""
        return self._spec.dimension if self._spec and not self.problem else 0

    @property
    def is_loaded(self) -> bool:
        """Tell whether any model is in memory."""
        return self._embedder is not None or self._reranker is not None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors for stored texts; blocking."""
        with self._lock:
            vectors = self._loaded().embed_passages(texts)
            self._used_at = time.monotonic()
            return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a query; blocking unless it was asked lately."""
        if (known := self._queries.get(text)) is not None:
            self._used_at = time.monotonic()
            return known
        with self._lock:
            vector = self._loaded().embed_query(text)
            self._queries[text] = vector
            while len(self._queries) > _QUERY_CACHE:
                self._queries.popitem(last=False)
            self._used_at = time.monotonic()
            return vector

    def _loaded(self) -> Embedder:
        if self._spec is None or self.problem:
            raise EmbedderUnavailable(self.problem or "no embedding model is configured")
        if self._embedder is None:
            try:
                self._embedder = load_embedder(
                    self._spec,
                    self._models_dir,
                    self._settings.threads,
                    allow_download=self._settings.allow_download,
                )
            except EmbedderUnavailable as exc:
                self.problem = exc.message
                raise
        return self._embedder

    def rerank(self, query: str, texts: Sequence[str], budget_s: float) -> list[float]:
        """Score as many of `texts`, in order, as the time allows; at least the first few."""
        deadline = time.monotonic() + budget_s
        with self._rerank_lock:
            reranker = self._loaded_reranker()
            scores: list[float] = []
            for start in range(0, len(texts), _RERANK_STEP):
                scores.extend(reranker.score(query, texts[start : start + _RERANK_STEP]))
                if time.monotonic() >= deadline:
                    break
            self._used_at = time.monotonic()
            return scores

    def _loaded_reranker(self) -> Reranker:
        if self._rerank_failure:
            raise EmbedderUnavailable(self._rerank_failure)
        if self._reranker is None:
            try:
                spec = choose("reranker", self._settings.reranker, self._models_dir)
                if spec is None:
                    raise EmbedderUnavailable(
                        "no reranker is installed", hint="install `hindsight-cli[rerank]`"
                    )
                self._reranker = load_reranker(
                    spec,
                    self._models_dir,
                    self._settings.threads,
                    allow_download=self._settings.allow_download,
                )
            except EmbedderUnavailable as exc:
                self._rerank_failure = exc.message
                raise
        return self._reranker

    def unload_if_idle(self, now: float) -> bool:
        """Drop the models if nobody used them for the configured time; `now` is monotonic."""
        limit_s = self._settings.idle_unload_s
        if not self.is_loaded or not limit_s or now - self._used_at < limit_s:
            return False
        self.unload()
        return True

    def unload(self) -> None:
        """Drop the models; the next use loads them again."""
        with self._lock:
            self._embedder = None
        with self._rerank_lock:
            self._reranker = None
