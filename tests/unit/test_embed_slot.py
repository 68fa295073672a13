"""A model is loaded once for all who need it, dropped when idle, and not retried in a storm."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hindsight_daemon.embed.host import QUERY_CACHE_SIZE, ModelHost
from hindsight_daemon.embed.port import Vectors
from hindsight_daemon.embed.slot import RETRY_AFTER_S, Slot
from hindsight_daemon.errors import EmbedderUnavailable
from tests.support.hash_embedder import HashEmbedder


class Ticks:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class CountingEmbedder(HashEmbedder):
    """Counts how often a query really reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = 0

    def embed_query(self, text: str) -> Vectors:
        self.queries += 1
        return super().embed_query(text)


class PacedReranker:
    """A cross-encoder that takes a fixed time for each text."""

    model_id = "paced/1"

    def __init__(self, ticks: Ticks, text_s: float, languages: tuple[str, ...] = ("en",)) -> None:
        self.languages = languages
        self._ticks = ticks
        self._text_s = text_s

    def score(self, query: str, texts: list[str]) -> list[float]:
        self._ticks.now_s += self._text_s * len(texts)
        return [float(len(text) - len(query)) for text in texts]


def test_threads_that_need_a_model_at_once_load_it_once() -> None:
    loads = []
    barrier = threading.Barrier(8)
    slot = Slot(lambda: loads.append(1) or object(), Ticks())

    def use() -> object:
        barrier.wait(5)
        with slot.use() as model:
            return model

    with ThreadPoolExecutor(8) as pool:
        models = [future.result(5) for future in [pool.submit(use) for _ in range(8)]]
    assert len(loads) == 1
    assert len(set(map(id, models))) == 1


def test_a_model_that_failed_to_load_is_tried_again_only_after_a_while() -> None:
    ticks, attempts = Ticks(), []

    def load() -> object:
        attempts.append(ticks.now_s)
        if len(attempts) == 1:
            raise EmbedderUnavailable("the disk is full", hint="free some space")
        return object()

    slot = Slot(load, ticks)
    for _ in range(5):
        with pytest.raises(EmbedderUnavailable, match="the disk is full") as caught, slot.use():
            pass
        assert caught.value.hint == "free some space"
    assert len(attempts) == 1
    assert slot.problem == "the disk is full"
    ticks.now_s += RETRY_AFTER_S
    with slot.use():
        assert slot.problem == ""
    assert len(attempts) == 2


def test_a_model_in_use_is_never_idle() -> None:
    ticks = Ticks()
    slot = Slot(object, ticks)
    with slot.use():
        assert not slot.drop_if_idle(ticks.now_s + 10_000, 300)
    assert not slot.drop_if_idle(ticks.now_s + 299, 300)
    assert slot.drop_if_idle(ticks.now_s + 300, 300)
    assert not slot.is_loaded


def test_an_idle_embedder_leaves_and_comes_back_on_the_next_use() -> None:
    ticks, loads = Ticks(), []
    host = ModelHost.holding(
        lambda: loads.append(1) or HashEmbedder(), idle_unload_s=60, monotonic=ticks
    )
    before = host.embed_passages(["构建失败", "the build failed"])
    assert host.is_loaded
    assert host.unload_if_idle(ticks.now_s + 61)
    assert not host.is_loaded
    assert host.model_id == "hash-64/1"
    assert host.dimension == 64
    after = host.embed_passages(["构建失败", "the build failed"])
    assert (before == after).all()
    assert len(loads) == 2


def test_idle_unloading_can_be_turned_off() -> None:
    ticks = Ticks()
    host = ModelHost.holding(HashEmbedder, idle_unload_s=0, monotonic=ticks)
    assert not host.unload_if_idle(ticks.now_s + 1e9)
    assert host.is_loaded


def test_a_query_asked_again_is_answered_from_memory_until_many_others_came() -> None:
    embedder = CountingEmbedder()
    host = ModelHost.holding(lambda: embedder, monotonic=Ticks())
    first = host.embed_query("构建为什么失败")
    assert (host.embed_query("构建为什么失败") == first).all()
    assert embedder.queries == 1
    for n in range(QUERY_CACHE_SIZE):
        host.embed_query(f"question {n}")
    host.embed_query("构建为什么失败")
    assert embedder.queries == QUERY_CACHE_SIZE + 2


def test_a_cached_vector_cannot_be_changed_by_a_caller() -> None:
    host = ModelHost.holding(HashEmbedder, monotonic=Ticks())
    with pytest.raises(ValueError, match="read-only"):
        host.embed_query("the build failed")[0] = 9


def test_reranking_stops_before_its_time_is_over() -> None:
    ticks = Ticks()
    host = ModelHost.holding(HashEmbedder, lambda: PacedReranker(ticks, 0.02), monotonic=ticks)
    started = ticks.now_s
    scores = host.rerank("why", ["a", "bb", "ccc", "dddd"] * 10, 0.25)
    assert 4 <= len(scores) < 40
    assert ticks.now_s - started <= 0.25
    assert len(host.rerank("why", ["a", "bb", "ccc", "dddd"] * 10)) == 40


def test_an_english_reranker_is_not_asked_about_chinese() -> None:
    ticks = Ticks()
    host = ModelHost.holding(HashEmbedder, lambda: PacedReranker(ticks, 0.0), monotonic=ticks)
    assert host.rerank("构建为什么失败", ["the build failed"]) == []
    assert host.rerank("why did it fail", ["构建失败了", "the build failed"]) == []
    assert len(host.rerank("why did it fail", ["the build failed"])) == 1


def test_a_multilingual_reranker_is_asked_about_chinese() -> None:
    ticks = Ticks()
    host = ModelHost.holding(
        HashEmbedder, lambda: PacedReranker(ticks, 0.0, languages=()), monotonic=ticks
    )
    assert len(host.rerank("构建为什么失败", ["构建失败了"])) == 1


def test_a_host_without_reranker_says_so() -> None:
    host = ModelHost.holding(HashEmbedder, monotonic=Ticks())
    with pytest.raises(EmbedderUnavailable, match="reranker"):
        host.rerank("why", ["a", "b"])
