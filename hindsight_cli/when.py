"""Reads the times and durations people type: `7d`, `yesterday`, `2026-03-09`, `昨天`.

Pure: the present moment is an argument. Days begin at local midnight, which is why `now` must
carry the local zone; results are aware UTC datetimes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

from hindsight_daemon.errors import UsageProblem

_UNITS_S = {
    "s": 1,
    "sec": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86400,
    "w": 7 * 86400,
    "y": 365 * 86400,
    "秒": 1,
    "分钟": 60,
    "小时": 3600,
    "天": 86400,
    "周": 7 * 86400,
    "年": 365 * 86400,
}
_DAYS_AGO = {
    "today": 0,
    "yesterday": 1,
    "今天": 0,
    "昨天": 1,
    "前天": 2,
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+|[秒分钟小时天周年]+)(?:\s*ago|前)?")
_MOST_S = 1000 * 365 * 86400
_FORMS = "such as `7d`, `2h`, `yesterday`, `2026-03-09` or `2026-03-09T14:00`"


def parse_duration(text: str) -> timedelta | None:
    """Read a length of time such as `90s`, `30m`, `2h`, `7d`, `3w`, `1y` or `3天`; None if none."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or found.group(2) not in _UNITS_S:
        return None
    seconds = float(found.group(1)) * _UNITS_S[found.group(2)]
    return timedelta(seconds=seconds) if seconds <= _MOST_S else None


def time_to_live(text: str) -> int:
    """Read `--ttl` as whole seconds; raises `UsageProblem`."""
    length = parse_duration(text)
    if length is None or length < timedelta(seconds=1):
        raise UsageProblem(f"`{text}` is not a length of time", hint="such as `12h`, `30d` or `8w`")
    return int(length.total_seconds())


def _day(text: str, now: datetime) -> datetime | None:
    # A whole day, as its local midnight.
    if (ago := _DAYS_AGO.get(text.lower())) is not None:
        day = (now - timedelta(days=ago)).date()
    else:
        try:
            day = datetime.strptime(text, "%Y-%m-%d").date()
        except ValueError:
            return None
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


def parse_when(text: str, now: datetime, edge: Literal["start", "end"] = "start") -> datetime:
    """Read a moment; of a whole day its start or, for `edge="end"`, the start of the next.

    Durations count back from `now`; times without zone are local. Raises `UsageProblem`.
    """
    text = text.strip()
    try:
        if text.lower() in ("now", "现在"):
            return now.astimezone(UTC)
        if (length := parse_duration(text)) is not None:
            return (now - length).astimezone(UTC)
        if (day := _day(text, now)) is not None:
            return (day + timedelta(days=1 if edge == "end" else 0)).astimezone(UTC)
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageProblem(f"`{text}` is not a time", hint=_FORMS) from None


def as_param(text: str, now: datetime, edge: Literal["start", "end"] = "start") -> str:
    """Return what was typed as the ISO 8601 UTC text the daemon wants; empty stays empty."""
    return parse_when(text, now, edge).isoformat() if text else ""


def age(at: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in the roughest unit that still says something."""
    seconds = (now - at).total_seconds()
    if seconds < 0:
        return at.astimezone(now.tzinfo).date().isoformat()
    for limit, unit, size in (
        (90, "second", 1),
        (90 * 60, "minute", 60),
        (36 * 3600, "hour", 3600),
        (14 * 86400, "day", 86400),
        (60 * 86400, "week", 7 * 86400),
    ):
        if seconds < limit:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return at.astimezone(now.tzinfo).date().isoformat()


def local_now() -> datetime:
    """Return the present moment in the local zone."""
    return datetime.now().astimezone()
