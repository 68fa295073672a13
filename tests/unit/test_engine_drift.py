"""When a source counts as silent or drifting."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hindsight_daemon.engine.drift import Found, SourceTally, alarms, tallies
from hindsight_daemon.model import ReadTally

AT = datetime(2026, 8, 1, tzinfo=UTC)


def read(number: int, *, events: int, records: int = 100, **fields: Any) -> Found:
    """Return a transcript that was read; a higher number is a later one."""
    tally = ReadTally(records=records, events=events, bytes_read=5000, read_at=AT, **fields)
    return Found(source="codex", size_bytes=5000, modified_at=float(number), tally=tally)


def refused(number: int, reason: str) -> Found:
    return Found(source="codex", size_bytes=900, modified_at=float(number), refusal=reason)


def judged(*files: Found) -> SourceTally:
    (only,) = tallies("/r", files)
    return only


def test_a_root_whose_sessions_all_import_empty_is_silent_and_says_how_many() -> None:
    found = judged(*(read(n, events=0) for n in range(243)))
    assert (found.state, found.found, found.empty) == ("silent", 243, 243)
    ((code, message),) = alarms([found])
    assert code == "source.silent"
    assert "243 of 243 transcripts gave no events" in message


def test_files_that_nothing_recognises_make_a_root_silent_with_the_reason() -> None:
    found = judged(*(refused(n, "its first line has no type") for n in range(3)))
    assert found.state == "silent"
    assert "its first line has no type" in found.why
    assert found.skipped == {"its first line has no type": 3}


def test_a_good_past_does_not_hide_that_the_latest_transcripts_give_nothing() -> None:
    found = judged(
        *(read(n, events=80) for n in range(500)), *(read(1000 + n, events=0) for n in range(18))
    )
    assert found.state == "silent"
    assert "18 of the 20 latest" in found.why


def test_now_and_then_a_session_in_which_nothing_was_said_is_normal() -> None:
    assert judged(*(read(n, events=40 * (n % 2)) for n in range(20))).state == "ok"


def test_more_than_a_tenth_of_recent_records_of_unknown_type_is_drift() -> None:
    at_limit = judged(read(1, events=80, unknown={"hologram": 10}))
    assert at_limit.state == "ok"
    over = judged(read(1, events=80, unknown={"hologram": 11}))
    assert over.state == "drift"
    assert "11 % of 100 recent records" in over.why
    assert "`hologram` (11)" in over.why


def test_unknown_records_of_long_ago_do_not_count_as_drift() -> None:
    old = read(1, events=80, records=100, unknown={"hologram": 90})
    assert judged(old, *(read(n, events=80) for n in range(2, 30))).state == "ok"


def test_a_root_that_nobody_has_read_yet_raises_no_alarm() -> None:
    waiting = Found(source="codex", size_bytes=10, modified_at=1.0)
    assert judged(waiting).state == "unread"
    assert alarms([judged(waiting)]) == []
    assert tallies("/r", []) == []


def test_empty_files_are_told_but_are_no_alarm() -> None:
    empty = Found(source="codex", size_bytes=0, modified_at=1.0)
    found = judged(empty, read(2, events=4))
    assert found.state == "ok"
    assert found.skipped == {"empty file": 1}


def test_sources_below_one_root_are_judged_apart() -> None:
    other = Found(
        source="pi", size_bytes=9, modified_at=1.0, tally=ReadTally(records=9, read_at=AT)
    )
    assert [(one.source, one.state) for one in tallies("/r", [read(1, events=9), other])] == [
        ("codex", "ok"),
        ("pi", "silent"),
    ]
