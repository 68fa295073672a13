"""Which lessons recur, and what is said of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.generalise.__main__ import scored
from hindsight_daemon.engine.generalise import (
    GENERALISED,
    Grouping,
    lesson_of,
    recurs,
    text_of,
    told_already,
)
from hindsight_daemon.model import Memory
from tests.support.lessons import LOCKS, LOCKS_ZH, a_lesson

OURS = {"also", "另外"}


def groups_of(*memories: Memory) -> list[list[str]]:
    groups = Grouping([lesson_of(memory) for memory in memories]).groups({})
    return [[member.text for member in group.members] for group in groups]


@pytest.mark.parametrize(("lang", "recall"), [("en", 0.9), ("zh", 0.9)])
def test_the_labelled_set_is_grouped_without_a_wrong_pair(lang: str, recall: float) -> None:
    result = scored(lang=lang)
    assert result["wrong"] == []
    assert result["recall"] >= recall, result["missed"]


def test_the_same_error_with_another_remedy_stays_apart() -> None:
    other = LOCKS[0].split("`: ")[0] + (
        "`: raise `innodb_lock_wait_timeout` in `my.cnf`, because the import runs for an hour."
    )
    lessons = [a_lesson(n, text) for n, text in enumerate((*LOCKS, other), 1)]
    assert groups_of(*lessons) == [list(LOCKS)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The staging database listens on port 5433.",
            "The staging database listens on port 5434.",
        ),
        ("Always use tabs in this repository.", "Always use spaces in this repository."),
        ("Use `uv` instead of `pip` here.", "Use `pip` instead of `uv` here."),
        ("Squash commits before merging.", "Never squash commits before merging."),
        ("提交信息必须用中文写。", "提交信息必须用英文写。"),
        ("合并前要压缩提交。", "合并前不要压缩提交。"),
    ],
)
def test_statements_that_contradict_do_not_recur(one: str, other: str) -> None:
    lessons = [a_lesson(n, t, kind="preference") for n, t in enumerate((one, other), 1)]
    assert groups_of(*lessons) == []


def test_one_episode_is_no_recurrence() -> None:
    twice = [a_lesson(n, text, derived_from=("e1",)) for n, text in enumerate(LOCKS[:2], 1)]
    (group,) = Grouping([lesson_of(memory) for memory in twice]).groups({})
    assert not recurs(group)


def test_a_known_group_takes_in_what_comes_later() -> None:
    lessons = [a_lesson(n, text) for n, text in enumerate(LOCKS, 1)]
    known = {"g": [lessons[0].id, lessons[1].id]}
    (group,) = Grouping([lesson_of(memory) for memory in lessons]).groups(known)
    assert group.known == "g" and len(group.members) == 3


@pytest.mark.parametrize("texts", [LOCKS, LOCKS_ZH])
def test_every_name_number_and_date_is_kept(texts: tuple[str, ...]) -> None:
    said = text_of([a_lesson(n, text) for n, text in enumerate(texts, 1)])
    for text in texts:
        for one in [*re.findall(r"`([^`]+)`", text), *re.findall(r"\d[\d.-]*", text)]:
            assert one in said.text
    assert said.summary in texts


def test_a_support_is_not_told_again_after_what_it_came_down_to() -> None:
    first, second = (a_lesson(n, text) for n, text in enumerate(LOCKS[:2], 1))
    both = a_lesson(3, LOCKS[2], tags=(GENERALISED,), derived_from=(first.id, second.id))
    assert told_already([first, both, second]) == {second.id}


NAMES = st.sampled_from(
    ["pool.py", "`make test`", "5433", "2026-03-01", "端口", "v1.2.3", "`EACCES`"]
)
WORDS = st.sampled_from(
    ["the", "build", "fails", "raise", "limit", "because", "超时", "连接", "修复"]
)
TEXTS = st.lists(
    st.lists(st.one_of(NAMES, WORDS), min_size=3, max_size=40).map(" ".join),
    min_size=2,
    max_size=30,
)


@given(TEXTS)
def test_nothing_is_said_that_no_support_says(texts: list[str]) -> None:
    said = text_of([a_lesson(n, text) for n, text in enumerate(texts, 1)]).text
    words = set(re.findall(r"\w[\w.-]*\w|\w", " ".join(texts)))
    told = set(re.findall(r"\w[\w.-]*\w|\w", said.replace(" Also: ", " ").replace("另外：", " ")))
    assert told <= words
    for text in texts:
        for name in re.findall(r"`([^`]+)`|(\d[\w.-]*)", text):
            assert (name[0] or name[1]) in said
