"""What is known of a model before it is loaded: names, files, sources, how to ask it.

Pure records; imports no other module of this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hindsight_daemon.model import Record

ModelRole = Literal["embedder", "reranker"]
Pooling = Literal["mean", "cls"]


class Pin(Record, frozen=True, kw_only=True):
    """A file whose bytes are known beforehand; `path` is relative to its folder."""

    path: str
    size_bytes: int
    sha256: str


class FolderSource(Record, frozen=True, kw_only=True):
    """A folder with an ONNX model that somebody keeps; absolute, never changed by us."""

    folder: str


class WheelSource(Record, frozen=True, kw_only=True):
    """Files that an installed package carries; the package itself is never imported.

    `recipe` names how they become a model folder: as they are, or by our e5 conversion.
    """

    package: str
    extra: str
    files: tuple[Pin, ...]
    folder: str = ""
    recipe: Literal["", "e5"] = ""


class HubSource(Record, frozen=True, kw_only=True):
    """A built-in model of fastembed, fetched only on request.

    `name` is what fastembed calls it, `repo` where it lies on the hub; `files` must be there
    besides the tokenizer.
    """

    name: str
    repo: str
    files: tuple[str, ...]
    size_bytes: int


class EndpointSource(Record, frozen=True, kw_only=True):
    """A model behind an endpoint; texts are sent there."""

    base_url: str
    model: str


Source = FolderSource | WheelSource | HubSource | EndpointSource


class ModelSpec(Record, frozen=True, kw_only=True):
    """One embedder or reranker.

    `model_id` names the exact vectors: a change of weights, quantisation, pooling or prefix needs
    a new one. Empty `languages` mean many. `sources` are tried in order. `in_auto` tells whether
    the setting `auto` may choose it.
    """

    name: str
    model_id: str
    role: ModelRole
    licence: str
    sources: tuple[Source, ...]
    dimension: int = 0
    languages: tuple[str, ...] = ()
    model_file: str = "model.onnx"
    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 512
    in_auto: bool = False


class Place(Record, frozen=True, kw_only=True):
    """Where a model can be taken from right now.

    `is_ready` is False for wheel files that still have to be converted.
    """

    kind: Literal["folder", "wheel", "cache", "hub", "endpoint"]
    folder: Path
    source: Source
    is_ready: bool = True
