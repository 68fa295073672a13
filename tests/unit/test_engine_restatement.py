"""What counts as the same statement once more, and what as another one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_daemon.engine.forgotten import Forgotten
from hindsight_daemon.engine.lookalikes import folded, joined
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.restatement import restates, statement_form, statement_of
from hindsight_daemon.model import Tombstone

PORT = "The staging database listens on port 8080"
端口 = "测试环境的数据库端口是 8080"


def forgotten(*texts: str) -> Forgotten:
    found = Forgotten()
    found.add(
        Tombstone(
            id=f"t{number}",
            normalized_text=normalize(text),
            memory_id=f"m{number}",
            since=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for number, text in enumerate(texts)
    )
    return found


@pytest.mark.parametrize(
    "text",
    [
        PORT,
        "the staging database   listens on port 8080!",
        "Remember: the staging database listens on port 8080.",
        "Please note that the staging database listens on port 8080, thanks",
        "Тhe stаging dаtаbаse listens оn pоrt 8080",
        "The st\u200baging data\u00adbase listens on port ８０８０",
        "The staging database listens on port 8o8o",
        "Ｔｈｅ　ｓｔａｇｉｎｇ　ｄａｔａｂａｓｅ　ｌｉｓｔｅｎｓ　ｏｎ　ｐｏｒｔ　８０８０",
        "Thé stáging dátábase listens ön port 8080",
        "“The staging database” listens on `port` 8080",
        "THE STAGING DATABASE LISTENS ON PORT: 8080",
        "On port 8080 the staging db listens",
    ],
)
def test_a_disguised_statement_is_known_again(text: str) -> None:
    assert forgotten(PORT).blocking(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        端口,
        "记住：测试环境的数据库端口是8080。",
        "测试环境的数据库端口是 ８０８０！",
        "测试环境的数据库\u200b端口为 8080",
        "请注意，测试环境数据库的端口是 8080 哦",
    ],
)
def test_a_disguised_chinese_statement_is_known_again(text: str) -> None:
    assert forgotten(端口).blocking(text) is not None


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        (PORT, "The staging database listens on port 9090"),
        (PORT, "The staging database does not listen on port 8080"),
        (PORT, "The staging database no longer listens on port 8080"),
        (PORT, "The production database listens on port 8080"),
        (PORT, "The staging database listens on port 9090 instead of 8080"),
        ("Deploy on Fridays", "Never deploy on Fridays"),
        ("Use tabs rather than spaces", "Use spaces rather than tabs"),
        (端口, "测试环境的数据库端口是 9090"),
        (端口, "测试环境的数据库端口不是 8080"),
        (端口, "测试环境的数据库端口已改为 9090，不再是 8080"),
        (端口, "生产环境的数据库端口是 8080"),
        ("周五不要发布", "周一不要发布"),
        ("用制表符缩进而不是空格", "用空格缩进而不是制表符"),
    ],
)
def test_another_value_a_correction_and_a_denial_pass(gone: str, text: str) -> None:
    assert forgotten(gone).blocking(text) is None
    assert not restates(statement_of(gone), statement_of(text), 0.99)


def test_meaning_is_a_floor_and_words_decide() -> None:
    gone, said = statement_of(PORT), statement_of("Use port 8080 for the staging db")
    assert restates(gone, said, 0.95)
    assert not restates(gone, said, 0.5)


def test_a_sentence_of_a_longer_text_is_found_unless_the_text_corrects_it() -> None:
    gone = forgotten(PORT)
    said = f"Sure. {PORT}. The password for it is kept in the vault of the team."
    assert gone.blocking(said) is None
    assert gone.blocking_part(said) is not None
    assert gone.blocking_part(f"{PORT}. No, that was wrong, it is 9090 now.") is None
    assert gone.without(said) == "Sure. The password for it is kept in the vault of the team."


def test_a_lifted_tombstone_blocks_nothing() -> None:
    gone = forgotten(PORT, 端口)
    gone.lift(["t0"])
    assert gone.blocking(PORT) is None
    assert gone.of_memory("m0") is None
    assert gone.blocking(端口) is not None
    gone.lift(["t1"])
    assert not gone


def test_folding_changes_no_plain_words() -> None:
    for text in ("ill fool", "version 10 of 2026", "端口8080", "o1 and l2 caches"):
        assert folded(text) == text
    assert joined("i g n o r e the rest") == "ignore the rest"
    assert statement_form("Note: a, b; c.") == "a b c"
