"""Writes the model folder of e5-small: graph, tensors, tokenizer.

`graph.onnx` keeps its tensors in `model.onnx.data`; `manifest.json` says, for every tensor, where
in that file it lies: name → [offset, bytes, ONNX type, shape]. Word embeddings stay 4-bit,
projections become int8 with one scale a column (the runtime quantises activations as it goes),
the second feed-forward matrix stays float32, where int8 costs most accuracy ("mix8").
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hindsight_daemon.embed.e5.weights import Array, E5Weights
from hindsight_daemon.errors import EmbedderUnavailable

_HERE = Path(__file__).parent
MODEL_FILE = "model.onnx"
_DATA_FILE = "model.onnx.data"
_MAX_TOKENS = 512

_EMBEDDING_NAMES = {"pos": "emb.pos", "elw": "emb.ln.w", "elb": "emb.ln.b"}
_NORM_NAMES = {"aw": "aln.w", "ab": "aln.b", "ow": "oln.w", "ob": "oln.b"}
_INT8_MAX = 127

Progress = Callable[[int, int], None]


def build_model(weights_path: Path, folder: Path, progress: Progress) -> None:
    """Fill an existing `folder` with a model that fastembed loads.

    `progress` gets bytes done and in all. Raises `EmbedderUnavailable` for unfit weights and
    OSError when the folder cannot be written.
    """
    with E5Weights(weights_path) as weights:
        _write_tensors(weights, folder / _DATA_FILE, progress)
        _write_tokenizer(weights, folder)
    shutil.copyfile(_HERE / "graph.onnx", folder / MODEL_FILE)


def _write_tensors(weights: E5Weights, path: Path, progress: Progress) -> None:
    manifest = json.loads((_HERE / "manifest.json").read_text(encoding="utf-8"))
    total = sum(size_bytes for _, size_bytes, *_ in manifest.values())
    done = 0
    with path.open("wb") as file:
        for name, (offset, size_bytes, *_) in manifest.items():
            try:
                tensor = np.ascontiguousarray(_tensor(weights, name))
            except (KeyError, ValueError) as exc:
                raise EmbedderUnavailable(f"the weights lack what `{name}` needs: {exc}") from exc
            if tensor.nbytes != size_bytes:
                raise EmbedderUnavailable(
                    f"tensor `{name}` has {tensor.nbytes} bytes, {size_bytes} are needed"
                )
            file.seek(offset)
            file.write(tensor.data)
            done += size_bytes
            progress(done, total)


def _tensor(weights: E5Weights, name: str) -> Array:
    """Return the tensor that the graph calls `name`.

    Names of layers are `l3.aw` (norms), `l3.q.b` (biases), `l3.q.w` (matrices) and `l3.q.w.s`
    (the scales of an int8 matrix).
    """
    if name == "we.q":
        return weights.packed("emb.word", weights.vocabulary)[1].reshape(weights.vocabulary, -1)
    if name == "we.d":
        return weights.packed("emb.word", weights.vocabulary)[0]
    if name == "type0":
        return weights.floats("emb.type")[: weights.hidden]
    if name in _EMBEDDING_NAMES:
        return weights.floats(_EMBEDDING_NAMES[name])
    layer, part, *rest = name.split(".")
    if not rest:
        return weights.floats(f"{layer}.{_NORM_NAMES[part]}")
    if rest == ["b"]:
        return weights.floats(name)
    rows = weights.feed_forward if part == "fi" else weights.hidden
    matrix: Array = weights.matrix(
        f"{layer}.{part}.w", rows
    ).T  # the graph multiplies from the left
    if part == "fo":
        return matrix
    scales: Array = (np.abs(matrix).max(axis=0) / _INT8_MAX).astype(np.float32)
    if rest == ["w", "s"]:
        return scales
    rounded: Array = np.clip(np.rint(matrix / scales), -_INT8_MAX, _INT8_MAX).astype(np.int8)
    return rounded


def _write_tokenizer(weights: E5Weights, folder: Path) -> None:
    tokenizer = json.loads((_HERE / "tokenizer_skeleton.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"] = weights.pieces
    for name, content in (
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", {"model_max_length": _MAX_TOKENS, "pad_token": "<pad>"}),
        ("config.json", {"hidden_size": weights.hidden, "pad_token_id": weights.pad_id}),
    ):
        text = json.dumps(content, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
