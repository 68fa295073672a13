"""Builds the sentences of memories, in English and Chinese, from words of the transcript.

Pure; imports nothing of ours but language detection. Identifiers, paths and numbers are never
changed; what does not fit is left out whole rather than cut in the middle.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.lang import has_han

MAX_CHARS = 300

_KEEP_CASE = re.compile(r"^(?:[`\"'(\[{<]|I\b|I'|[A-Z][\w.]*[A-Z_0-9.]|[A-Z]{2,}|\w+[_/.()]\w*)")
_COMMON_OPENING = re.compile(
    r"^(?:The|A|An|It|Its|This|That|These|Those|There|When|While|If|Each|Every|All|Both|No|Our|Their|We|They|Two|One|Some|Any|By|In|On|At"
    r"|After|Before|Because|Since|Only|Running|Using|Calling)\b"
)


def sentence_case(text: str) -> str:
    """Return the text as one sentence: capital first letter, full stop at the end."""
    clean = " ".join(text.split()).strip().strip("*_ ").rstrip(" ,;:，；：")
    if not clean:
        return ""
    first = clean.split(" ", 1)[0]
    if first.islower() and first.isalpha() and first.isascii():
        clean = clean[0].upper() + clean[1:]
    if clean[-1] in ".!。！…":
        return clean.rstrip("!！") + (
            ("。" if has_han(clean[-8:]) else ".") if clean[-1] in "!！" else ""
        )
    return clean + ("。" if has_han(clean[-6:]) or _mostly_han(clean) else ".")


def lower_first(text: str) -> str:
    """Return a clause ready for the middle of a sentence."""
    if _COMMON_OPENING.match(text):
        return text[0].lower() + text[1:]
    return text


def code(text: str) -> str:
    """Return the text as a code span, leaving existing ones alone."""
    clean = text.strip()
    if clean.startswith("`") and clean.endswith("`"):
        return clean
    return "`" + clean.replace("`", "'") + "`"


def clip(text: str, limit: int) -> str:
    """Return the text cut at a clause or word end within `limit` characters."""
    clean = " ".join(text.split())
    if len(clean) <= limit:
        return clean
    head = clean[:limit]
    for marks in ("。；;", "，, "):
        cut = max(head.rfind(mark) for mark in marks)
        if cut > limit * 0.55:
            return _balanced(head[:cut].rstrip(" ,;，；"))
    return _balanced(head.rstrip())


def join_within(parts: list[str], limit: int = MAX_CHARS) -> str:
    """Join the parts, leaving out the last ones that would pass the limit."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + len(part) > limit:
            break
        text += part
    return text


def solution_text(
    *, command: str, error: str, hangs: bool, fix: str, cause: str, chinese: bool
) -> str:
    """Word a failure→fix pair: when it happens, what to do, why."""
    shown = code(clip(command, 90))
    room = MAX_CHARS - len(shown) - 40
    cause = clip(cause, 140) if cause else ""
    fix = clip(fix, max(60, min(150, room - len(cause))))
    error_room = room - len(fix) - len(cause)
    error = (
        error
        if len(error) <= max(0, min(130, error_room))
        else clip(error, max(0, min(110, error_room)))
    )
    if len(error) < 8:
        error = ""
    if chinese:
        when = f"{shown} {'卡住（超时）' if hangs else '失败'}"
        told = f"，报「{error}」" if error and not hangs else (f"（{error}）" if error else "")
        why = f"，因为{cause}" if cause else ""
        return sentence_case(f"当 {when}{told}时，{fix}{why}")
    verb = "hangs" if hangs else "fails"
    told = f" with {code(error)}" if error and not hangs else (f" ({code(error)})" if error else "")
    return sentence_case(f"When {shown} {verb}{told}, {fix}{because(cause)}")


def because(cause: str) -> str:
    """Word a cause as the end of an English sentence."""
    if not cause:
        return ""
    if cause.startswith("of "):
        return f", because {cause}"
    return f", because {lower_first(cause)}"


def question_why(subject: str, *, hangs: bool, chinese: bool) -> str:
    """Word the question under which a failure will be looked for."""
    if chinese:
        return f"为什么{subject}{'卡住、超时' if hangs else '失败、报错'}？"
    return f"Why does the {subject} {'hang or time out' if hangs else 'fail'}?"


def subject_of(command: str, targets: tuple[str, ...]) -> str:
    """Return what people would call the thing a command runs ("migrations test")."""
    for target in targets:
        name = re.split(r"::", target)[0].rstrip("/").rsplit("/", 1)[-1]
        if not re.search(r"\.\w{1,5}$", name):
            continue
        stem = re.sub(r"\.(?:test|spec)?\.?\w+$", "", name)
        words = [w for w in re.split(r"[_\-.\s]+|(?<=[a-z])(?=[A-Z])", stem) if w]
        is_test = bool({w.lower() for w in words} & {"test", "tests", "spec"}) or ".test." in name
        named = " ".join(w.lower() for w in words if w.lower() not in ("test", "tests", "spec"))
        if named:
            return f"{named} test" if is_test else named
    return command


def _mostly_han(text: str) -> bool:
    return sum(1 for char in text if has_han(char)) * 4 > len(text)


def _balanced(text: str) -> str:
    """Drop an opened code span or bracket that the cut left unclosed."""
    if text.count("`") % 2:
        text = text[: text.rfind("`")].rstrip(" ,(")
    for opening, closing in ("()", "（）", "[]"):
        if text.count(opening) > text.count(closing):
            text = text[: text.rfind(opening)].rstrip(" ,")
    return text
