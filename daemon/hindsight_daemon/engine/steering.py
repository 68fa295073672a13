"""Tells whether a text tries to steer whoever reads it, and whether it needs a person's word.

Pure; imports normal forms and the rules. The text is looked at as it stands and as it reads once
disguises are taken off: look-alike letters, spacing, digits for letters, Base64, hex, percent and
entity codes, ROT13, reversal, invisible characters. What a text about attacks quotes is a mention.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import urllib.parse
from collections.abc import Iterator

from hindsight_daemon.engine.lookalikes import joined, reading_form
from hindsight_daemon.engine.steering_rules import (
    DESTROYS,
    ENCODED_ORDER,
    FETCH_AND_RUN,
    MENTIONS,
    ORDERS,
    RULES_FOR_ALL,
    RULES_FOR_OTHERS,
    SENSITIVE,
    ZH_SENSITIVE,
    Rule,
)

MAX_CHARS = 8000
"""Of a longer text the beginning and the end are looked at."""

_TAGS = re.compile("[\U000e0000-\U000e007f]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HIDDEN = re.compile(
    "[\u00ad\u180e\u200b\u2060-\u2064\ufeff]|(?<=[a-zA-Z])[\u200c\u200d](?=[a-zA-Z])"
)
_MANY_HIDDEN = 8
_CODES = ("Base64", "hex", "ROT13", "reversal")
"""Disguises in which nothing harmless is said."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}(?:\s+[A-Za-z0-9+/_-]{20,}={0,2})*")
_HEX = re.compile(r"(?:\\x|0x|%)?[0-9a-fA-F]{2}(?:[\s,:]{0,2}(?:\\x|0x|%)?[0-9a-fA-F]{2}){11,}")
_ESCAPES = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}|\+){2,}|%20")
_LEET_WORD = re.compile(r"[a-z]*(?:[a-z][0134578@$!|]|[0134578@$!|][a-z])[a-z0134578@$!|]*")
_LEET = str.maketrans("0134578@$!|", "oieastbasil")
_QUOTED = re.compile(
    r"\"[^\"\n]{3,400}\"|'[^'\n]{8,400}'(?!\w)|`[^`\n]{3,400}`|「[^」]{2,300}」|“[^”]"
    r"{2,300}”|‘[^’]{2,300}’|《[^》]{2,100}》"
)
_SPACED = re.compile(r"(?<!\S)(?:\S ){2,}\S(?!\S)")
_PROSE = re.compile(r"[a-z\u4e00-\u9fff]{2,}")
_COMMON = re.compile(
    r"\b(?:the|and|you|all|to|of|is|this|your|instructions?|previous|user|run|send|system|a"
    r"lways|must|ignore)\b"
)
_ORDER_NEEDLES = (
    *("ignor", "disregard", "overrid", "bypass", "overlook", "discard", "forget", "obey", "follow"),
    *(
        "set aside",
        "attention",
        "notice",
        "不要管",
        "不用管",
        "别管",
        "<|",
        "[inst",
        "<<sys",
        "<system",
        "</system",
        "system message",
        "im_start",
    ),
    *("忽略", "无视", "忘", "绕过", "遵守", "理会", "推翻", "系统消息", "系统指令", "【系统"),
)
_CONFIRM = (
    ("destroys something", re.compile(DESTROYS, re.ASCII)),
    ("runs code from the network", re.compile(FETCH_AND_RUN, re.ASCII)),
    (
        "needs consent",
        re.compile(
            rf"\b(?:approved|allowed|authori[sz]ed|permitted|may|can|ok to|okay to|fine to|"
            rf"always|must|should|need to|never ask|automatically|just)\b.{{0,60}}(?:"
            rf"{SENSITIVE})|(?:{SENSITIVE}).{{0,40}}\b(?:is|are|was|were) (?:\w+ )?(?:appro"
            rf"ved|allowed|authori[sz]ed|permitted|ok|okay|fine)",
            re.ASCII,
        ),
    ),
    (
        "needs consent",
        re.compile(
            rf"(?:批准|同意|授权|允许|可以|总是|必须|应该|直接|自动|一律|务必).{{0,24}}(?:"
            rf"{ZH_SENSITIVE})|(?:{ZH_SENSITIVE}).{{0,16}}(?:批准|同意|授权|允许|可以)",
            re.ASCII,
        ),
    ),
    (
        "loosens permissions",
        re.compile(
            r"--dangerously-\S+|--yolo\b|--no-verify\b|chmod -?r? ?777|\bnode_tls_reject_un"
            r"authorized\b|--insecure\b|verify\s*=\s*false|\bsudo\b.{0,30}nopasswd"
        ),
    ),
)


def steers(text: str, *, is_own_word: bool = False) -> str:
    """Return why the text reads like an attempt to steer its reader; empty if it does not.

    `is_own_word`: a person states it, who may set rules and give permissions; then only what
    nobody would state counts.
    """
    text = _bounded(text)
    if hidden := _hides(text):
        return hidden
    text = _without_mentions(text)
    rules = RULES_FOR_ALL if is_own_word else (*RULES_FOR_ALL, *RULES_FOR_OTHERS)
    plain = reading_lines(text)
    if reason := _first(rules, plain):
        return reason
    if ENCODED_ORDER.search(plain) and _longest_code(text) >= 12:
        return "asks to decode something and to follow it"
    every_rule = (*RULES_FOR_ALL, *RULES_FOR_OTHERS)
    for disguise, view in _views(text, plain):
        if reason := _first(every_rule if disguise != "spelling" else rules, view):
            return f"{reason}, hidden by {disguise}"
        if disguise in _CODES and ORDERS.search(view):
            return f"hides an order by {disguise}"
    return ""


def needs_confirmation(text: str) -> str:
    """Return why a reader should not act on this without asking; empty if it may."""
    plain = reading_lines(_bounded(text))
    return next((why for why, pattern in _CONFIRM if pattern.search(plain)), "")


def reading_lines(text: str) -> str:
    """Return the text line by line as it reads; where a line begins tells a forged header."""
    if "\n" not in text:
        return reading_form(text)
    return "\n".join(reading_form(line) for line in text.split("\n") if line.strip())


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS * 3 // 4]}\n{text[-MAX_CHARS // 4 :]}"


def _first(rules: tuple[Rule, ...], form: str) -> str:
    return next((rule.reason for rule in rules if rule.found_in(form)), "")


def _without_mentions(text: str) -> str:
    """Return the text without what it quotes, if it speaks about attacks and quotes one."""
    spoken = _QUOTED.sub(" … ", text)
    if spoken == text or len(spoken) * 2 < len(text) or not MENTIONS.search(reading_form(spoken)):
        return text
    return spoken


def _hides(text: str) -> str:
    if text.isascii():
        return ""
    if _TAGS.search(text):
        return "hides text in invisible characters"
    if len(_BIDI.findall(text)) >= 2:
        return "turns the direction of its text round"
    if len(_HIDDEN.findall(text)) >= _MANY_HIDDEN:
        return "hides text in invisible characters"
    return ""


def _longest_code(text: str) -> int:
    return max((len(word) for word in re.findall(r"[A-Za-z0-9+/=_-]+", text)), default=0)


def _views(text: str, plain: str) -> Iterator[tuple[str, str]]:
    """Yield what the text says without its disguises, each with the disguise's name."""
    if "  " in text:
        yield (
            "spelling",
            reading_lines(_SPACED.sub(lambda found: found.group().replace(" ", ""), text)),
        )
    spelled = joined(plain)
    if spelled != plain:
        yield "spelling", spelled
    leet = _LEET_WORD.sub(lambda found: found.group().translate(_LEET), plain)
    if leet != plain:
        yield "spelling", leet
    if "&" in text and ";" in text and (decoded := html.unescape(text)) != text:
        yield "entities", reading_lines(decoded)
    if "%" in text and _PERCENT.search(text):
        yield "percent codes", reading_lines(urllib.parse.unquote_plus(text))
    if "\\" in text and _ESCAPES.search(text):
        yield "escapes", reading_lines(_ESCAPES.sub(_escaped, text))
    for found in _BASE64.finditer(text):
        yield from (("Base64", reading_lines(decoded)) for decoded in _base64(found.group()))
    for found in _HEX.finditer(text):
        digits = re.sub(r"\\x|0x|[^0-9a-fA-F]", "", found.group())
        if len(digits) % 2 == 0 and (decoded := _readable(bytes.fromhex(digits))):
            yield "hex", reading_lines(decoded)
    turned = codecs.decode(plain, "rot13")
    if len(_COMMON.findall(turned)) > len(_COMMON.findall(plain)):
        yield "ROT13", turned
    backwards = plain[::-1]
    if len(_COMMON.findall(backwards)) > len(_COMMON.findall(plain)) or "令指" in plain:
        yield "reversal", backwards


def _base64(code: str) -> Iterator[str]:
    for one in {code, *code.split()}:
        tight = re.sub(r"\s+", "", one).rstrip("=").replace("-", "+").replace("_", "/")
        tight = tight[: len(tight) - (len(tight) % 4 == 1)]
        try:
            raw = base64.b64decode(tight + "=" * (-len(tight) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        if decoded := _readable(raw):
            yield decoded


def _readable(raw: bytes) -> str:
    """Return bytes as text if they are one."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return decoded if _PROSE.search(decoded.lower()) and decoded.isprintable() else ""


def _escaped(found: re.Match[str]) -> str:
    return chr(int(found.group()[2:], 16))


def poses_as_order(text: str) -> bool:
    """Tell whether a turn plainly gives orders to its reader, undisguised; quick, for every turn.

    Such a turn stays a record of what was said, but is nothing to recall.
    """
    if _hides(text):
        return True
    plain = text.casefold()
    if not any(needle in plain for needle in _ORDER_NEEDLES):
        return False
    plain = reading_lines(_without_mentions(_bounded(text)))
    return any(rule.found_in(plain) for rule in RULES_FOR_ALL[:2])
