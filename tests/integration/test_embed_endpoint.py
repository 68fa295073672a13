"""An embedder behind an OpenAI-compatible endpoint, against a real HTTP server on this machine."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed.endpoint import MAX_BATCH, MAX_BATCH_CHARS, batches
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.embed.registry import available_models, choose_embedder
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.paths import resolve_paths
from tests.support.harness import running_daemon, wait_until
from tests.support.model_server import Asked, ModelServer, Reply, model_server

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
DIMENSION = 16


def vectors(asked: Asked) -> Reply:
    """Answer as an embeddings endpoint does, out of order, with a direction for every word."""
    rows = []
    for index, text in enumerate(asked.body["input"]):
        row = np.zeros(DIMENSION)
        for word in text.lower().split():
            row[zlib.crc32(word.encode()) % DIMENSION] += 3.0
        rows.append({"index": index, "embedding": row.tolist(), "object": "embedding"})
    return Reply({"object": "list", "data": rows[::-1], "usage": {"prompt_tokens": 1}})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(vectors) as server:
        yield server


def host(server: ModelServer, tmp_path: Path, **fields: Any) -> ModelHost:
    settings = EmbedSettings(
        model="openai:text-small", base_url=f"{server.url}/v1", reranker="none", **fields
    )
    return ModelHost(settings, tmp_path, clean=lambda text: redact(text)[0])


def test_texts_come_back_as_unit_vectors_in_their_order(
    server: ModelServer, tmp_path: Path
) -> None:
    models = host(server, tmp_path)
    assert models.model_id == "openai:text-small@127.0.0.1"
    assert (models.dimension, server.asked) == (0, []), "nobody is asked before there is a text"
    texts = [f"word{n} only" for n in range(MAX_BATCH + 6)]
    found = models.embed_passages(texts)
    assert found.shape == (len(texts), DIMENSION) and found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert np.allclose(found[7], models.embed_query("word7 only"))
    assert models.dimension == DIMENSION
    assert [len(one.body["input"]) for one in server.asked] == [MAX_BATCH, 6, 1]
    assert {one.path for one in server.asked} == {"/v1/embeddings"}
    assert server.asked[0].body["model"] == "text-small"
    models.unload()


def test_only_redacted_texts_are_sent_queries_too(server: ModelServer, tmp_path: Path) -> None:
    models = host(server, tmp_path, query_prefix="query: ", passage_prefix="passage: ")
    models.embed_passages([f"the token is {SECRET}", "   "])
    models.embed_query(f"what is {SECRET}")
    sent = [text for one in server.asked for text in one.body["input"]]
    assert not any(SECRET in text for text in sent)
    assert sent[0].startswith("passage: the token is [redacted:") and sent[1] == "passage: -"
    assert sent[2].startswith("query: what is [redacted:")
    models.unload()


def test_nothing_is_sent_by_whoever_cannot_redact(server: ModelServer, tmp_path: Path) -> None:
    settings = EmbedSettings(model="openai:text-small", base_url=server.url, reranker="none")
    with pytest.raises(EmbedderUnavailable, match="redacted"):
        ModelHost(settings, tmp_path).embed_query("hello")
    assert not server.asked


def test_the_key_comes_from_a_private_file(server: ModelServer, tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text("sk-embed-1\n", encoding="utf-8")
    key_file.chmod(0o644)
    models = host(server, tmp_path, key_file=str(key_file))
    with pytest.raises(EmbedderUnavailable, match="open to other users"):
        models.embed_query("hello")
    key_file.chmod(0o600)
    models = host(server, tmp_path, key_file=str(key_file))
    models.embed_query("hello")
    assert server.asked[-1].headers["authorization"] == "Bearer sk-embed-1"
    models.unload()


def test_a_batch_that_is_refused_is_halved_and_a_text_that_is_too_long_is_cut(
    server: ModelServer, tmp_path: Path
) -> None:
    def short_window(asked: Asked) -> Reply:
        if any(len(text) > 600 for text in asked.body["input"]):
            return Reply({"error": {"message": "maximum context length is 512"}}, status=400)
        return vectors(asked)

    server.will(short_window)
    models = host(server, tmp_path)
    found = models.embed_passages(["short one", "long " * 400, "another short"])
    assert found.shape == (3, DIMENSION)
    assert np.allclose(found[0], models.embed_query("short one"))
    models.unload()


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"data": []}),
        Reply({"data": [{"index": 0, "embedding": "AAAA"}]}),
        Reply({"data": [{"index": 0, "embedding": [1.0, None]}]}),
        Reply({"data": [{"index": 0, "embedding": [float("inf")]}]}),
        Reply({"data": [{"embedding": [1.0]}]}),
        Reply(b"not json"),
        Reply({"error": "no such model"}, status=404),
        Reply({}, status=401),
        Reply(drops=True),
        Reply(never=True),
    ],
    ids=["none", "text", "null", "inf", "no index", "html", "404", "401", "dropped", "never"],
)
def test_an_endpoint_that_gives_no_vectors_is_told_and_heals(
    server: ModelServer, tmp_path: Path, reply: Reply
) -> None:
    server.will(reply)
    models = host(server, tmp_path, timeout_s=0.3)
    with pytest.raises(EmbedderUnavailable):
        models.embed_query("hello")
    assert models.problem
    server.will(vectors)
    assert models.embed_query("hello").shape == (DIMENSION,)
    assert models.problem == ""
    models.unload()


def test_another_dimension_than_before_is_refused(server: ModelServer, tmp_path: Path) -> None:
    models = host(server, tmp_path)
    models.embed_query("hello")
    server.will(Reply({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}))
    with pytest.raises(EmbedderUnavailable, match="2 dimensions, before it was 16"):
        models.embed_query("again")
    models.unload()


def test_batches_are_bounded_in_number_and_size_and_keep_the_order() -> None:
    texts = ["x" * 40_000, "y" * 30_000, *(f"t{n}" for n in range(100))]
    made = list(batches(texts))
    assert [text for batch in made for text in batch] == texts
    assert all(len(batch) <= MAX_BATCH for batch in made)
    assert all(sum(map(len, batch)) <= MAX_BATCH_CHARS for batch in made)


def test_a_setting_that_names_no_endpoint_is_told(tmp_path: Path) -> None:
    for settings in (
        EmbedSettings(model="openai:"),
        EmbedSettings(model="openai:x", base_url="nowhere"),
    ):
        with pytest.raises(EmbedderUnavailable, match="names no model behind an endpoint"):
            choose_embedder(settings, tmp_path)
        assert not available_models(tmp_path, settings)[-1].available


def test_the_list_of_models_names_the_endpoint(server: ModelServer, tmp_path: Path) -> None:
    settings = EmbedSettings(model="openai:text-small", base_url=server.url)
    last = available_models(tmp_path, settings)[-1]
    assert (last.spec.name, last.available, last.where) == ("openai:text-small", True, "endpoint")


def test_only_an_endpoint_elsewhere_counts_as_sending(server: ModelServer, tmp_path: Path) -> None:
    assert host(server, tmp_path).sends_to == ""
    away = EmbedSettings(model="openai:x", base_url="https://embed.example.com/v1", reranker="none")
    assert ModelHost(away, tmp_path).sends_to == "embed.example.com"
    usual = EmbedSettings(model="openai:text-embedding-3-small", reranker="none")
    assert ModelHost(usual, tmp_path).sends_to == "api.openai.com"


def test_a_model_of_fastembed_that_is_not_in_our_list_needs_its_download(tmp_path: Path) -> None:
    name = "snowflake/snowflake-arctic-embed-xs"
    with pytest.raises(EmbedderUnavailable, match="not on this machine") as raised:
        choose_embedder(EmbedSettings(model=name), tmp_path)
    assert f"hindsight model install {name} --download` fetches 90 MB" in raised.value.hint
    entry = available_models(tmp_path, EmbedSettings(model=name))[-1]
    assert (entry.spec.name, entry.spec.dimension, entry.available) == (name, 384, False)
    assert entry.spec.query_prefix
    with pytest.raises(EmbedderUnavailable, match="`nobody/such-model`"):
        choose_embedder(EmbedSettings(model="nobody/such-model"), tmp_path)


def test_a_daemon_recalls_by_the_vectors_of_an_endpoint(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_EMBED_MODEL", "openai:text-small")
    config = resolve_paths().config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[embed]\nbase_url = "{server.url}/v1"\n', encoding="utf-8")
    with running_daemon() as client:
        client.remember("the staging database listens on port 5433")
        client.sync(vectors=True)
        wait_until(lambda: client.stats().store["pending_vectors"] == 0, "the vector is there")
        answer = client.recall("staging database port", explain=True, all_projects=True)
        scores = answer.memories[0].scores
        assert scores is not None and scores.arms["vector"].rank == 1
        assert client.status().embedder == "openai:text-small@127.0.0.1"
        assert not [w for w in client.status().warnings if w.code == "embedder.remote"]
        server.will(Reply({}, status=503))
        found = client.recall("another question about the staging port", all_projects=True)
        assert found.memories, "without the endpoint keywords still find it"
        assert any(warning.code == "embedder.unavailable" for warning in found.warnings)
