"""The labelled set of the distiller is well-formed, and the distiller does not fall behind."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.distill.__main__ import score_cases, summarise
from benchmarks.distill.cases import FORMATS, Case, load, parse_script
from benchmarks.distill.production import read_sessions
from benchmarks.distill.score import MAX_LESSONS_PER_TASK, CaseScore
from benchmarks.distill.wire import file_name, render

FLOORS = {
    "all": {"outcome_accuracy": 0.95, "recall": 0.9, "precision": 0.9},
    "held-out half": {"outcome_accuracy": 0.9, "recall": 0.85, "precision": 0.82},
}
MOST_JUNK = 0.02


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return load()


@pytest.fixture(scope="module")
def scores(cases: list[Case]) -> list[CaseScore]:
    return score_cases(cases)


def test_the_set_covers_all_formats_and_a_third_of_it_is_chinese(cases: list[Case]) -> None:
    assert len(cases) >= 40
    assert {case.format for case in cases} == set(FORMATS)
    assert sum(case.lang == "zh" for case in cases) >= len(cases) / 3
    assert sum(case.nothing for case in cases) >= 10
    assert sum(case.is_held_out for case in cases) >= len(cases) / 3


def test_every_session_is_read_in_its_format_with_every_step(
    cases: list[Case], tmp_path: Path
) -> None:
    for case in cases:
        path = tmp_path / file_name(case)
        path.write_text(render(case), encoding="utf-8")
        sessions = list(read_sessions(path))
        assert [session.agent for session in sessions] == [case.format], case.name
        kinds = Counter(event.kind for event in sessions[0].events)
        tools = [s for s in case.steps if s.kind in ("shell", "read", "grep", "edit", "write")]
        assert kinds["tool_call"] == len(tools), case.name
        failed = [
            event.tool.is_error or bool(event.tool.exit_code)
            for event in sessions[0].events
            if event.kind == "tool_result" and event.tool
        ]
        ended = [step for step in tools if not (step.is_cut_off and case.format != "gemini-cli")]
        wanted = [bool(s.exit_code or s.refusal or s.is_cut_off) for s in ended]
        assert [bool(one) for one in failed] == wanted, case.name


def test_labels_of_expected_and_unwanted_lessons_do_not_mix(cases: list[Case]) -> None:
    for case in cases:
        assert not (case.nothing and case.lesson), case.name
        assert not (case.no_episode and case.episode), case.name


def test_a_script_line_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no script line"):
        parse_script(["> hello", "what is this"])


@pytest.mark.parametrize("group", FLOORS)
def test_the_distiller_does_not_fall_below_its_floors(scores: list[CaseScore], group: str) -> None:
    figures = summarise(scores)[group]
    for name, floor in FLOORS[group].items():
        assert getattr(figures, name) >= floor, json.dumps(
            [(one.name, one.missed, one.wrong_outcomes) for one in scores if one.missed]
        )


def test_next_to_nothing_that_is_learnt_is_junk(scores: list[CaseScore]) -> None:
    produced = [lesson for one in scores for lesson in one.lessons]
    junk = [lesson for lesson in produced if lesson.fate == "junk"]
    assert len(junk) <= MOST_JUNK * len(produced), junk


def test_no_task_teaches_more_than_three_lessons(scores: list[CaseScore]) -> None:
    assert max(one.most_per_task for one in scores) <= MAX_LESSONS_PER_TASK
