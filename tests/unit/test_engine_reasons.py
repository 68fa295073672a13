"""Summaries of Chinese sessions give their reason in Chinese, whatever the judge found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hindsight_daemon.engine import outcome
from hindsight_daemon.engine.reasons import in_chinese

_SIGNAL = re.compile(r'f?"((?:`\{|the |no |reported as )[^"]+)"')
_PLACE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def _signals() -> list[str]:
    source = Path(outcome.__file__).read_text(encoding="utf-8")
    found = {_PLACE.sub("3", text) for text in _SIGNAL.findall(source)}
    return sorted(signal for signal in found if " " in signal)


@pytest.mark.parametrize("signal", _signals())
def test_every_signal_of_the_judge_has_chinese_words(signal: str) -> None:
    assert re.search(r"[\u4e00-\u9fff]", in_chinese(signal)), signal


def test_commands_and_words_of_the_user_stay_as_they_are() -> None:
    assert (
        in_chinese("`make test` passed after the last edit") == "最后一次修改之后 `make test` 通过"
    )
    assert in_chinese("the user said: 还是不行 3 次") == "用户说：还是不行 3 次"
    assert in_chinese("connection refused") == "connection refused"
