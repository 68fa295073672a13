"""Builds the sentences of memories, in English and Chinese, from words of the transcript.

Pure; imports nothing of ours but language detection. Identifiers, paths and numbers are never
changed; what does not fit is left out whole rather than cut in the middle.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.lang import has_han

MAX_CHARS = 300

_KEEP_CASE = re.compile(r"^(?:[`\"'(\[{<]|I\b|I'|[A-Z][\w.]*[A-Z_0-9.]|[A-Z]{2,}|\w+[_/.()]\w*)")
_VERB = re.compile(
    r"^(?:(?!\b(?:between|of|in|on|that|which|what|where|when|with|for|from|to)\b).)*?"
    r"\b(?:is|are|was|were|has|have|had|do(?:es)?|did|can(?:not)?|could|will|would|should|must|may"
    r"|never|\w+n't"
    r"|(?!this|its|class|process|access|address|pass|status|alias|bus|always|https|js|css|express"
    r"|redis|sass|args|kwargs"
    r"|windows|postgres|kubernetes|less|across|tests|types|files|errors|missing"
    r"|mismatch)[a-z]{2,}(?:s|ed)|went|ran|kept|held|got|came|made|set|left|lost|broke)\b"
)
"""A finite verb before the first preposition or relative: the clause is a sentence."""
_COMMON_OPENING = re.compile(
    r"^(?:The|A|An|It|Its|This|That|These|Those|There|When|While|If|Each|Every|All|Both|No|Our"
    r"|Their|We|They|Two|One|Some|Any|By|In|On|At"
    r"|After|Before|Because|Since|Only|Running|Using|Calling)\b"
)


def sentence_case(text: str) -> str:
    """Return the text as one sentence: capital first letter, full stop at the end."""
    clean = " ".join(text.split()).strip().strip("*_ ").rstrip(" ,;:，；：")
    if not clean:
        return ""
    first = clean.split(" ", 1)[0]
    if re.fullmatch(r"[a-z]+(?:['’][a-z]+)?[,:]?", first):
        clean = clean[0].upper() + clean[1:]
    if clean[-1] in ".!?。！？…":
        return clean.rstrip("!！") + (
            ("。" if has_han(clean[-8:]) else ".") if clean[-1] in "!！" else ""
        )
    return clean + ("。" if has_han(clean[-6:]) or _mostly_han(clean) else ".")


def chinese_sentence(text: str) -> str:
    """Return the text as one Chinese sentence, whatever script it ends in."""
    return " ".join(text.split()).rstrip("。.，, ；;") + "。"


def lower_first(text: str) -> str:
    """Return a clause ready for the middle of a sentence."""
    if _COMMON_OPENING.match(text):
        return text[0].lower() + text[1:]
    return text


def spaced(text: str) -> str:
    """Return the text with a space before it if it begins in Latin script or code."""
    return f" {text}" if text[:1].isascii() and text[:1].strip() else text


def code(text: str) -> str:
    """Return the text as a code span, leaving existing ones alone."""
    clean = text.strip()
    if clean.startswith("`") and clean.endswith("`"):
        return clean
    return "`" + clean.replace("`", "'") + "`"


def clip(text: str, limit: int) -> str:
    """Return the text cut at a clause end within `limit` characters, else at a word with `…`."""
    clean = " ".join(text.split())
    if len(clean) <= limit:
        return clean
    head = clean[: max(limit - 1, 1)]
    for marks in (("。", "；", ";", ". "), ("，", ", ", " (", " — ", " – ")):
        cut = max(head.rfind(mark) for mark in marks)
        if cut > limit * 0.5:
            return _balanced(head[:cut].rstrip(" ,;，；"))
    if " " in head[limit // 2 :]:
        head = head[: head.rfind(" ")]
    return _balanced(head.rstrip(" ,;:")) + "…"


_ERROR_CODE = re.compile(
    r"\b(?:error )?(?:TS\d{4,5}|E[A-Z]{5,}|ERR_[A-Z_]{4,}|[A-Z]+-?\d{3,5}|\w+(?:Error|Exception))\b"
)
_ROOM = (
    (110, 210, 170),
    (75, 210, 170),
    (30, 210, 150),
    (30, 150, 130),
    (0, 110, 110),
    (0, 80, 80),
)
"""Room for error, cause and fix in characters, tried in order until the sentence fits."""


def solution_text(
    *, command: str, error: str, hangs: bool, fix: str, cause: str, chinese: bool
) -> str:
    """Word a failure→fix pair: when it happens, what to do, why."""
    text = ""
    for error_room, cause_room, fix_room in _ROOM:
        text = _solution(
            command=code(clip(command, 90)),
            error=_clip_error(error, error_room),
            hangs=hangs,
            fix=clip(fix, fix_room),
            cause=clip(cause, cause_room) if cause else "",
            chinese=chinese,
        )
        if len(text) <= MAX_CHARS:
            break
    return text


def _clip_error(error: str, room: int) -> str:
    """Return the error within its room; where that is scarce, its code alone."""
    if len(error) <= room:
        return error
    named = _ERROR_CODE.search(error)
    if room < 60:
        return named.group() if named is not None and room else ""
    return clip(error, room)


def _solution(*, command: str, error: str, hangs: bool, fix: str, cause: str, chinese: bool) -> str:
    if hangs and re.search(r"time?d? ?out|超时", error, re.I):
        error = ""
    if chinese:
        told = f"，报错「{error}」" if error else ""
        why = f"，因为{spaced(cause)}" if cause else ""
        when = f"当 {command} {'卡住（超时）' if hangs else '失败'}{told}时"
        return chinese_sentence(f"{when}，{spaced(fix)}{why}")
    told = f" with {code(error)}" if error else ""
    verb = "hangs" if hangs else "fails"
    return sentence_case(f"When {command} {verb}{told}, {fix}{because(cause)}")


def is_clause(text: str) -> bool:
    """Tell whether English words are a clause with a finite verb rather than a noun phrase."""
    return bool(_VERB.search(text))


def because(cause: str) -> str:
    """Word a cause as the end of an English sentence ("because of" before a bare noun phrase)."""
    if not cause:
        return ""
    if cause.startswith("of ") or is_clause(cause):
        return f", because {lower_first(cause)}"
    return f", because of {lower_first(cause)}"


def question_why(subject: str, *, hangs: bool, chinese: bool) -> str:
    """Word the question under which a failure will be looked for."""
    if chinese:
        space = " " if subject[:1].isascii() else ""
        return f"为什么{space}{subject}{space}{'卡住、超时' if hangs else '失败、报错'}？"
    verb = "do" if subject.endswith("tests") else "does"
    return f"Why {verb} the {subject} {'hang or time out' if hangs else 'fail'}?"


def subject_of(command: str, targets: tuple[str, ...], role: str, *, chinese: bool = False) -> str:
    """Return what people would call the thing a command runs ("migrations test")."""
    for target in targets:
        name = target.split("::")[0].removesuffix("...").rstrip("/").rsplit("/", 1)[-1]
        stem = re.sub(r"(?:\.(?:test|spec))?\.\w{1,5}$", "", name)
        words = [w for w in re.split(r"[_\-.\s]+|(?<=[a-z])(?=[A-Z])", stem) if w.isalpha()]
        named = " ".join(w.lower() for w in words if w.lower() not in ("test", "tests", "spec"))
        if named and (role == "test" or "." in name):
            is_test = role == "test" or len(named) < len(" ".join(words))
            return named + (" 测试" if chinese else " test") * is_test
    if role == "build":
        return "构建" if chinese else "build"
    return clip(command, 60)


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
