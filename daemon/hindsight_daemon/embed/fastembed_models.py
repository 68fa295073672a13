"""Any model that fastembed knows, under fastembed's own name, where our catalog has no entry.

fastembed is loaded only when a setting names such a model, which has a `/` in its name. Nothing is
fetched here; what is not on this machine is told with the way to get it.
"""

from __future__ import annotations

from typing import Any

from hindsight_daemon.embed.spec import HubSource, ModelRole, ModelSpec
from hindsight_daemon.errors import EmbedderUnavailable

_OURS = "hindsight/"
_PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("e5", "query: ", "passage: "),
    ("bge-small-en", "Represent this sentence for searching relevant passages: ", ""),
    ("bge-base-en", "Represent this sentence for searching relevant passages: ", ""),
    ("bge-large-en", "Represent this sentence for searching relevant passages: ", ""),
    ("mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
)
"""What the authors of these families say a query and a passage have to begin with."""


def spec_from_fastembed(name: str, role: ModelRole) -> ModelSpec | None:
    """Describe the model that fastembed calls `name`, None if it knows none.

    Raises `EmbedderUnavailable` for one that does not lie on the hub.
    """
    from hindsight_daemon.embed.onnx_models import import_fastembed

    family: Any = import_fastembed().TextEmbedding
    if role == "reranker":
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        family = TextCrossEncoder
    wanted = name.lower()
    for known in family.list_supported_models():
        if known["model"].lower() == wanted and not wanted.startswith(_OURS):
            return _spec(known, role)
    return None


def _spec(known: dict[str, Any], role: ModelRole) -> ModelSpec:
    name = str(known["model"])
    repo = known["sources"].get("hf")
    if not repo:
        raise EmbedderUnavailable(f"`{name}` does not lie on the hub")
    files = (str(known["model_file"]), *map(str, known.get("additional_files") or ()))
    query, passage = _prefixes(name) if role == "embedder" else ("", "")
    return ModelSpec(
        name=name,
        model_id=f"fastembed:{name}/1",
        role=role,
        licence=str(known.get("license") or ""),
        sources=(
            HubSource(
                name=name,
                repo=str(repo),
                files=files,
                size_bytes=int(float(known.get("size_in_GB") or 0) * 1e9),
            ),
        ),
        dimension=int(known.get("dim") or 0),
        model_file=files[0],
        query_prefix=query,
        passage_prefix=passage,
    )


def _prefixes(name: str) -> tuple[str, str]:
    base = name.rpartition("/")[2].lower()
    for part, query, passage in _PREFIXES:
        if base.startswith(part) or f"-{part}-" in base:
            return query, passage
    return "", ""
