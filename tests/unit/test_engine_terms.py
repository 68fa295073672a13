"""The keyword arm's view of texts, by what finds what."""

from __future__ import annotations

import pytest

from hindsight_daemon.engine.terms import (
    TERM_LIMIT_BYTES,
    has_cjk,
    is_cjk_term,
    terms_of,
    terms_text,
)


def _finds(query: str, text: str) -> bool:
    wanted = set(terms_of(query))
    return bool(wanted) and wanted <= set(terms_of(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("connecting", "The connection to the pool was refused, connect again"),
        ("ECONNREFUSED", "failed: ECONNREFUSED 127.0.0.1:5432"),
        ("econnrefused", "failed: ECONNREFUSED"),
        ("foo_bar", "call foo_bar() first"),
        ("foo bar", "call foo_bar() first"),
        ("foo bar", "call fooBar() first"),
        ("fooBar", "call fooBar() first"),
        ("http server", "class HTTPServer"),
        ("src/db/pool.py:88", "raised in src/db/pool.py:88"),
        ("src/db/pool.py", "raised in src/db/pool.py:88"),
        ("pool.py", "raised in src/db/pool.py:88"),
        ("pool", "raised in src/db/pool.py:88"),
        ("test_x::test_y", "FAILED test_x::test_y"),
        ("test_y", "FAILED test_x::test_y"),
        ("test_x", "FAILED test_x::test_y"),
        ("3.11", "needs python3.11"),
        ("12345", "order 12345 was lost"),
        ("1234567", "it has 1,234,567 rows"),
        ("utf8", "read it as UTF-8"),
        ("dry-run", "pass --dry-run"),
        ("E0308", "error[E0308]: mismatched types"),
        ("Rogerio", "Rogério Ceni"),
        ("rogério", "ROGERIO"),
        ("ABC", "ＡＢＣ"),
        ("Caroline", "Caroline’s painting"),
        ("C++", "written in C++"),
        ("C#", "written in C#"),
        ("2023-05-08", "on 2023-05-08 we met"),
        ("2023", "on 2023-05-08 we met"),
        ("樱花", "我昨天去了绿禾公园，看到了樱花"),
        ("绿禾公园", "我昨天去了绿禾公园"),
        ("LanceDB 检索", "用LanceDB做向量检索"),
        ("東京", "東京タワー"),
        ("नमस्ते", "नमस्ते दुनिया"),
    ],
)
def test_a_query_finds_the_text(query: str, text: str) -> None:
    assert _finds(query, text)


@pytest.mark.parametrize(
    ("one", "other", "whole"),
    [
        ("getFiles", "getfiles", "getfil"),
        ("1.2.3", "v1.2.3", "1.2.3"),
        ("UTF-8", "utf8", "utf8"),
        ("e-mail", "email", "email"),
        ("C:\\src\\pool.py", "pool.py", "pool.py"),
    ],
)
def test_spellings_of_one_name_share_it_whole(one: str, other: str, whole: str) -> None:
    assert whole in terms_of(one)
    assert whole in terms_of(other)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("12345", "order 12346 was lost"),
        ("foo_bar", "foo and bar"),
        ("C++", "written in C#"),
        ("公园", "公司的花园"),
        ("pool.py:88", "pool.py:89"),
    ],
)
def test_a_query_does_not_find_what_only_looks_like_it(query: str, text: str) -> None:
    assert not _finds(query, text)


def test_words_that_tell_nothing_make_no_term() -> None:
    assert terms_of("what is it that you were doing there") == []
    assert terms_of("我的是在了") == []


def test_no_pair_of_characters_reaches_across_a_particle() -> None:
    assert terms_of("数据的库") == ["数据", "数", "据", "库"]


def test_a_negation_is_kept_because_it_turns_the_meaning() -> None:
    assert "not" in terms_of("don't deploy")
    assert "not" in terms_of("do not deploy")


def test_repeats_are_kept_for_the_ranking_to_count() -> None:
    assert terms_of("cache, cache") == ["cach", "cach"]


def test_a_joined_sentence_is_no_identifier() -> None:
    assert terms_of("the end.Next one") == ["end", "next", "one"]


def test_a_giant_token_is_bounded() -> None:
    blob = "A1b2/" * 200_000
    assert len(terms_of(blob)) < 100


@pytest.mark.parametrize("text", ["", " \n\t", "!?…。，", "\u200b", "\ud800"])
def test_text_without_words_has_no_terms(text: str) -> None:
    assert terms_text(text) == ""


def test_long_terms_are_cut_alike_on_both_sides() -> None:
    path = "/home/somebody/projects/backend/services/billing/app.py"
    assert _finds(path, f"see {path} there")
    assert all(len(term.encode()) <= TERM_LIMIT_BYTES for term in terms_of(path))


def test_cjk_is_recognised_in_text_and_term() -> None:
    assert has_cjk("fix 数据库") and not has_cjk("fix the Datenbank für Ärzte")
    assert is_cjk_term("数据") and not is_cjk_term("data")
