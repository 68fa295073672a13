"""How many tokens a text has, roughly and rather too many; for budgets, where nobody counted."""

from __future__ import annotations

import re

_WIDE = re.compile(r"[^\x00-\u02ff]")
_CHARS_PER_TOKEN = 3.5


def estimate(text: str) -> int:
    """Return about how many tokens `text` has.

    Latin text and code run at three to four characters a token in current vocabularies, other
    scripts at about one.
    """
    wide = len(_WIDE.findall(text))
    return int((len(text) - wide) / _CHARS_PER_TOKEN + wide) + 1
