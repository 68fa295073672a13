"""A prefilter may let anything through, but never keeps out what an expression matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_daemon.engine.prefilter import Prefilter, needles_of

PATTERNS = (
    re.compile(r"error(?: TS\d+|\[E\d+\])|: (?:fatal )?error:? \S|\bORA-\d+"),
    re.compile(r"(?:timed? ?out|deadline exceeded|h[ua]ng)\b", re.I),
    re.compile(r"^(?P<chosen>(?:Us(?:e|ing)|Kept|Keep) .+? (?:instead of|over) .+)", re.M),
    re.compile(r"(?:错误|异常|无法).{2,}|不要(?:再|使)?用"),
    re.compile(r"^E {3}|\b[1-9]\d* (?:failed|errors?)\b|-{3} FAIL"),
    re.compile(r"(?:ab|cd){2}ef?|(?:kiss){1,3}(?=ing)"),
    re.compile(r"[Kk]ilo[sS]|maß|ΣΑΣ|[^x]yz", re.I),
    re.compile(r"(a|bc)*d?"),
)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:30])
@given(data=st.data())
@settings(max_examples=60)
def test_a_text_that_an_expression_matches_is_never_kept_out(
    pattern: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    around = data.draw(st.text(max_size=8))
    assert Prefilter([pattern]).may_match(text)
    assert Prefilter(PATTERNS[:5]).may_match(text) or pattern not in PATTERNS[:5]
    longer = f"{around}\n{text}\n{around}"
    assert Prefilter([pattern]).may_match(longer) or not pattern.search(longer)


@given(st.text(alphabet="kKsSiI\u212a\u017f\u0130\u0131ﬁ", max_size=6))
def test_letters_that_only_case_folding_equates_are_found(text: str) -> None:
    pattern = re.compile("skis", re.I)
    assert Prefilter([pattern]).may_match(text) or not pattern.search(text)


def test_a_text_without_any_of_the_literals_is_kept_out() -> None:
    guard = Prefilter([re.compile(r"\bfatal: \w+", re.I), re.compile("[Pp]anic|死锁")])
    assert not guard.may_match("all is well")
    assert guard.may_match("FATAL: disk")
    assert guard.may_match("发生死锁")


def test_an_expression_that_can_match_anything_keeps_nothing_out() -> None:
    assert needles_of(re.compile(r"\w+|error")) is None
    assert Prefilter([re.compile(r"\w+|error")]).may_match("")
