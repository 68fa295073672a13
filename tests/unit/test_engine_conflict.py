"""Which statements exclude each other, which merely look alike, and which say the same."""

from __future__ import annotations

import pytest

from benchmarks.duplicates import LANGUAGES, answer, figures, pairs
from hindsight_daemon.engine.conflict import contradiction, is_key_fact, is_local_request
from hindsight_daemon.engine.sameness import form_of, says_the_same


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The gateway listens on port 7001", "The gateway listens on port 7000"),
        ("The owner of the search index is Mara", "The owner of the search index is Juri"),
        ("The mobile app uses yarn", "The mobile app uses npm"),
        ("We migrated billing from MySQL to Postgres", "Billing uses MySQL"),
        ("Never rebase shared branches", "Rebase shared branches"),
        ("The archive was founded by Ada Archer", "The archive was founded by Ned Archer"),
        ("网关监听 7001 端口", "网关监听 7000 端口"),
        ("搜索索引的负责人是马拉", "搜索索引的负责人是尤里"),
        ("移动端改用 yarn", "移动端使用 npm"),
        ("账单服务从 MySQL 换成了 PostgreSQL", "账单服务用 MySQL"),
        ("共享分支不要变基", "共享分支要变基"),
    ],
)
def test_another_value_of_the_same_attribute_excludes(newer: str, older: str) -> None:
    assert contradiction(newer, older)
    assert contradiction(newer, newer) == ""


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The gateway in staging listens on port 7001", "The gateway listens on port 7000"),
        ("The gateway also listens on port 7001", "The gateway listens on port 7000"),
        ("The SDK supports Python 3.12", "The SDK supports Python 3.11"),
        ("Issue 12 blocks the release", "Issue 13 blocks the release"),
        ("The owner of the search index is Mara", "The owner of the mail index is Juri"),
        ("We released version 3 on Monday", "We released version 2 on Monday"),
        ("The mobile app uses Redis", "The mobile app uses Postgres"),
        ("测试环境的网关监听 7001 端口", "生产环境的网关监听 7000 端口"),
        ("网关还监听 7001 端口", "网关监听 7000 端口"),
        ("这个库支持 Python 3.12", "这个库支持 Python 3.11"),
        ("移动端使用 Redis", "移动端使用 PostgreSQL"),
    ],
)
def test_what_merely_looks_alike_may_both_hold(newer: str, older: str) -> None:
    assert contradiction(newer, older) == ""
    assert not says_the_same(form_of(newer), form_of(older))


def test_what_follows_a_word_of_direction_makes_a_difference() -> None:
    assert not says_the_same(form_of("Lint before testing"), form_of("Test before linting"))
    assert not says_the_same(form_of("用 A 而不是 B"), form_of("用 B 而不是 A"))


def test_local_requests_and_key_facts_are_told_by_their_words() -> None:
    assert is_local_request("Just this once skip the tests")
    assert is_local_request("这次先不跑测试")
    assert not is_local_request("Run the tests this way")
    assert is_key_fact("Only admins may force-push")
    assert is_key_fact("生产库的密码放在保险库")
    assert not is_key_fact("The gateway listens on port 7001")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("is_held_out", [False, True])
def test_hardly_any_statement_of_the_labelled_pairs_is_lost(lang: str, is_held_out: bool) -> None:
    chosen = [p for p in pairs() if p.lang == lang and p.is_held_out is is_held_out]
    found = figures([(pair, answer(pair)) for pair in chosen])
    assert found["wrongly_replaced"] <= 0.03
    assert found["wrongly_merged"] <= 0.03
    assert found["updates_merged"] == 0
    assert found["update_recall"] >= 0.7
    assert found["merge_recall"] >= 0.6


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Only alice may deploy to production", "Only bob may deploy to production"),
        ("Nobody but the release bot can push tags", "Only maintainers can push tags"),
        ("只有张三可以发布生产环境", "只有李四可以发布生产环境"),
    ],
)
def test_what_is_kept_for_one_alone_is_not_kept_for_another(one: str, other: str) -> None:
    assert contradiction(one, other)
    assert is_key_fact(one) and is_key_fact(other)
    assert not contradiction(one, one)


def test_what_is_kept_for_two_in_two_places_may_both_hold() -> None:
    assert not contradiction(
        "Only alice may deploy to production", "Only bob may deploy to staging"
    )
    assert not contradiction("只有张三可以发布生产环境", "只有李四可以发布预发环境")
