"""Texts are cut and grouped within bounds, and none is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.embed.batches import (
    MAX_BATCH,
    MAX_BATCH_TOKENS,
    clip,
    estimate_tokens,
    group_by_length,
)


@given(st.lists(st.text(max_size=40).map(lambda text: text * 60), max_size=90))
def test_every_text_is_in_one_group_and_no_group_outgrows_its_bounds(texts: list[str]) -> None:
    groups = group_by_length(texts, 512)
    assert sorted(n for group in groups for n in group) == list(range(len(texts)))
    for group in groups:
        longest = max(estimate_tokens(texts[n], 512) for n in group)
        assert len(group) <= MAX_BATCH
        assert len(group) == 1 or len(group) * longest <= MAX_BATCH_TOKENS


def test_a_chinese_character_counts_as_a_token_and_an_english_word_as_about_two() -> None:
    assert estimate_tokens("构建失败", 512) == 4 + 2
    assert estimate_tokens("failed", 512) == 2 + 2
    assert estimate_tokens("x" * 1_000_000, 512) == 512


def test_a_long_text_is_cut_to_what_the_model_could_read() -> None:
    assert clip("short", 512) == "short"
    assert len(clip("漢" * 1_000_000, 512)) >= 512
    assert len(clip("漢" * 1_000_000, 512)) < 10_000
