"""Times and durations as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hindsight_cli.when import age, as_param, parse_duration, parse_when, time_to_live
from hindsight_daemon.errors import UsageProblem

SHANGHAI = timezone(timedelta(hours=8))
NOW = datetime(2026, 3, 9, 1, 30, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", datetime(2026, 3, 8, 17, 30, tzinfo=UTC)),
        ("2h", datetime(2026, 3, 8, 15, 30, tzinfo=UTC)),
        ("90m", datetime(2026, 3, 8, 16, 0, tzinfo=UTC)),
        ("1.5h", datetime(2026, 3, 8, 16, 0, tzinfo=UTC)),
        ("7d", datetime(2026, 3, 1, 17, 30, tzinfo=UTC)),
        ("2w ago", datetime(2026, 2, 22, 17, 30, tzinfo=UTC)),
        ("3天前", datetime(2026, 3, 5, 17, 30, tzinfo=UTC)),
        ("today", datetime(2026, 3, 8, 16, 0, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 3, 7, 16, 0, tzinfo=UTC)),
        ("昨天", datetime(2026, 3, 7, 16, 0, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 2, 28, 16, 0, tzinfo=UTC)),
        ("2026-03-01T12:00", datetime(2026, 3, 1, 4, 0, tzinfo=UTC)),
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, 0, tzinfo=UTC)),
        (" 2026-03-01T12:00:00-05:00 ", datetime(2026, 3, 1, 17, 0, tzinfo=UTC)),
    ],
)
def test_what_people_type_is_read_in_their_own_zone(text: str, expected: datetime) -> None:
    assert parse_when(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, 16, 0, tzinfo=UTC)),
        ("yesterday", datetime(2026, 3, 8, 16, 0, tzinfo=UTC)),
        ("2026-03-01T12:00Z", datetime(2026, 3, 1, 12, 0, tzinfo=UTC)),
    ],
)
def test_an_end_that_is_a_whole_day_includes_that_day(text: str, expected: datetime) -> None:
    assert parse_when(text, NOW, "end") == expected


@pytest.mark.parametrize(
    "text", ["soon", "7", "d7", "7 parsecs", "2026-13-01", "99999999999y", "", "-3d"]
)
def test_what_is_no_time_is_a_usage_problem(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_when(text, NOW)


def test_a_time_that_was_not_given_is_passed_on_empty() -> None:
    assert as_param("", NOW) == ""
    assert as_param("2h", NOW) == "2026-03-08T15:30:00+00:00"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("12h", 43200), ("8周", 8 * 604800)])
def test_a_time_to_live_is_whole_seconds(text: str, seconds: int) -> None:
    assert time_to_live(text) == seconds


@pytest.mark.parametrize("text", ["0s", "0.2s", "tomorrow", "30"])
def test_a_time_to_live_must_be_a_length_of_time(text: str) -> None:
    with pytest.raises(UsageProblem):
        time_to_live(text)


def test_a_duration_longer_than_any_memory_is_none() -> None:
    assert parse_duration("1001y") is None
    assert parse_duration("999y") is not None


@pytest.mark.parametrize(
    ("ago", "expected"),
    [
        (timedelta(seconds=1), "1 second ago"),
        (timedelta(minutes=5), "5 minutes ago"),
        (timedelta(hours=30), "30 hours ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=20), "2 weeks ago"),
        (timedelta(days=90), "2025-12-09"),
        (timedelta(hours=-1), "2026-03-09"),
    ],
)
def test_ages_are_told_in_the_roughest_useful_unit(ago: timedelta, expected: str) -> None:
    assert age(NOW - ago, NOW) == expected
