"""Names of models in the settings."""

from __future__ import annotations

import pytest

from hindsight_daemon.config import (
    MODEL_ALIASES,
    MODELS,
    EmbedSettings,
    Settings,
    check_models,
)
from hindsight_daemon.embed.catalog import CATALOG
from hindsight_daemon.embed.spec import HubSource
from hindsight_daemon.errors import ConfigProblem
from hindsight_daemon.paths import resolve_paths


def test_the_settings_know_the_models_of_the_catalog() -> None:
    roles = {"embed.model": "embedder", "embed.reranker": "reranker"}
    for key, role in roles.items():
        assert set(MODELS[key]) == {spec.name for spec in CATALOG if spec.role == role}
    hubs = [s.name for spec in CATALOG for s in spec.sources if isinstance(s, HubSource)]
    assert {name.lower() for name in hubs} == MODEL_ALIASES


@pytest.mark.parametrize(
    "name", ["auto", "none", "e5-small", "E5-Small", "BAAI/bge-small-zh-v1.5", "~/models/mine", ""]
)
def test_a_model_there_is_is_taken(name: str) -> None:
    check_models(Settings(embed=EmbedSettings(model=name)), resolve_paths().config_file)


@pytest.mark.parametrize(
    ("model", "reranker", "hint"),
    [
        ("nonsense", "auto", "known: auto, none, e5-small, e5-large"),
        ("e5-smal", "auto", "did you mean `e5-small`?"),
        ("auto", "e5-small", "known: auto, none, minilm-l12-en"),
    ],
)
def test_a_model_there_is_not_is_refused_with_the_names(
    model: str, reranker: str, hint: str
) -> None:
    settings = Settings(embed=EmbedSettings(model=model, reranker=reranker))
    with pytest.raises(ConfigProblem) as caught:
        check_models(settings, resolve_paths().config_file)
    assert hint in caught.value.hint
