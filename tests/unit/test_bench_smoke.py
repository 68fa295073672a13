"""The quality guard's own corpus is whole, and it tells a fall from noise."""

from __future__ import annotations

import json

from benchmarks.retrieval import load_set
from benchmarks.smoke import FIGURES, FOLDER, KEPT, fallen

SETS = [load_set(path.parent) for path in sorted(FOLDER.glob("*/queries.jsonl"))]


def test_the_guard_asks_about_enough_texts_in_both_languages() -> None:
    assert sum(len(found.passages) for found in SETS) >= 120
    questions = [question for found in SETS for question in found.questions]
    assert len(questions) >= 60
    assert sum(question.lang == "zh" for question in questions) >= 20
    assert sum(bool(question.stale) for question in questions) >= 10


def test_every_question_of_the_guard_has_its_answer_in_the_corpus() -> None:
    for found in SETS:
        known = {passage.id for passage in found.passages}
        for question in found.questions:
            assert question.gold
            assert {*question.gold, *question.stale} <= known


def test_what_changed_was_said_later_than_what_it_replaces() -> None:
    for found in SETS:
        at = {passage.id: passage.ts for passage in found.passages}
        for question in found.questions:
            for stale in question.stale:
                assert at[stale] < max(at[gold] for gold in question.gold)


def test_a_lost_question_is_let_through_and_two_are_not() -> None:
    kept = dict.fromkeys(KEPT, 0.9)
    one_lost = kept | {"recall@5": 0.9 - 1 / 71}
    two_lost = kept | {"recall@5": 0.9 - 2 / 71}
    assert fallen(one_lost, kept) == []
    assert fallen(two_lost, kept) == ["recall@5 fell from 90.0 to 87.2"]


def test_figures_are_kept_with_and_without_a_model() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert len(figures) >= 2
    assert set(figures["none"]) == set(KEPT)
