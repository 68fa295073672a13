"""Which language a text is in, decided by script alone.

Pure; imports nothing of ours. Code spans, paths and URLs are not counted, because a Chinese
prompt about `pytest tests/unit` is Chinese.
"""

from __future__ import annotations

import re
from typing import Literal

Lang = Literal["en", "zh", "mixed", "other"]

_SPAN = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)
_ASCII_RUN = re.compile(r"[!-~]+")
_IS_CODE = re.compile(r"[/\\_=<>{}]|\w\.\w")
_MAX_CHARS = 4000
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA_HANGUL = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u1100-\u11ff]")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_LETTER = re.compile(r"[^\W\d_]")


def detect(text: str) -> Lang:
    """Return `zh` or `en` where one script clearly rules, `mixed` for both, else `other`."""
    if text.isascii():
        # All its letters are Latin ones, with or without its code.
        return "en" if _LETTER.search(text) else "other"
    plain = _without_code(text)
    if not _LETTER.search(plain):
        plain = text
    han = len(_HAN.findall(plain))
    words = len(_WORD.findall(plain))
    kana = len(_KANA_HANGUL.findall(plain))
    letters = len(_LETTER.findall(plain))
    if kana * 5 > han and kana > 1:
        return "other"
    if han == 0:
        latin = sum(len(word) for word in _WORD.findall(plain))
        return "en" if words and latin * 5 >= letters * 4 else "other"
    if han >= words * 2:
        return "zh"
    return "en" if han * 6 <= words else "mixed"


def is_chinese(text: str) -> bool:
    """Tell whether an answer to this text should be worded in Chinese."""
    lang = detect(text)
    plain = _without_code(text)
    return lang == "zh" or (
        lang == "mixed" and len(_HAN.findall(plain)) * 2 >= len(_WORD.findall(plain))
    )


def has_han(text: str) -> bool:
    """Tell whether the text holds any Chinese character."""
    return bool(_HAN.search(text))


def _without_code(text: str) -> str:
    plain = _SPAN.sub(" ", text[:_MAX_CHARS])
    return _ASCII_RUN.sub(lambda run: " " if _IS_CODE.search(run.group()) else run.group(), plain)
