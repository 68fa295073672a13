"""From what somebody asked to what is searched for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_daemon.engine.query import MAX_QUERY_CHARS, MAX_QUERY_TERMS, prepare
from hindsight_daemon.engine.timephrases import find_time

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)  # a Tuesday


def test_a_short_query_stays_as_it_is() -> None:
    found = prepare("ECONNREFUSED in src/db/pool.py:88")
    assert found.text == "ECONNREFUSED in src/db/pool.py:88"
    assert "src/db/pool.py:88" in found.terms
    assert not found.is_compressed
    assert not found.is_cjk


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Hey, can you tell me why it fails?", "why it fails?"),
        ("请问，你还记得数据库的密码轮换吗", "数据库的密码轮换吗"),
        ("please", "please"),
        ("<system-reminder>why</system-reminder> does it fail", "why does it fail"),
        ("```\nTypeError: x\n```", "TypeError: x"),
        ("fa\u200bils\x07 now", "fa ils now"),
    ],
)
def test_noise_is_stripped(query: str, text: str) -> None:
    assert prepare(query).text == text


def test_a_pasted_log_does_not_bury_the_question() -> None:
    log = "\n".join(f"2026-01-01 10:00:{i:02d} INFO worker {i} is up" for i in range(500))
    query = (
        f"The migration fails on staging.\n{log}\nTypeError: cannot read `foo_bar`\n"
        "What did we do about it last time?"
    )
    found = prepare(query)
    assert found.is_compressed
    assert len(found.text) <= MAX_QUERY_CHARS
    assert {"migrat", "foo_bar"} <= set(found.terms)
    assert found.text.endswith("What did we do about it last time?")
    assert found.text.count("INFO worker") == 1


def test_a_query_of_one_endless_line_is_bounded() -> None:
    found = prepare("word " * 100_000)
    assert 0 < len(found.text) <= MAX_QUERY_CHARS


def test_many_terms_are_cut_to_the_telling_ones() -> None:
    words = " ".join(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(150))
    found = prepare(f"{words} pool_size ECONNREFUSED")
    assert len(found.terms) == MAX_QUERY_TERMS
    assert {"pool_size", "econnrefus"} <= set(found.terms)


@pytest.mark.parametrize("query", ["", "   ", "\x00", "？！"])
def test_an_empty_query_has_no_terms(query: str) -> None:
    assert prepare(query, now=NOW).terms == ()


def test_chinese_is_noticed() -> None:
    assert prepare("修复 pool.py 的超时").is_cjk


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we do last week?", "2026-11-23", "2026-11-30"),
        ("上周的决定", "2026-11-23", "2026-11-30"),
        ("上个月怎么修的", "2026-11-01", "2026-12-01"),
        ("last month", "2026-11-01", "2026-12-01"),
        ("yesterday's bug", "2026-11-30", "2026-12-01"),
        ("昨天的问题", "2026-11-30", "2026-12-01"),
        ("the day before yesterday", "2026-11-29", "2026-11-30"),
        ("前天", "2026-11-29", "2026-11-30"),
        ("three days ago", "2026-11-28", "2026-11-29"),
        ("三天前", "2026-11-28", "2026-11-29"),
        ("last Friday", "2026-11-27", "2026-11-28"),
        ("上周五", "2026-11-27", "2026-11-28"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("去年十一月", "2025-11-01", "2025-12-01"),
        ("5月3日", "2026-05-03", "2026-05-04"),
        ("去年", "2025-01-01", "2026-01-01"),
        ("on 2026-02-28 it broke", "2026-02-28", "2026-03-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("what broke on October 13, 2025?", "2025-10-13", "2025-10-14"),
        ("the meeting of 3rd of May", "2026-05-03", "2026-05-04"),
        ("the 13 June 2025 release", "2025-06-13", "2025-06-14"),
        ("what we used in 2024", "2024-01-01", "2025-01-01"),
    ],
)
def test_time_expressions_are_dated(text: str, since: str, until: str) -> None:
    found = prepare(text, now=NOW)
    assert found.since is not None and found.until is not None
    assert (found.since.date().isoformat(), found.until.date().isoformat()) == (since, until)


@pytest.mark.parametrize(
    "text",
    [
        "may I ask",
        "the last resort",
        "2月30日",
        "9999999 days ago",
        "2026-13-45",
        "march on",
        "may 10000 rows",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert find_time(text, NOW) is None


def test_without_a_clock_no_time_is_read() -> None:
    assert prepare("last week").time is None


def test_a_relative_time_is_no_word_to_search_for() -> None:
    assert prepare("what did we deploy last week", now=NOW).terms == ("deploy",)
    assert prepare("上个月部署", now=NOW).terms == prepare("部署").terms
    assert "2026-02-28" in prepare("the outage on 2026-02-28", now=NOW).terms
    assert "march" in prepare("the outage in March", now=NOW).terms


def test_a_piece_of_dialogue_is_told_from_a_question() -> None:
    assert not prepare("which port does the staging database listen on").is_passage
    assert prepare(
        "I love that place, the pizza was rich and the music quiet. We sat outside by the river "
        "and talked about school, exams and the summer trip to the mountains."
    ).is_passage
