"""The normal form: what counts as the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.engine.lang import detect, is_chinese
from hindsight_daemon.engine.normalize import content_hash, normalize


@pytest.mark.parametrize(
    "other",
    [
        "use pnpm, not npm",
        "Use  pnpm,\n not npm.",
        "Use `pnpm`, not **npm**!",
        "“Use pnpm, not npm”",
        "Ｕｓｅ ｐｎｐｍ, ｎｏｔ ｎｐｍ",
        "Use p\u200bnpm, not n\u00adpm",
        "Usе рnрm, not nрm",  # Cyrillic е and р
        "Use pnpm, not npm \ufeff",
    ],
)
def test_case_width_spacing_quotes_and_lookalikes_do_not_count(other: str) -> None:
    assert content_hash(other) == content_hash("Use pnpm, not npm.")


@pytest.mark.parametrize("other", ["以后都用pnpm,不要用npm", "以后都用 `pnpm` ， 不要用 npm。"])
def test_spacing_and_width_do_not_count_in_chinese(other: str) -> None:
    assert content_hash(other) == content_hash("以后都用 pnpm，不要用 npm")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use port 5432", "use port 5433"),
        ("use pnpm, not npm", "use npm, not pnpm"),
        ("always run make test", "never run make test"),
        ("要用 npm", "不要用 npm"),
        ("set a.b", "set a b"),
    ],
)
def test_texts_that_say_different_things_stay_different(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


@given(st.text(max_size=200))
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.text(max_size=120), st.sampled_from(["\u200b", "\u00ad", "\ufeff", "\u2060"]))
def test_invisible_characters_never_change_the_form(text: str, invisible: str) -> None:
    assert normalize(invisible.join(text.split(" "))) == normalize("".join(text.split(" ")))


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("run the tests again please", "en"),
        ("修复 `pytest tests/unit/test_a.py` 卡住的问题", "zh"),
        ("帮我 review 一下这个 pull request 的 code style", "mixed"),
        ("テストを実行してください", "other"),
        ("запусти тесты", "other"),
        ("", "other"),
    ],
)
def test_the_language_follows_from_the_script(text: str, lang: str) -> None:
    assert detect(text) == lang


def test_mixed_text_is_answered_in_chinese() -> None:
    assert is_chinese("帮我 review 一下这个 pull request 的 code style")
    assert not is_chinese("fix the 中文 encoding in the csv parser of the importer module")
