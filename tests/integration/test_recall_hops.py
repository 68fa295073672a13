"""Recall follows names from what was found to what it rests on, and weighs as it is asked to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.errors import UsageProblem
from tests.support.harness import running_daemon

CHAIN = (
    "The web shop sends every order to billing-gateway.",
    "billing-gateway depends on LedgerStore for balances.",
    "LedgerStore runs on the host db-north-7.",
    "The canteen serves soup on Mondays.",
)
QUERY = "Where does the web shop send every order?"
CHAIN_ZH = (
    "订单页面调用结算服务。",
    "结算服务依赖账本库。",
    "账本库部署在北京二号机。",
    "食堂周一有汤。",
)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    # By words alone nothing but a name leads from one statement to the next.
    monkeypatch.setenv("HINDSIGHT_EMBED_MODEL", "none")
    with running_daemon() as client:
        for text in (*CHAIN, *CHAIN_ZH):
            client.remember(text, project="shop")
        yield client


def found(client: Client, query: str, **params: str) -> list[str]:
    return [one.text for one in client.recall(query, project="shop", **params).memories]


def test_what_a_find_depends_on_comes_in_behind_it(client: Client) -> None:
    for query, chain in ((QUERY, CHAIN), ("订单页面调用什么？", CHAIN_ZH)):
        texts = found(client, query)
        assert texts[0] == chain[0]
        assert texts.index(chain[0]) < texts.index(chain[1]) < texts.index(chain[2])
        assert chain[3] not in texts


def test_what_came_in_by_a_name_says_so(client: Client) -> None:
    result = client.recall(QUERY, project="shop", explain=True)
    arms = {one.text: set(one.scores.arms) for one in result.memories if one.scores}
    assert "entity" not in arms[CHAIN[0]]
    assert arms[CHAIN[1]] == {"entity"}


def test_a_profile_changes_what_is_weighed_and_must_exist(client: Client) -> None:
    assert CHAIN[2] not in found(client, QUERY, profile="conversation")
    with pytest.raises(UsageProblem):
        client.recall("anything", profile="everything")
