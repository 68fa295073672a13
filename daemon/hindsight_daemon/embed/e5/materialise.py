"""Writes a folder that fastembed loads: graph, external tensor data, tokenizer, configuration.

The tensor layout (`manifest.json`: name → offset, size, ONNX type, shape) belongs to `graph.onnx`.
Attention and FFN-input matrices become int8 with one scale a column, the FFN output stays float32
(it loses most by rounding), the embedding table stays in its 4-bit blocks.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_daemon.embed.e5.weights_file import WeightsFile

HERE = Path(__file__).parent
_RENAMED = {"pos": "emb.pos", "elw": "emb.ln.w", "elb": "emb.ln.b"}
_LAYER_NORMS = {"aw": "aln.w", "ab": "aln.b", "ow": "oln.w", "ob": "oln.b"}
MAX_TOKENS = 512


def write_model_folder(weights: bytes, folder: Path) -> None:
    """Convert the weight file into `folder`, which must exist; takes about three seconds."""
    source = WeightsFile(weights)
    manifest: dict[str, list[Any]] = json.loads((HERE / "manifest.json").read_text("utf-8"))
    with (folder / "model.onnx.data").open("wb") as file:
        for name, (offset, size, _type, _shape) in manifest.items():
            data = np.ascontiguousarray(_tensor(source, name)).tobytes()
            if len(data) != size:
                raise ValueError(f"tensor {name} has {len(data)} bytes, the graph wants {size}")
            file.seek(offset)
            file.write(data)
    _write_tokenizer(source, folder)
    shutil.copyfile(HERE / "graph.onnx", folder / "model.onnx")


def _write_tokenizer(source: WeightsFile, folder: Path) -> None:
    tokenizer = json.loads((HERE / "tokenizer_skeleton.json").read_text("utf-8"))
    tokenizer["model"]["vocab"] = [[text, score] for text, score in source.pieces]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
    limits = {"model_max_length": MAX_TOKENS, "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(limits), "utf-8")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": source.pad_id}), "utf-8")


def _tensor(source: WeightsFile, name: str) -> Any:
    if name == "we.q":
        return source.blocks("emb.word", source.vocabulary)[1].reshape(source.vocabulary, -1)
    if name == "we.d":
        return source.blocks("emb.word", source.vocabulary)[0]
    if name == "type0":
        return source.floats("emb.type")[: source.hidden]
    if name in _RENAMED:
        return source.floats(_RENAMED[name])
    return _layer_tensor(source, name.split("."))


def _layer_tensor(source: WeightsFile, parts: list[str]) -> Any:
    # l0.aw is a layer norm; l0.q.b a bias; l0.q.w a matrix and l0.q.w.s its scales.
    if len(parts) == 2:
        return source.floats(f"{parts[0]}.{_LAYER_NORMS[parts[1]]}")
    if parts[2] == "b":
        return source.floats(".".join(parts))
    rows = source.ffn if parts[1] == "fi" else source.hidden
    matrix = source.matrix(".".join(parts[:3]), rows)
    if parts[1] == "fo":
        return matrix
    scale = np.abs(matrix).max(0) / 127
    if len(parts) == 4:
        return scale.astype(np.float32)
    return np.clip(np.rint(matrix / scale), -127, 127).astype(np.int8)
