"""What stands beside a progress bar."""

from __future__ import annotations

import pytest

from hindsight_cli.work_text import clock, work_text
from hindsight_daemon.protocol.params import Progress

MIB = 2**20


def progress(stage: str, done: int, total: int, item: int = 0, items: int = 0) -> Progress:
    return Progress(request=1, stage=stage, done=done, total=total, item=item, items=items)


def test_reading_tells_files_bytes_rate_and_time_left() -> None:
    half = progress("read", 30 * MIB, 120 * MIB, 12, 250)
    assert work_text(half, 30 * MIB, 10.0) == "12/250 files  30.0/120.0 MiB  3.0 MiB/s  0:30 left"


def test_nothing_is_said_of_a_rate_before_it_can_be_known() -> None:
    assert work_text(progress("read", 0, 10 * MIB, 1, 2), 0, 9.0) == "1/2 files  0 B/10.0 MiB"
    assert work_text(progress("read", 512, 2048, 1, 2), 512, 0.1) == "1/2 files  512 B/2.0 KiB"
    assert work_text(progress("read", 0, 0), 0, 9.0) == ""


def test_other_work_is_counted_in_pieces() -> None:
    assert work_text(progress("consolidate", 40, 100, 7, 9), 40, 4.0) == "40/100  10/s  0:06 left"
    assert work_text(progress("embed", 1, 100), 1, 2.0) == "1/100  0.5/s  3:18 left"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0:00"), (59.6, "1:00"), (3600, "1:00:00"), (-3, "0:00")]
)
def test_time_left_is_told_in_minutes_and_hours(seconds: float, said: str) -> None:
    assert clock(seconds) == said
