"""The normal form under which two texts count as the same, and its hash.

Pure; imports nothing of ours. Content hashes and tombstones rest on it: whoever restates a
forgotten text with other case, width, spacing, quotes, invisible characters or look-alike
letters must meet the same form. Changing it makes stored hashes worthless.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Letters of other scripts that are drawn like Latin ones (the common part of Unicode's
# confusables table), as pairs; applied after casefolding.
LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝӏвкмнтгпαεορνικτυχγηѵցոսօհɡıⅼᴀᴄᴏᴜᴠᴡᴢ",
    "aeopcyxijsdhqwlbkmhtrnaeopviktuxynvgnuohgilacouvwz",
)
PUNCTUATION = str.maketrans(
    {
        "。": ".",
        "、": ",",
        "・": " ",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
        "‘": "'",
        "’": "'",
        "‚": "'",
        "‐": "-",
        "‑": "-",
        "‒": "-",
        "–": "-",
        "—": "-",
        "―": "-",
        "−": "-",
        "…": "...",
        "\u3164": " ",
        "\u115f": " ",
        "\u1160": " ",
        "\u2800": " ",
    }
)
_DROPPED = re.compile(r"[\"`*]+|(?<!\w)'|'(?!\w)")
_CJK = r"[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
CJK_SPACE = re.compile(rf"(?<={_CJK})\s+|\s+(?={_CJK})")
_BEFORE_MARK = re.compile(r"\s+(?=[,.;:!?])|(?<=[,;:!?])\s+(?=[,.;:!?])")
_AROUND_MARK = re.compile(rf"([,;:])\s*(?={_CJK})")
_SPACE = re.compile(r"\s+")
_LINE_SPACE = re.compile(r"[\n\r\t ]+")
_INVISIBLE_MARK = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_NO_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
_NO_LAYOUT = dict.fromkeys(map(ord, "\n\r\t"))
_EDGE = " \t\n.,;:!?-~"


def normalize(text: str) -> str:
    """Return the normal form of `text`; idempotent, empty for text without content."""
    form = text
    for _ in range(4):
        shorter = _once(form)
        if shorter == form:
            break
        form = shorter
    return form


def content_hash(text: str) -> str:
    """Return the hex SHA-256 of the normal form."""
    return hashlib.sha256(normalize(text).encode("utf-8", "surrogatepass")).hexdigest()


def _once(text: str) -> str:
    if text.isascii():
        return _once_ascii(text)
    form = unicodedata.normalize("NFKC", text).casefold()
    form = unicodedata.normalize("NFKC", form.translate(PUNCTUATION))
    form = visible(_LINE_SPACE.sub(" ", form)).translate(LOOKALIKES)
    form = _DROPPED.sub("", form)
    form = CJK_SPACE.sub("", _SPACE.sub(" ", form))
    form = _AROUND_MARK.sub(r"\1", _BEFORE_MARK.sub("", form))
    return form.strip(_EDGE)


def _once_ascii(text: str) -> str:
    """Do what `_once` comes to for ASCII: no step about other characters changes anything."""
    form = text.lower().translate(_NO_CONTROLS)
    if "'" in form or '"' in form or "`" in form or "*" in form:
        form = _DROPPED.sub("", form)
    form = " ".join(form.split())
    for mark in ",.;:!?":
        form = form.replace(f" {mark}", mark)
    return form.strip(_EDGE)


def visible(form: str) -> str:
    """Return the text without characters that draw nothing."""
    # `isprintable` is false for every category that is taken out here, and far quicker to ask.
    ruled = form.translate(_NO_LAYOUT) if "\n" in form or "\t" in form else form
    if ruled.isprintable() and not _INVISIBLE_MARK.search(form):
        return form
    return "".join(c for c in form if not _is_invisible(c))


def _is_invisible(character: str) -> bool:
    if character in "\n\r\t":
        return False
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return True  # variation selectors are category Mn, but draw nothing of their own
    return unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn") or character == "\u034f"
