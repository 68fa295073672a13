"""What profiles and settings make of the arms' weights, and which names lead on."""

from __future__ import annotations

from hindsight_daemon.config import CHOICES
from hindsight_daemon.engine.fusion import KEYWORD, RECENT, VECTOR, arm_weights
from hindsight_daemon.engine.hops import names_in
from hindsight_daemon.engine.profiles import PROFILES


def weights(name: str, **factors: float) -> dict[str, float]:
    return PROFILES[name].weights(is_cjk=False, is_passage=False, factors=factors)


def test_the_default_profile_changes_nothing() -> None:
    assert weights("auto") == arm_weights(is_cjk=False)


def test_recency_weighs_most_where_work_is_taken_up_again() -> None:
    assert weights("continuity")[RECENT] > weights("facts")[RECENT] > weights("auto")[RECENT]


def test_settings_multiply_the_weights_and_cannot_leave_nothing() -> None:
    assert weights("auto", **{VECTOR: 0.0}) == {**arm_weights(is_cjk=False), VECTOR: 0.0}
    assert weights("auto", **{VECTOR: 0.0, KEYWORD: 0.0}) == arm_weights(is_cjk=False)


def test_the_setting_offers_every_profile() -> None:
    assert set(CHOICES["recall.profile"]) == set(PROFILES)


def test_names_are_what_is_written_as_one_or_depended_on() -> None:
    assert "LedgerApi" in names_in("OrderService calls LedgerApi for refunds")
    assert "Jonas Meyer" in names_in("Hanna reports to Jonas Meyer.")
    assert "billing queue" in names_in("The mailer depends on the billing queue.")
    assert "库存服务" in names_in("订单服务依赖库存服务。")
    assert names_in("it rained all day") == ()
