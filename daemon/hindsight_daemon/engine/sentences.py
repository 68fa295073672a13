"""Prose out of messages: without code blocks, pasted output and markup, cut into sentences.

Pure; imports nothing of ours. English and Chinese sentence ends both count.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_INJECTED_TAG = (
    r"(?:system-reminder|[\w:-]*(?:hindsight|memor(?:y|ies)|recall)[\w:-]*|command-[\w-]+"
    r"|ide_[\w-]+"
    r"|local-command-[\w-]+|bash-(?:input|stdout|stderr)|environment_context|user_instructions"
    r"|persisted-output|task-notification|subagent_notification|skill|recommended_plugins)"
)
_OPENING = re.compile(rf"<({_INJECTED_TAG})(?:\s[^<>]*)?>", re.I)
_UNCLOSED = re.compile(
    r"^\s*<(?:system-reminder|[\w-]*hindsight[\w-]*)\b[^>]*>.*\Z", re.S | re.I | re.M
)
_MARKUP = re.compile(
    r"^\s{0,6}(?:#{1,6}\s+|\*{0,2}[✅❌✔✓➜→⚠🔧🎉🐛💡]\ufe0f?\s*|[-*+•]\s+|\d{1,2}[.)]\s+"
    r"|\[[ xX]\]\s+)+"
)
_QUOTED = re.compile(r"^\s*(?:>|\||at\s+\S+\(|File \"|\$\s|[+-]{3}\s|@@|\d+\s*[|:│]|[│├└╭╰─━]+)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_LINK = re.compile(r"\[([^\]\n]+)\]\((?:[^)\s]+)\)")
_END = re.compile(r"(?<=[。！？!?])(?=\S)|(?<=[.!?…])[\"')\]]*\s+(?=\S)|；")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|resp|incl)|\b[A-Z])\.$", re.I)


def prose(text: str) -> str:
    """Return the text without fenced code, injected blocks and markup; lines are kept."""
    plain = _without_tags(_FENCE.sub("\n", text))
    lines = []
    for line in plain.splitlines():
        if _QUOTED.match(line):
            continue
        stripped = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", _MARKUP.sub("", line)))
        lines.append(stripped.strip())
    return "\n".join(lines)


def sentences(text: str) -> list[str]:
    """Return the sentences of a message in order, markup gone, at most 400 of them."""
    return list(_sentences(text))


# Several detectors look at the same messages one after the other.
@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for line in prose(text).splitlines():
        start = 0
        for match in _END.finditer(line):
            piece = line[start : match.start()]
            if _ABBREVIATED.search(piece.rstrip()):
                continue
            if piece.count("`") % 2 and "`" in line[match.end() :]:
                continue  # a full stop inside a code span
            found.append(piece)
            start = match.end()
        found.append(line[start:])
        if len(found) > 400:
            break
    return tuple(c for piece in found if (c := piece.strip(" \t；")) and len(c) > 1)


def without_blocks(text: str) -> str:
    """Return a prompt without what tools, editors and memory systems put into it."""
    return re.sub(r"\n{3,}", "\n\n", _without_tags(text)).strip()


def _without_tags(text: str) -> str:
    """Cut injected elements out, in one pass however many tags were never closed."""
    lowered = text.lower()
    kept: list[str] = []
    position = 0
    unclosed: set[str] = set()
    for match in _OPENING.finditer(text):
        tag = match.group(1).lower()
        if match.start() < position or tag in unclosed:
            continue
        end = lowered.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
            continue
        kept.append(text[position : match.start()])
        position = end + len(tag) + 3
    kept.append(text[position:])
    return _UNCLOSED.sub("\n", "\n".join(kept))
