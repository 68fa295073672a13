"""Texts that must not become memories: junk, and instructions that pose as memories.

Pure; imports nothing of ours but prose handling and normal forms. Consulted on every write path.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.lang import has_han
from hindsight_daemon.engine.normalize import normalize

_INSTRUCTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("asks to ignore earlier instructions", re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|the\s+|your\s+|these\s+"
        r"|my\s+)*"
        r"(?:previous|prior|earlier|above|preceding|existing|other|system|safety|original)?\s*"
        r"(?:instructions?|prompts?|rules|guidelines|directives|guardrails|safeguards)"
        r"|(?:忽略|无视|忘记|忘掉|不要理会|绕过)(?:掉)?(?:之前|以上|前面|先前|上述|所有|一切|系统"
        r"|你的|的|全部)*(?:指令|提示词?|规则|要求|限制|设定)", re.I)),
    ("poses as a system message", re.compile(
        r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<<SYS>>|^\s*(?:system"
        r"|developer)\s*(?:prompt|message)?\s*:"
        r"|</?(?:system|developer|system[-_]prompt|assistant|human)>|^#{1,3} *system\b|(?:\n"
        r"|^)\s*(?:Human|Assistant):\s",
        re.I | re.M)),
    ("tries to give the reader a new role", re.compile(
        r"\byou are (?:now|no longer)\b|\b(?:act|behave|respond) as (?:if you (?:are|were)"
        r"|an? (?:unrestricted|admin|root|jailbroken|different))"
        r"|\bpretend (?:to be|you are)\b|\bnew (?:system )?(?:persona|instructions?)\s*:"
        r"|\bdeveloper mode\b|\bDAN mode\b"
        r"|你现在是(?!在)|假装(?:你|成)|从现在(?:起|开始)你是|扮演", re.I)),
    ("asks to hide something from the user", re.compile(
        r"\b(?:do not|don'?t|never|without)\s+(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?"
        r"|reveal(?:ing)?|show(?:ing)?|alert(?:ing)?|notify(?:ing)?)\b.{0,20}\b(?:the )?"
        r"(?:user|human|developer|operator|owner)\b|(?:不要|别|不许)(?:告诉|告知|通知|透露给"
        r"|让)(?:用户|使用者|开发者)", re.I)),
    ("asks to send data or secrets away", re.compile(
        r"\b(?:send|post|upload|exfiltrate|leak|forward|e-?mail|transmit"
        r"|curl)\b.{0,60}\b(?:secrets?|tokens?|api[ _-]?keys?|credentials?|passwords?"
        r"|env(?:ironment)?(?: variables)?|\.env|private keys?|ssh keys?"
        r"|cookies?)\b.{0,60}(?:https?://|\bto\b)"
        r"|(?:把|将).{0,20}(?:密钥|密码|令牌|凭证|环境变量).{0,20}(?:发送|上传|发到|传到)", re.I)),
    ("runs code from the network", re.compile(
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"
        r"|\biex\s*\(.{0,20}downloadstring"
        r"|\b(?:base64|xxd)\s+-{1,2}d\w*[^\n|]*\|\s*(?:ba|z)?sh\b", re.I)),
    ("asks for a destructive command", re.compile(
        r"\b(?:always|must|should|please|first|immediately|now)\b.{0,40}\brm\s+-\w*[rf]\w*\s+(?:~|/"
        r"|\$HOME|\*)(?:\s|$)", re.I)),
    ("overrides permissions of the agent", re.compile(
        r"--dangerously-skip-permissions|--yolo\b|\b(?:auto[- ]?approve|approve) (?:all"
        r"|every)\b.{0,40}\b(?:tools?|commands?|permissions?|actions?)\b"
        r"|\byou have (?:full|unlimited|root|admin) (?:permission|access|privileges?)", re.I)),
)  # fmt: skip
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


def is_instruction_like(text: str) -> str:
    """Return why the text reads like an attempt to steer the reader; empty if it does not.

    For memories from tool output, agents, imports and the web; a person may state rules.
    """
    text = text[: _MAX_CHARS * 4]
    form = normalize(text)
    for reason, pattern in _INSTRUCTIONS:
        if pattern.search(text) or pattern.search(form):
            return reason
    return ""


def is_junk(text: str) -> str:
    """Return why the text is not worth keeping as a memory; empty if it is."""
    stripped = text.strip()[:_MAX_CHARS]
    if len(stripped) < 4:
        return "too short"
    if _GREETING.match(stripped):
        return "a greeting or acknowledgement"
    if _RECALLED.search(stripped):
        return "recalled or injected text"
    if _BOOT.match(stripped):
        return "restates the agent's own instructions"
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
