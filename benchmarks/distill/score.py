"""Judges what was learnt from a labelled session against its labels. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from benchmarks.distill.cases import Case, Wanted, WantedEpisode
from hindsight_daemon.model import Event, Memory
from hindsight_daemon.service.learning import Learned

MAX_LESSONS_PER_TASK = 3
MAX_LESSON_CHARS = 400
_CJK = re.compile(r"[\u3400-\u9fff]")
_DUMP = re.compile(r"\n|\x1b|</?[a-z_-]+>|\{\"")

Fate = Literal["expected", "also", "wrong", "junk"]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson that was produced, and what a maintainer makes of it."""

    kind: str
    text: str
    fate: Fate
    why: str = ""


class CaseScore(msgspec.Struct, frozen=True, kw_only=True):
    """How one case went; `missed` describes expected lessons that were not learnt."""

    name: str
    lang: str
    format: str
    held_out: bool
    outcomes: int
    outcomes_right: int
    wrong_outcomes: tuple[str, ...]
    expected: int
    missed: tuple[str, ...]
    lessons: tuple[Judged, ...]
    most_per_task: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over cases; shares from 0 to 1."""

    cases: int
    outcomes: int
    outcome_accuracy: float
    expected: int
    recall: float
    produced: int
    precision: float
    junk: float


def score(case: Case, events: Sequence[Event], learned: Iterable[Learned]) -> CaseScore:
    """Compare what was learnt from the events of a session with the labels of its case."""
    tasks = list(learned)
    right, wrong, asked = _outcomes(case, events, tasks)
    left = list(case.lesson)
    judged = []
    for task in tasks:
        for lesson in task.lessons:
            memory = lesson.memory
            judged.append(_judge(case, left, memory.kind, memory.text, memory.scope))
    return CaseScore(
        name=case.name,
        lang=case.lang,
        format=case.format,
        held_out=case.is_held_out,
        outcomes=asked,
        outcomes_right=right,
        wrong_outcomes=tuple(wrong),
        expected=len(case.lesson),
        missed=tuple(f"{one.kind}: {' & '.join(one.has)}" for one in left),
        lessons=tuple(judged),
        most_per_task=max((len(task.lessons) for task in tasks), default=0),
    )


def total(scores: Iterable[CaseScore]) -> Figures:
    """Sum the scores of cases."""
    all_scores = list(scores)
    outcomes = sum(one.outcomes for one in all_scores)
    expected = sum(one.expected for one in all_scores)
    fates = [lesson.fate for one in all_scores for lesson in one.lessons]
    return Figures(
        cases=len(all_scores),
        outcomes=outcomes,
        outcome_accuracy=_share(sum(one.outcomes_right for one in all_scores), outcomes),
        expected=expected,
        recall=_share(expected - sum(len(one.missed) for one in all_scores), expected),
        produced=len(fates),
        precision=_share(sum(fate in ("expected", "also") for fate in fates), len(fates)),
        junk=_share(fates.count("junk"), len(fates)) if fates else 0.0,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _outcomes(
    case: Case, events: Sequence[Event], tasks: list[Learned]
) -> tuple[int, list[str], int]:
    """Return how many labelled outcomes are right, what is wrong, and how many were asked.

    A label speaks of the episode that holds its prompt. Whether a correction goes on with a task or
    begins another is left open: of labels that fall into one episode the last one counts.
    """
    episodes = [task.episode.memory for task in tasks if task.episode is not None]
    if case.no_episode:
        wrong = [f"an episode of `{one.task_goal[:60]}`" for one in episodes]
        return int(not wrong), wrong, 1
    right, asked, wrong = 0, 0, []
    told: dict[str, tuple[WantedEpisode, Memory]] = {}
    for wanted in case.episode:
        found = next((one for one in episodes if _holds(one, events, wanted.goal)), None)
        if found is not None:
            told[found.id] = wanted, found
        elif not wanted.optional:
            asked += 1
            wrong.append(f"no episode `{wanted.goal}`")
    for wanted, found in told.values():
        asked += 1
        if found.outcome in wanted.outcome.split("|"):
            right += 1
        else:
            wrong.append(f"`{wanted.goal}` is {wanted.outcome}, not {found.outcome}")
    return right, wrong, asked


def _holds(episode: Memory, events: Sequence[Event], goal: str) -> bool:
    """Tell whether the user said something within an episode that fits a pattern."""
    ends = {event_id for evidence in episode.evidence for event_id in evidence.event_ids}
    inside = [number for number, event in enumerate(events) if event.id in ends]
    span = events[min(inside) : max(inside) + 1] if inside else ()
    return any(e.kind == "prompt" and re.search(goal, e.text, re.IGNORECASE) for e in span)


def _judge(case: Case, left: list[Wanted], kind: str, text: str, scope: str) -> Judged:
    """Judge a lesson; takes the expected one that it meets out of `left`."""

    def fate(value: Fate, why: str = "") -> Judged:
        return Judged(kind=kind, text=text, fate=value, why=why)

    if len(text) > MAX_LESSON_CHARS:
        return fate("junk", "too long")
    if _DUMP.search(text):
        return fate("junk", "a raw dump")
    for junk in case.junk:
        if junk.fits(text) and junk.allows(kind):
            return fate("junk", "labelled as junk")
    if case.lang == "zh" and not _CJK.search(text):
        return fate("wrong", "not in the language of its session")
    for wanted in left:
        if wanted.fits(text) and wanted.allows(kind):
            if wanted.scope and wanted.scope != scope:
                return fate("wrong", f"scope {scope}, not {wanted.scope}")
            left.remove(wanted)
            return fate("expected")
    if any(also.fits(text) and also.allows(kind) for also in case.also):
        return fate("also")
    if case.nothing:
        return fate("junk", "there is nothing to learn")
    if any(wanted.fits(text) for wanted in case.lesson):
        return fate("wrong", "said already, or of another kind")
    return fate("wrong")
