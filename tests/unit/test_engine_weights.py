"""What age, importance, trust, status, scope and a newer statement do to the order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_daemon.engine.fusion import Candidate
from hindsight_daemon.engine.succession import newer_first
from hindsight_daemon.engine.terms import terms_text
from hindsight_daemon.engine.weights import FADE_LIMIT, Asker, decay, weigh, weigh_all
from hindsight_daemon.model import STATUSES, Key

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR_S = 365 * 86400.0


def candidate(memory_id: str = "m", fused: float = 0.5, **columns: Any) -> Candidate:
    values: dict[str, Any] = {
        "id": f"{memory_id}:0",
        "memory_id": memory_id,
        "key_kind": "text",
        "text": "t",
        "terms": "t",
        "created_at": NOW,
        "kind": "lesson",
        "layer": "semantic",
    }
    key = Key(**(values | columns))
    return Candidate(memory_id=memory_id, key=key, fused=fused, arms={})


TELLING = " ".join(f"word{n}" for n in range(30))


def final(asker: Asker | None = None, **columns: Any) -> float:
    return weigh(candidate(**columns), asker or Asker(now=NOW)).final


def test_what_matters_does_not_fade() -> None:
    assert decay("lesson", 0.9, 10 * YEAR_S) == 1.0
    assert decay("lesson", 0.2, YEAR_S) < decay("lesson", 0.5, YEAR_S) < 1.0


def test_fading_has_a_floor() -> None:
    assert decay("episode", 0.0, 1000 * YEAR_S) == pytest.approx(1.0 - FADE_LIMIT)


def test_episodes_fade_sooner_than_preferences() -> None:
    assert decay("episode", 0.3, YEAR_S / 12) < decay("preference", 0.3, YEAR_S / 12)


def test_what_was_said_does_not_fade() -> None:
    assert decay("turn", 0.2, 10 * YEAR_S) == 1.0


def test_a_memory_from_the_future_is_not_lifted() -> None:
    assert decay("fact", 0.2, -YEAR_S) == 1.0


def test_status_orders_equal_matches() -> None:
    scores = {status: final(status=status) for status in STATUSES}
    assert scores["valid"] > scores["unverified"] > scores["stale"] > scores["superseded"]
    assert scores["superseded"] > scores["contradicted"]


def test_confidence_and_importance_lift() -> None:
    assert final(confidence=0.9) > final(confidence=0.3)
    assert final(importance_score=0.9) > final(importance_score=0.2)


def test_distilled_memories_come_first_unless_turns_were_asked_for() -> None:
    assert final(kind="turn") < final()
    turns_only = Asker(now=NOW, wants_turns_only=True)
    told = final(turns_only, kind="turn", terms=TELLING)
    assert told == pytest.approx(final(turns_only, kind="fact"))


def test_a_turn_that_answers_clearly_better_still_wins() -> None:
    ranked = weigh_all(
        [candidate("lesson", 0.6), candidate("turn", 0.9, kind="turn", terms=TELLING)],
        Asker(now=NOW),
    )
    assert [one.candidate.memory_id for one in ranked] == ["turn", "lesson"]


def test_the_own_project_fits_best_and_a_foreign_one_least() -> None:
    asker = Asker(now=NOW, project="here")
    own, everywhere = final(asker, project="here"), final(asker, project="")
    assert own > everywhere > final(asker, project="there")
    assert final(asker, project="there", scope="global") == pytest.approx(everywhere)


def test_a_spoken_of_time_is_preferred_and_never_required() -> None:
    week = timedelta(days=7)
    asker = Asker(now=NOW, since=NOW - week, until=NOW)
    inside = final(asker, kind="turn", created_at=NOW - week / 2)
    outside = final(asker, kind="turn", created_at=NOW - 4 * week)
    assert inside > outside > 0


def test_every_factor_is_shown_and_makes_up_the_final_score() -> None:
    weighed = weigh(candidate(status="stale", project="x"), Asker(now=NOW, project="y"))
    product = weighed.candidate.fused
    for factor in weighed.factors.values():
        product *= factor
    assert weighed.final == pytest.approx(product)
    assert {"decay", "importance", "confidence", "status", "scope", "kind"} <= set(weighed.factors)


def statements(*said: tuple[str, float, int], **columns: Any) -> list[Any]:
    """Return weighed statements of (text, score, age in days), in the given order."""
    return weigh_all(
        [
            candidate(
                text,
                score,
                terms=terms_text(text),
                created_at=NOW - timedelta(days=age_days),
                importance_score=0.9,
                **columns,
            )
            for text, score, age_days in said
        ],
        Asker(now=NOW),
    )


OLD = "The billing service listens on port 8080"
NEW = "The billing service now listens on port 8443"
QUERY = ("bill", "servic", "port")


def ids(ranked: list[Any]) -> list[str]:
    return [one.candidate.memory_id for one in ranked]


def test_of_two_statements_about_one_thing_the_newer_comes_first() -> None:
    ranked = newer_first(statements((OLD, 0.9, 30), (NEW, 0.8, 1)), QUERY)
    assert ids(ranked) == [NEW, OLD]
    assert ranked[0].final == pytest.approx(ranked[1].final)
    assert ranked[0].factors["newer"] > 1


def test_the_newer_statement_in_front_stays_there() -> None:
    assert ids(newer_first(statements((NEW, 0.9, 1), (OLD, 0.8, 30)), QUERY)) == [NEW, OLD]


@pytest.mark.parametrize(
    ("newer", "score"),
    [
        ("The invoice service listens on port 8443", 0.8),  # another subject: lacks a query word
        ("Billing service port checks run nightly in the staging cluster of Dublin", 0.8),
        (NEW, 0.3),  # matches far worse
    ],
)
def test_what_only_resembles_is_not_lifted(newer: str, score: float) -> None:
    assert ids(newer_first(statements((OLD, 0.9, 30), (newer, score, 1)), QUERY))[0] == OLD


def test_a_newer_guess_does_not_pass_what_is_much_surer() -> None:
    [guess] = statements((NEW, 0.8, 1), confidence=0.4)
    [said] = statements((OLD, 0.9, 30), confidence=0.8)
    assert ids(newer_first([said, guess], QUERY)) == [OLD, NEW]


def test_turns_keep_their_order() -> None:
    said = statements((OLD, 0.9, 30), (NEW, 0.8, 1), kind="turn")
    assert ids(newer_first(said, QUERY)) == [OLD, NEW]


def test_a_query_without_words_moves_nothing() -> None:
    assert ids(newer_first(statements((OLD, 0.9, 30), (NEW, 0.8, 1)), ())) == [OLD, NEW]
