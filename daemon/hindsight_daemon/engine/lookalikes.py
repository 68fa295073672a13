"""Folds letters that are drawn alike, for comparing and for screening; never for stored hashes.

Pure; imports `normalize` only. Stronger than the normal form, which must not change: marks above
letters go, letters of further scripts that look like Latin ones become those, and digits hide
behind letters no longer.
"""

from __future__ import annotations

import re
import unicodedata

from hindsight_daemon.engine.normalize import (
    CJK_SPACE,
    LOOKALIKES,
    PUNCTUATION,
    normalize,
    visible,
)

# Beyond those of `normalize`: the part of Unicode's confusables that reads as Latin at a glance.
_PAIRS = (
    "łl øo đd ħh ŧt ƙk ɓb ɗd ɛe ɩi ɪi ʀr ɴn ʙb ʜh ɢg ʟl ʏy ꜰf ꜱs ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu "
    "ƒf ℓl ℮e βb σo δd λl ωw зz ьb ғf қk ңh үy һh єe їi ўy ꭺa ᏼb ꮯc ꭰd ꭼe ꮋh ꮖi ꭻj ꮶk ꮮl ꮇm "
    "ꮲp ꭱr ꮪs ꭲt ꮩv ꮃw"
)
_MORE = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})
_INNER_MARK = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_BLANKS = re.compile(r"[^\S\n]+")
_TOKEN = re.compile(r"[0-9a-z]+")
_DIGIT_LETTERS = str.maketrans("oil", "011")
_DIGIT_LIKE = re.compile(r"[0-9oil]{3,}")
_SPACED_OUT = re.compile(r"(?<![a-z0-9])(?:[a-z][ .\-_*]){3,}[a-z](?![a-z0-9])")


def folded(text: str) -> str:
    """Return the normal form with look-alike letters made equal."""
    form = normalize(text)
    if not form.isascii():
        form = unicodedata.normalize("NFD", form.translate(_MORE))
        form = unicodedata.normalize("NFC", _INNER_MARK.sub("", form))
    return _TOKEN.sub(_digits, form)


def reading_form(text: str) -> str:
    """Return a line as it reads: small letters, disguises off, but blanks and marks left.

    Cheaper than the normal form and nearer to the text, for patterns.
    """
    if text.isascii():
        return _BLANKS.sub(" ", text.casefold()).strip()
    form = unicodedata.normalize("NFKC", text).casefold().translate(PUNCTUATION)
    form = visible(unicodedata.normalize("NFKC", form).replace("\t", " "))
    form = unicodedata.normalize("NFD", form.translate(LOOKALIKES).translate(_MORE))
    form = unicodedata.normalize("NFC", _INNER_MARK.sub("", form))
    return CJK_SPACE.sub("", _BLANKS.sub(" ", form)).strip()


def joined(text: str) -> str:
    """Return text whose s p a c e d or d-a-s-h-e-d letters are put together again."""
    return _SPACED_OUT.sub(lambda found: re.sub(r"[ .\-_*]", "", found.group()), text)


def _digits(found: re.Match[str]) -> str:
    """Return `8o8o` as `8080`; words and plain numbers stay."""
    token = found.group()
    if token.isdigit() or not _DIGIT_LIKE.fullmatch(token) or sum(map(str.isdigit, token)) < 2:
        return token
    return token.translate(_DIGIT_LETTERS)
