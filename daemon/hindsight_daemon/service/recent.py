"""What each source said last: for what steers only when put together, and for floods.

Bounded in sources and in texts; not durable. A person is no source here: who states many facts of
one kind floods nothing.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from hindsight_daemon.engine.restatement import statement_of
from hindsight_daemon.engine.steering import steers

FLOOD = 10
"""Statements about one topic among the last `_REMEMBERED` of a source that are a flood."""

_SOURCES = 64
_REMEMBERED = 40
_PIECES = 3
_PIECE_CHARS = 400
_SAME_TOPIC = 0.6
_ENDS = (".", "!", "?", "。", "！", "？", "…")


class Recent:
    """The last texts of each source."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, deque[str]] = OrderedDict()

    def suspicion(self, source: str, text: str, *, is_own_word: bool = False) -> str:
        """Return why `text` is suspect after what the source said before; takes it into account."""
        if not source:
            return ""
        texts = self._texts.pop(source, None) or deque(maxlen=_REMEMBERED)
        self._texts[source] = texts
        if len(self._texts) > _SOURCES:
            self._texts.popitem(last=False)
        reason = _in_pieces(texts, text, is_own_word=is_own_word)
        if not reason and not is_own_word and _floods(texts, text):
            reason = "one source repeats itself about one topic"
        if text not in texts:
            texts.append(text[:_PIECE_CHARS])
        return reason


def _in_pieces(texts: deque[str], text: str, *, is_own_word: bool) -> str:
    """Return why the text steers as the end of a sentence that the source began before."""
    if len(text) > _PIECE_CHARS:
        return ""
    whole = text
    for former in list(texts)[: -_PIECES - 1 : -1]:
        if former == text or former.rstrip().endswith(_ENDS):
            break
        whole = f"{former.rstrip()} {whole}"
        if reason := steers(whole, is_own_word=is_own_word):
            return f"{reason}, said in pieces"
    return ""


def _floods(texts: deque[str], text: str) -> bool:
    words = statement_of(text).words
    if len(words) < 3 or len(texts) < FLOOD:
        return False
    alike = 0
    for former in texts:
        others = statement_of(former).words
        shared = len(words & others)
        alike += shared >= _SAME_TOPIC * min(len(words), len(others)) and former != text
    return alike >= FLOOD
