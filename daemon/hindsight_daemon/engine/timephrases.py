"""Finds expressions such as "last week", "three days ago", 上个月 in a query and dates them.

Pure; imports records only. What it returns is a preference, never a filter: people say "last
week" of what happened nine days ago. Days are counted in the zone of `now`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from hindsight_daemon.model import Record

Span = tuple[datetime, datetime]


class TimePreference(Record, frozen=True, kw_only=True):
    """The half-open interval [since, until) that a phrase speaks of."""

    phrase: str
    since: datetime
    until: datetime

    @property
    def is_relative(self) -> bool:
        """Whether the phrase has a meaning only from today, unlike a date or a month."""
        return _ABSOLUTE.search(self.phrase) is None


def find_time(text: str, now: datetime) -> TimePreference | None:
    """Return the first time expression in `text`, dated from `now`, or None."""
    best: tuple[int, re.Match[str], _Dater] | None = None
    for pattern, dater in _PHRASES:
        match = pattern.search(text)
        if match and (best is None or match.start() < best[0]):
            best = (match.start(), match, dater)
    if best is None:
        return None
    _, match, dater = best
    try:
        span = dater(match, now)
    except (OverflowError, ValueError):  # a count or date outside the calendar
        return None
    return None if span is None else TimePreference(phrase=match[0], since=span[0], until=span[1])


_Dater = Callable[[re.Match[str], datetime], Span | None]

_EN_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "a couple of": 2,
    "few": 3, "a few": 3, "several": 4,
}  # fmt: skip
_ZH_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "俩": 2, "〇": 0}
_MONTH_TEXT = (
    "january february march april may june july august september october november december"
)
_MONTHS = tuple(_MONTH_TEXT.split())
_ABSOLUTE = re.compile(
    r"[\d一二三四五六七八九十](?:月|-\d)|\d{4}|" + "|".join(_MONTHS), re.IGNORECASE
)
_WEEKDAY_TEXT = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = tuple(_WEEKDAY_TEXT.split())
_ZH_WEEKDAYS = {c: n for n, c in enumerate("一二三四五六")} | {"日": 6, "天": 6}
_NUMBER = (
    r"(\d{1,4}|(?:a )?couple of|a few|few|several|an?|"
    + "|".join(word for word in _EN_NUMBERS if word.isalpha() and len(word) > 2)
    + ")"
)
_ZH_NUMBER = r"(\d{1,4}|[零〇一二两俩三四五六七八九十]{1,3}|几|半)"
_UNIT = r"(minute|hour|day|week|month|year)s?"
_ZH_UNIT = r"(分钟|小时|天|日|个?星期|个?礼拜|周|个?月|年)"


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _add_months(at: datetime, count: int) -> datetime:
    month = at.year * 12 + at.month - 1 + count
    return at.replace(year=month // 12, month=month % 12 + 1, day=1)


def _period(unit: str, now: datetime, back: int) -> Span:
    """Return the whole day, week, month or year that lies `back` units before the present one."""
    today = _day(now)
    if unit == "day":
        start = today - timedelta(days=back)
        return start, start + timedelta(days=1)
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * back)
        return start, start + timedelta(days=7)
    if unit == "month":
        return _add_months(today, -back), _add_months(today, 1 - back)
    year = today.replace(month=1, day=1)
    return year.replace(year=year.year - back), year.replace(year=year.year - back + 1)


def _around(count: int, unit: str, now: datetime) -> Span:
    """Return the stretch that `count` units ago may mean: exact for small units, wider above."""
    if unit in ("minute", "hour"):
        at = now - timedelta(**{unit + "s": count})
        slack = timedelta(**{unit + "s": max(1, count // 2)})
        return at - slack, min(now, at + slack)
    if unit == "day":
        return _period("day", now, count)
    days = {"week": 7, "month": 30, "year": 365}[unit]
    at, slack_days = _day(now) - timedelta(days=days * count), max(3, days // 2)
    return at - timedelta(days=slack_days), at + timedelta(days=slack_days + 1)


def _lately(count: int, unit: str, now: datetime) -> Span:
    days = {"day": 1, "week": 7, "month": 30, "year": 365}.get(unit)
    back = timedelta(days=days * count) if days else timedelta(**{unit + "s": count})
    return (_day(now - back) if days else now - back), now + timedelta(seconds=1)


def _en_number(text: str) -> int:
    text = text.lower()
    return int(text) if text.isdigit() else _EN_NUMBERS[text]


def _zh_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text == "几":
        return 3
    tens, ten, ones = text.partition("十")
    if ten:
        return (_ZH_DIGITS.get(tens, 1) if tens else 1) * 10 + (_ZH_DIGITS[ones] if ones else 0)
    value = 0
    for character in text:
        value = value * 10 + _ZH_DIGITS[character]
    return value


def _zh_unit(text: str) -> str:
    if text in ("天", "日"):
        return "day"
    if text.endswith(("星期", "礼拜", "周")):
        return "week"
    return {"分钟": "minute", "小时": "hour", "年": "year"}.get(text, "month")


def _named_month(month: int, year: int | None, now: datetime) -> Span:
    start = _day(now).replace(year=year or now.year, month=month, day=1)
    if year is None and start > now:
        start = start.replace(year=start.year - 1)
    return start, _add_months(start, 1)


def _on_day(year: int | None, month: int, day: int, now: datetime) -> Span:
    start = _day(now).replace(year=year or now.year, month=month, day=day)
    if year is None and start > now:
        start = start.replace(year=start.year - 1)
    return start, start + timedelta(days=1)


def _weekday(number: int, now: datetime, *, last_week: bool) -> Span:
    if last_week:
        start = _period("week", now, 1)[0] + timedelta(days=number)
    else:
        start = _day(now) - timedelta(days=(now.weekday() - number - 1) % 7 + 1)
    return start, start + timedelta(days=1)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ZH_BACK = {"今": 0, "昨": 1, "前": 2, "去": 1, "本": 0, "这": 0, "上": 1, "大前": 3, "上上": 2}
_PHRASES: tuple[tuple[re.Pattern[str], _Dater], ...] = (
    (
        _compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"),
        lambda m, now: _on_day(int(m[1]), int(m[2]), int(m[3]), now),
    ),
    (_compile(r"\bday before yesterday\b"), lambda _, now: _period("day", now, 2)),
    (_compile(r"(?<!before )\b(?:yesterday|last night)\b"), lambda _, now: _period("day", now, 1)),
    (
        _compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b"),
        lambda _, now: _period("day", now, 0),
    ),
    (
        _compile(r"\b(last|past|previous|this) (week|month|year)\b"),
        lambda m, now: _period(m[2].lower(), now, 0 if m[1].lower() == "this" else 1),
    ),
    (_compile(r"\blast weekend\b"), lambda _, now: _weekend(now)),
    (
        _compile(rf"\b{_NUMBER} {_UNIT} (?:ago|earlier|back)\b"),
        lambda m, now: _around(_en_number(m[1]), m[2].lower(), now),
    ),
    (
        _compile(rf"\b(?:in |within |over |during )?(?:the )?(?:last|past) {_NUMBER} {_UNIT}\b"),
        lambda m, now: _lately(_en_number(m[1]), m[2].lower(), now),
    ),
    (
        _compile(rf"\b(?:last|on) ({'|'.join(_WEEKDAYS)})\b"),
        lambda m, now: _weekday(_WEEKDAYS.index(m[1].lower()), now, last_week=False),
    ),
    (
        _compile(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (\d{{4}}))?\b"),
        lambda m, now: _on_day(
            int(m[3]) if m[3] else None, _MONTHS.index(m[1].lower()) + 1, int(m[2]), now
        ),
    ),
    (
        _compile(
            rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({'|'.join(_MONTHS)})(?:,? (\d{{4}}))?\b"
        ),
        lambda m, now: _on_day(
            int(m[3]) if m[3] else None, _MONTHS.index(m[2].lower()) + 1, int(m[1]), now
        ),
    ),
    (
        _compile(r"\b(?:in|during) (19\d{2}|20\d{2})\b"),
        lambda m, now: _period("year", now.replace(year=int(m[1]), month=6, day=15), 0),
    ),
    (
        _compile(rf"\b(?:in|during|since|last|of) ({'|'.join(_MONTHS)})(?:,? (\d{{4}}))?\b"),
        lambda m, now: _named_month(
            _MONTHS.index(m[1].lower()) + 1, int(m[2]) if m[2] else None, now
        ),
    ),
    (_compile(r"(大前|前|昨|今)[天晚]"), lambda m, now: _period("day", now, _ZH_BACK[m[1]])),
    (
        _compile(r"(上上|上|这|本)个?(?:星期|礼拜|周)([一二三四五六日天])"),
        lambda m, now: _zh_weekday(m, now),
    ),
    (
        _compile(r"(上上|上|这|本)个?(?:星期|礼拜|周)(?![一二三四五六日天])"),
        lambda m, now: _period("week", now, _ZH_BACK[m[1]]),
    ),
    (
        _compile(r"(上上个|上个|这个|本)月"),
        lambda m, now: _period("month", now, _ZH_BACK[m[1].removesuffix("个")]),
    ),
    (
        _compile(r"(前|去|今)年(?!\d|[一二三四五六七八九十]+月)"),
        lambda m, now: _period("year", now, _ZH_BACK[m[1]]),
    ),
    (
        _compile(rf"{_ZH_NUMBER}{_ZH_UNIT}(?:之|以)?前"),
        lambda m, now: None if m[1] == "半" else _around(_zh_number(m[1]), _zh_unit(m[2]), now),
    ),
    (
        _compile(rf"(?:最近|过去|近)的?{_ZH_NUMBER}{_ZH_UNIT}"),
        lambda m, now: None if m[1] == "半" else _lately(_zh_number(m[1]), _zh_unit(m[2]), now),
    ),
    (
        _compile(
            r"(?:(\d{4}|[今去前])年)?(\d{1,2}|[一二三四五六七八九]|十[一二]?)月(?:(\d{1,2})[日号])?"
        ),
        lambda m, now: _zh_date(m, now),
    ),
)  # fmt: skip


def _weekend(now: datetime) -> Span:
    start = _period("week", now, 1)[0] + timedelta(days=5)
    return start, start + timedelta(days=2)


def _zh_weekday(match: re.Match[str], now: datetime) -> Span:
    start = _period("week", now, _ZH_BACK[match[1]])[0]
    start += timedelta(days=_ZH_WEEKDAYS[match[2]])
    return start, start + timedelta(days=1)


def _zh_date(match: re.Match[str], now: datetime) -> Span:
    year = None
    if match[1]:
        year = int(match[1]) if match[1].isdigit() else now.year - _ZH_BACK[match[1]]
    month = _zh_number(match[2])
    if match[3]:
        return _on_day(year, month, int(match[3]), now)
    return _named_month(month, year, now)
