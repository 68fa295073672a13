"""The slots a language model may fill for a task, and the rules that its words must pass.

Pure; imports records and prose handling. Whatever the model says ends up in these slots or
nowhere: it cannot name an event that it was not shown, nor a file, command, number or version that
does not stand in the task, nor answer in another language than the task's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from hindsight_daemon.engine.lang import detect, has_han, is_chinese
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.screen import is_junk
from hindsight_daemon.engine.steering import steers
from hindsight_daemon.model import Record

MAX_LESSONS = 3
MAX_GOAL_CHARS = 240
MAX_REASON_CHARS = 300
MAX_LESSON_CHARS = 420
_MIN_LESSON_CHARS = {True: 8, False: 20}
_LITERAL = re.compile(
    r"`([^`\n]{1,120})`|((?:[\w.@~-]*/)+[\w.@-]+)|\b(\w+_\w+)\b|\b(\d+(?:[.:]\d+)+|\d{2,})\b"
    r"|(?<![\w.])(--?[a-z][\w-]+)"
)
_TOKEN = re.compile(r"[^\s`'\"(),;，。；]+")
_UNIT = re.compile(r"[A-Za-z0-9_]+|[\u3400-\u9fff]")

Slot = Literal["lesson", "preference", "decision", "solution", "fact", "procedure"]
TaskType = Literal[
    "debug", "review", "test", "refactor", "docs", "config", "feature", "ops", "explore"
]


class LessonSlot(Struct, frozen=True, forbid_unknown_fields=True):
    """One lesson: a sentence, its kind and weight, and the names of the events that show it."""

    kind: Slot
    text: str
    evidence: list[str]
    importance: Literal["high", "medium", "low"]


class TaskSlots(Struct, frozen=True, forbid_unknown_fields=True):
    """What a task comes down to."""

    goal: str
    task_type: TaskType
    outcome: Literal["success", "partial", "failure", "unknown"]
    failure_reason: str
    lessons: list[LessonSlot]


class Shown(Record, frozen=True, kw_only=True):
    """What the model was shown of a task.

    `names` maps the short names of events to their ids, `said_by_user` holds the short names of
    what the user said; `haystack` is all the task's text in normal form, against which literals
    are held; `lang` is the language its answer has to be in: zh, en or empty for any.
    """

    text: str
    names: dict[str, str]
    said_by_user: frozenset[str]
    haystack: str
    lang: Literal["zh", "en", ""]
    evidence: str


def language_of(goal: str) -> Literal["zh", "en", ""]:
    """Return the language in which to speak about a task."""
    if is_chinese(goal):
        return "zh"
    return "en" if detect(goal) in ("en", "mixed") else ""


def usable(slots: TaskSlots, shown: Shown) -> tuple[TaskSlots, tuple[str, ...]]:
    """Return the slots without what breaks a rule, and what was wrong.

    A goal or failure reason that breaks one becomes empty; a lesson that does is left out.
    """
    problems: list[str] = []

    def kept(name: str, text: str, limit: int) -> str:
        text = " ".join(text.split())
        if text and (why := _text_problem(text, shown, limit)):
            problems.append(f"{name}: {why}")
            return ""
        return text

    goal = kept("goal", slots.goal, MAX_GOAL_CHARS)
    reason = kept("failure_reason", slots.failure_reason, MAX_REASON_CHARS)
    lessons: list[LessonSlot] = []
    forms: list[str] = []
    for number, lesson in enumerate(slots.lessons, 1):
        lesson = structs.replace(lesson, text=" ".join(lesson.text.split()))
        form = normalize(lesson.text)
        why = _lesson_problem(lesson, shown)
        if not why and any(form in other or other in form for other in forms):
            why = "says the same as another"
        if not why and len(lessons) == MAX_LESSONS:
            why = f"there are more than {MAX_LESSONS}"
        if why:
            problems.append(f"lesson {number}: {why}")
            continue
        forms.append(form)
        lessons.append(lesson)
    clean = structs.replace(slots, goal=goal, failure_reason=reason, lessons=lessons)
    return clean, tuple(problems)


def _lesson_problem(lesson: LessonSlot, shown: Shown) -> str:
    if len(lesson.text) < _MIN_LESSON_CHARS[has_han(lesson.text)]:
        return "is too short to say anything"
    if why := _text_problem(lesson.text, shown, MAX_LESSON_CHARS):
        return why
    if not lesson.evidence:
        return "cites no event"
    unknown = [name for name in lesson.evidence if name not in shown.names]
    if unknown:
        return f"cites `{unknown[0][:20]}`, which is no event of the task"
    if lesson.kind == "preference" and not shown.said_by_user.intersection(lesson.evidence):
        return "claims a preference without words of the user"
    return is_junk(lesson.text)


def _text_problem(text: str, shown: Shown, limit: int) -> str:
    if len(text) > limit:
        return f"has {len(text)} characters, at most {limit} may be"
    if shown.lang and _is_foreign(text, shown.lang):
        return f"is not in the language of the task ({shown.lang})"
    if _repeats(text):
        return "repeats itself"
    if why := steers(text):
        return f"reads like an instruction: {why}"
    if missing := _invented(text, shown.haystack):
        return f"names `{missing[:60]}`, which does not stand in the task"
    return ""


def _is_foreign(text: str, lang: str) -> bool:
    found = detect(text)
    if lang == "zh":
        return not has_han(text)
    return found in ("zh", "other") or is_chinese(text)


def _repeats(text: str) -> bool:
    units = [unit.casefold() for unit in _UNIT.findall(text)]
    if len(units) < 9:
        return len(units) >= 4 and len(set(units)) == 1
    size = 4
    runs: dict[tuple[str, ...], int] = {}
    for at in range(len(units) - size + 1):
        run = tuple(units[at : at + size])
        runs[run] = runs.get(run, 0) + 1
    return max(runs.values()) >= 3 or len(set(units)) * 3 < len(units)


def _invented(text: str, haystack: str) -> str:
    """Return the first literal of `text` that does not occur in the task, empty if all do.

    Of a span in backticks every word has to occur, so that a command may be quoted shortened.
    """
    for match in _LITERAL.finditer(text):
        literal = next(group for group in match.groups() if group)
        for token in _TOKEN.findall(literal):
            form = normalize(token.strip(".:!?…"))
            if form and form not in haystack:
                return literal
    return ""


def cited(lesson: LessonSlot, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the events a lesson cites, in its order."""
    return tuple(dict.fromkeys(names[name] for name in lesson.evidence))
