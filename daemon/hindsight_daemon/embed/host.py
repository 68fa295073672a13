"""The daemon's models: loaded on first use, shared by all callers, dropped when idle.

Blocking and thread-safe; meant to be called from worker threads. Queries run beside a batch of
passages, so that a recall never waits for the background fill; passages run one call at a time,
which bounds memory.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed import registry
from hindsight_daemon.embed.endpoint import EndpointEmbedder, names_endpoint
from hindsight_daemon.embed.places import find_place
from hindsight_daemon.embed.port import Embedder, Reranker, Vectors
from hindsight_daemon.embed.slot import Slot
from hindsight_daemon.embed.spec import EndpointSource, ModelSpec
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.outbound import is_local
from hindsight_daemon.process import trim_memory

QUERY_CACHE_SIZE = 256
_RERANK_GROUP = 4
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_CJK_SHARE = 0.1
_CJK_LANGUAGES = frozenset(("zh", "ja", "ko"))


class ModelHost:
    """Holder of the embedder and the reranker that the settings ask for.

    Without a model `model_id` is empty, and `problem` says why if one was asked for. `languages`
    are those the embedder is good for; empty means many.
    """

    def __init__(
        self,
        settings: EmbedSettings,
        models_dir: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        clean: Callable[[str], str] | None = None,
    ) -> None:
        self._settings = settings
        self._clean = clean
        self._models_dir = models_dir
        self._monotonic = monotonic
        self._bulk_lock = threading.Lock()
        self._cache_lock = threading.Lock()
        self._query_cache: OrderedDict[str, Vectors] = OrderedDict()
        self._setup_problem = ""
        self._trouble = ""
        self._rerank_problem = ""
        self._spec: ModelSpec | None = None
        self._embedder: Slot[Embedder] | None = None
        self._reranker: Slot[Reranker] | None = None
        self.reranks_cjk = True
        """Whether the reranker may read Chinese, Japanese or Korean, as far as known."""
        self.model_id = ""
        self.dimension = 0
        self.languages: tuple[str, ...] = ()
        self.choose_missing()

    @classmethod
    def holding(
        cls,
        load_embedder: Callable[[], Embedder],
        load_reranker: Callable[[], Reranker] | None = None,
        *,
        idle_unload_s: float = 300.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> ModelHost:
        """Return a host of models from elsewhere; the embedder is loaded once for its id."""
        host = cls(
            EmbedSettings(model=registry.NONE, reranker=registry.NONE, idle_unload_s=idle_unload_s),
            Path(),
            monotonic=monotonic,
        )
        host._embedder = Slot(load_embedder, monotonic)
        with host._embedder.use() as embedder:
            host.model_id, host.dimension = embedder.model_id, embedder.dimension
        if load_reranker is not None:
            host._reranker = Slot(load_reranker, monotonic)
        return host

    def choose_missing(self) -> None:
        """Choose the models that are not set up yet: at start, and after an installation.

        A model that is set up stays until the daemon restarts, so that no caller gets vectors of
        another model than the `model_id` it has just read.
        """
        if self._embedder is None:
            self._choose_embedder()
        if self._reranker is None:
            self._choose_reranker()

    def _choose_embedder(self) -> None:
        try:
            spec = registry.choose_embedder(self._settings, self._models_dir)
        except EmbedderUnavailable as exc:
            self._setup_problem = _in_words(exc)
            return
        self._setup_problem = ""
        if spec is not None:
            self._spec = spec
            self._embedder = Slot(lambda: self._load_embedder(spec), self._monotonic)
            self.dimension, self.languages = spec.dimension, spec.languages
            self.model_id = spec.model_id  # last: callers take it for the sign that all is set up

    def _choose_reranker(self) -> None:
        try:
            spec = registry.choose_reranker(self._settings, self._models_dir)
        except EmbedderUnavailable as exc:
            self._rerank_problem = _in_words(exc)
            return
        self._rerank_problem = ""
        if spec is not None:
            self.reranks_cjk = not spec.languages or bool(_CJK_LANGUAGES & set(spec.languages))
            self._reranker = Slot(lambda: self._load_reranker(spec), self._monotonic)

    def _load_embedder(self, spec: ModelSpec) -> Embedder:
        if names_endpoint(spec.name):
            if self._clean is None:
                raise EmbedderUnavailable("nothing is sent to an endpoint unless it is redacted")
            return EndpointEmbedder(spec, self._settings, self._clean)
        registry.prepare(spec, self._models_dir, allow_download=self._settings.allow_download)
        return registry.load_embedder(spec, self._models_dir, self._settings.threads)

    def _load_reranker(self, spec: ModelSpec) -> Reranker:
        # No download here: a recall waits for this.
        return registry.load_reranker(spec, self._models_dir, self._settings.threads)

    @property
    def sends_to(self) -> str:
        """Name of another machine that texts are sent to, empty if they stay on this one."""
        source = self._spec.sources[0] if self._spec and self._spec.sources else None
        if not isinstance(source, EndpointSource):
            return ""
        host = urlsplit(source.base_url).hostname or ""
        return "" if is_local(host) else host

    @property
    def is_loaded(self) -> bool:
        """Whether the embedder is in memory."""
        return self._embedder is not None and self._embedder.is_loaded

    @property
    def problem(self) -> str:
        """Why there are no vectors although they were asked for; empty if all is well.

        After a failed load the next attempt comes no sooner than `slot.RETRY_AFTER_S`.
        """
        loading = self._embedder.problem if self._embedder else ""
        return self._setup_problem or loading or self._trouble

    @property
    def rerank_problem(self) -> str:
        """Why there is no reranking although it was asked for; empty if all is well."""
        return self._rerank_problem or (self._reranker.problem if self._reranker else "")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimension); raises `EmbedderUnavailable`."""
        slot = self._need_embedder()
        with self._bulk_lock, slot.use() as embedder:
            vectors = self._tried(lambda: embedder.embed_passages(texts))
            self.dimension = embedder.dimension
        return vectors

    def _tried(self, embed: Callable[[], Vectors]) -> Vectors:
        """Remember why the model failed, until it works again."""
        try:
            vectors = embed()
        except EmbedderUnavailable as exc:
            self._trouble = _in_words(exc)
            raise
        self._trouble = ""
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, shape (dimension,), read-only; raises `EmbedderUnavailable`.

        Recent queries are answered from memory. Never waits for a download: passages start it.
        """
        slot = self._need_embedder()
        with self._cache_lock:
            if (known := self._query_cache.get(text)) is not None:
                self._query_cache.move_to_end(text)
                return known
        if self._spec and not slot.is_loaded and not find_place(self._spec, self._models_dir):
            raise EmbedderUnavailable(
                f"`{self._spec.name}` is not downloaded yet",
                hint=f"`hindsight model install {self._spec.name} --download` fetches it now",
            )
        with slot.use() as embedder:
            vector = self._tried(lambda: embedder.embed_query(text))
            self.dimension = embedder.dimension
        vector.flags.writeable = False
        with self._cache_lock:
            self._query_cache[text] = vector
            while len(self._query_cache) > QUERY_CACHE_SIZE:
                self._query_cache.popitem(last=False)
        return vector

    def warm(self) -> None:
        """Load the embedder in the calling thread; raises `EmbedderUnavailable`."""
        with self._need_embedder().use():
            return

    def rerank(
        self, query: str, texts: Sequence[str], budget_s: float | None = None
    ) -> list[float]:
        """Return relevance scores of the first texts, as many as fit into `budget_s`.

        Loading the model is not counted. The list is empty when the reranker does not know the
        language of the query or of a text. Raises `EmbedderUnavailable`.
        """
        if self._reranker is None:
            raise EmbedderUnavailable(self._rerank_problem or "no reranker is set up")
        scores: list[float] = []
        with self._reranker.use() as reranker:
            if _excludes_cjk(reranker) and any(_is_cjk(text) for text in (query, *texts)):
                return []
            started = before = self._monotonic()
            for at in range(0, len(texts), _RERANK_GROUP):
                scores += reranker.score(query, texts[at : at + _RERANK_GROUP])
                now = self._monotonic()
                if budget_s is not None and now - started + (now - before) > budget_s:
                    break
                before = now
        return scores

    def unload_if_idle(self, now: float) -> bool:
        """Drop models unused for the set time at `now` (monotonic seconds) and free their memory.

        Returns whether one was dropped.
        """
        if not (idle_s := self._settings.idle_unload_s):
            return False
        dropped = [slot.drop_if_idle(now, idle_s) for slot in self._slots()]
        if any(dropped):
            trim_memory()
        return any(dropped)

    def unload(self) -> None:
        """Drop all models now and free their memory."""
        dropped = [slot.drop() for slot in self._slots()]
        if any(dropped):
            trim_memory()

    def _slots(self) -> list[Slot[Embedder] | Slot[Reranker]]:
        return [slot for slot in (self._embedder, self._reranker) if slot is not None]

    def _need_embedder(self) -> Slot[Embedder]:
        if self._embedder is None:
            raise EmbedderUnavailable(self._setup_problem or "no embedding model is set up")
        return self._embedder


def _in_words(error: EmbedderUnavailable) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _excludes_cjk(reranker: Reranker) -> bool:
    return bool(reranker.languages) and not _CJK_LANGUAGES & set(reranker.languages)


def _is_cjk(text: str) -> bool:
    return len(_CJK.findall(text)) > _CJK_SHARE * len(text)
