"""Texts that are not worth keeping as memories.

Pure; imports nothing of ours but language detection. What steers its reader is `steering`'s.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.lang import has_han

_MAX_CHARS = 4000
_GREETING = re.compile(
    r"^(?:hi|hello|hey|hiya|yo|thanks?|thank you|ok(?:ay)?|yes|no|sure|great|good (?:morning|night"
    r"|job)|bye|test(?:ing)?|ping"
    r"|warmup|你好|您好|嗨|谢谢|好的|在吗|再见|测试)(?:[\s,!.。！，]+(?:there|claude|codex|again"
    r"|all|everyone|you|啊"
    r"|呀))*[\s!.。！?？]*$",
    re.I,
)
_RECALLED = re.compile(
    r"past experience,? not instructions|<hindsight|<recalled|<memor(?:y|ies)\b|recalled memor(?:y"
    r"|ies)|\[memory [0-9a-f-]{6,}\]"
    r"|hindsight\.recall/|<system-reminder>"
    r"|As you answer the user's questions, you can use the following context",
    re.I,
)
_BOOT = re.compile(
    r"^(?:you are (?:claude|chatgpt|gpt|codex|gemini|an? (?:ai|helpful|expert|interactive"
    r"|large language|coding))|i am (?:claude|an ai|chatgpt)"
    r"|i'?m (?:claude|an ai|ready to help|here to help)|# (?:AGENTS|CLAUDE|GEMINI)\.md"
    r"|contents of /|this file provides guidance to"
    r"|codebase and user instructions are shown below|你是(?:一个|一名|一位)?(?:AI|人工智能|专业"
    r"|资深|乐于助人))",
    re.I,
)
_FILLER = re.compile(
    r"^(?:i(?:'ve| have)? (?:successfully )?(?:completed|finished|done)(?: (?:the|this|all"
    r"|your) \w+)?|all (?:done|tests pass|good|set)|done|let me know if"
    r"|is there anything else|the (?:task|work|request) (?:is|was|has been) (?:complete|done"
    r"|finished|completed)|everything (?:works|is (?:fine|working))"
    r"|the user (?:asked|wants|said|requested)|task completed?|已完成|完成了|全部完成"
    r"|没有问题)[\s.!。！]*$",
    re.I,
)
_DUMP = re.compile(
    r"^\s*[\[{<].*[\]}>]\s*$|(?:[^\s|│]{1,60}\s{0,9}[|│]\s{0,9}){4,}|(?:[A-Za-z0-9+/]{120,})"
    r"|\\n.*\\n.*\\n",
    re.S,
)
_WORDS = re.compile(r"[A-Za-z_][\w./-]*|\d+|[\u4e00-\u9fff]")
_EMPTY_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "it",
        "this",
        "that",
        "these",
        "those",
        "is",
        "are",
        "was",
        "be",
        "to",
        "of",
        "in",
        "on",
        "at",
        "and",
        "or",
        "so",
        "do",
        "did",
        "does",
        "done",
        "use",
        "using",
        "with",
        "like",
        "way",
        "thing",
        "things",
        "stuff",
        "here",
        "there",
        "now",
        "then",
        "always",
        "never",
        "please",
        "dont",
        "don",
        "not",
        "no",
        "yes",
        "ok",
        "just",
        "same",
        "also",
        "make",
        "sure",
        "you",
        "your",
        "we",
        "our",
        "i",
        "me",
        "my",
        "they",
        "them",
        "he",
        "she",
        "again",
        "too",
        "as",
        "for",
        "from",
        "by",
        "such",
        "all",
        "any",
        "some",
    ]
)
_EMPTY_HAN = frozenset(
    "的了是在这那个样都就不要也和与我你他她它们请把被给再还么吗呢吧啊以后做用一下这些那些时候"
)


def is_noise(text: str) -> str:
    """Return why not even a person can have meant this as a memory; empty if one can."""
    stripped = text.strip()[:_MAX_CHARS]
    if _GREETING.match(stripped):
        return "a greeting or acknowledgement"
    if _RECALLED.search(stripped):
        return "recalled or injected text"
    if _BOOT.match(stripped):
        return "restates the agent's own instructions"
    return ""


def is_junk(text: str) -> str:
    """Return why the text is not worth keeping as a memory; empty if it is."""
    stripped = text.strip()[:_MAX_CHARS]
    if len(stripped) < 4:
        return "too short"
    if noise := is_noise(stripped):
        return noise
    if _FILLER.match(stripped):
        return "filler without content"
    if _DUMP.search(stripped):
        return "a raw dump"
    if not has_content(stripped):
        return "says nothing without its context"
    words = _WORDS.findall(stripped.lower())
    if len(words) >= 12 and len(set(words)) * 4 < len(words):
        return "repeats itself"
    return ""


def has_content(text: str) -> bool:
    """Tell whether the text names something: two real words, or four real Chinese characters."""
    words = [word for word in _WORDS.findall(text.lower()) if not has_han(word)]
    named = {word for word in words if word not in _EMPTY_WORDS and len(word) > 1}
    han = [char for char in text if has_han(char) and char not in _EMPTY_HAN]
    return len(named) * 2 + len(han) >= 4
