"""Describes a model that lies in a folder of the user's, in the layout of sentence-transformers.

Reads only small files and samples of the big one; loading it is somebody else's work.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from hindsight_daemon.embed.spec import FolderSource, ModelRole, ModelSpec
from hindsight_daemon.errors import EmbedderUnavailable

_MODEL_FILES = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
_POINTER = b"version https://git-lfs"
_SAMPLES = 32
_SAMPLE_BYTES = 4096
_HINT = "the folder must hold an ONNX model, `tokenizer.json` and `tokenizer_config.json`"


def looks_like_path(setting: str) -> bool:
    """Tell whether a model setting names a folder rather than a model of the registry."""
    return setting.startswith(("/", "~", "./", "../"))


def spec_from_folder(setting: str, role: ModelRole) -> ModelSpec:
    """Describe the model in a folder; its id follows from a sample of its bytes.

    Pooling, dimension, length and prompts are read from `1_Pooling/config.json`, `config.json`,
    `tokenizer_config.json` and `config_sentence_transformers.json`. Raises `EmbedderUnavailable`
    naming what is missing.
    """
    folder = Path(setting).expanduser().resolve()
    if not folder.is_dir():
        raise EmbedderUnavailable(f"there is no model folder `{folder}`", hint=_HINT)
    model_file = _find_model_file(folder)
    check_files(folder, (model_file, *_TOKENIZER_FILES))
    pooling = _json(folder / "1_Pooling" / "config.json")
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    length = _json(folder / "tokenizer_config.json").get("model_max_length")
    config = _json(folder / "config.json")
    dimension = pooling.get("word_embedding_dimension") or config.get("hidden_size") or 0
    if role == "embedder" and not (isinstance(dimension, int) and dimension > 0):
        raise EmbedderUnavailable(
            f"`{folder / 'config.json'}` does not say the dimension of the model",
            hint="add its `hidden_size`",
        )
    return ModelSpec(
        name=str(folder),
        model_id=f"{folder.name}@{_fingerprint(folder, model_file)}",
        role=role,
        licence="",
        sources=(FolderSource(folder=str(folder)),),
        dimension=dimension if role == "embedder" else 0,
        model_file=model_file,
        pooling="cls" if pooling.get("pooling_mode_cls_token") is True else "mean",
        query_prefix=str(prompts.get("query") or ""),
        passage_prefix=str(prompts.get("passage") or prompts.get("document") or ""),
        max_tokens=min(length, 8192) if isinstance(length, int) and length > 0 else 512,
    )


def check_files(folder: Path, files: tuple[str, ...]) -> None:
    """Raise `EmbedderUnavailable` naming the first file that is absent, empty or a Git LFS stub."""
    for name in files:
        path = folder / name
        try:
            with path.open("rb") as file:
                head = file.read(len(_POINTER))
        except OSError as exc:
            raise EmbedderUnavailable(
                f"the model lacks `{path}`: {exc.strerror}", hint=_HINT
            ) from exc
        if head == _POINTER:
            raise EmbedderUnavailable(
                f"`{path}` is only a Git LFS pointer, not the file itself",
                hint="fetch it with `git lfs pull`",
            )
        if not head:
            raise EmbedderUnavailable(f"`{path}` is empty", hint=_HINT)


def _find_model_file(folder: Path) -> str:
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            return name
    others = sorted(path.name for path in folder.glob("*.onnx"))
    if len(others) == 1:
        return others[0]
    if others:
        raise EmbedderUnavailable(
            f"`{folder}` holds several models: {', '.join(others)}",
            hint="name the one to use `model.onnx`",
        )
    raise EmbedderUnavailable(f"the model lacks `{folder / _MODEL_FILES[0]}`", hint=_HINT)


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty if there is none, since all of them are optional here."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _fingerprint(folder: Path, model_file: str) -> str:
    """Return 12 hex digits that change with the model: size, and samples spread over the file.

    Weights kept outside the ONNX file (`.onnx_data`, `.onnx.data`) count too.
    """
    digest = hashlib.sha256()
    model_path = folder / model_file
    for path in sorted(model_path.parent.glob(f"{model_path.name}*")):
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        with path.open("rb") as file:
            for n in range(_SAMPLES):
                file.seek(size * n // _SAMPLES)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:12]
