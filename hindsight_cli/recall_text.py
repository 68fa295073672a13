"""How a recall reads: as text, as a block for a prompt, or as JSON.

Shared by the hot path and the full command, so it imports only `sys`, `os` and `json`. Takes the
result as plain JSON values. On a terminal text is wrapped and the small print dimmed; elsewhere
every field stands on one line, whole.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_WIDE = (
    (0x1100, 0x115F),
    (0x2E80, 0xA4CF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE6F),
    (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x3FFFD),
)
# Zero columns: combining marks, joiners, variation selectors.
_NARROWEST = ((0x0300, 0x036F), (0x200B, 0x200F), (0x20D0, 0x20FF), (0xFE00, 0xFE0F))
_KEPT = "\n\t\u200c\u200d"
# Chinese typesetting: these begin no line, those end none.
_NOT_FIRST = frozenset("，。、；：！？）〕】》」』”’…,.;:!?)]}")
_NOT_LAST = frozenset("（〔【《「『“‘")
_QUOTE_CHARS = 80
_CONFIRM = "confirm with the user"
_LABELS = {"stale": "may be out of date", "contradicted": "contradicted", "superseded": "replaced"}


def character_width(character: str) -> int:
    """Return how many terminal columns a character takes (East Asian Width, in ranges)."""
    code = ord(character)
    if code < 0x0300:
        return 1
    if any(low <= code <= high for low, high in _NARROWEST):
        return 0
    return 2 if any(low <= code <= high for low, high in _WIDE) else 1


def text_width(text: str) -> int:
    """Return how many terminal columns a text takes."""
    return sum(map(character_width, text))


def printable(text: str) -> str:
    """Return text with its line breaks and tabs but without what could drive a terminal."""
    return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in text)


def wrap(text: str, width: int) -> list[str]:
    """Break text into lines of at most `width` columns; Chinese breaks between any characters.

    Indentation is kept where it leaves half of the width. A mark that may not begin a line can
    take one line in many a few columns over.
    """
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        paragraph = paragraph.expandtabs(4)
        indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
        line = indent if len(indent) <= width // 2 else ""
        paragraph = paragraph.lstrip()
        used = len(line)
        for word in _words(paragraph):
            size = text_width(word)
            if used + size > width and line.strip() and not word.isspace():
                lines.append(line.rstrip())
                line, used = "", 0
            while used + size > width and size > 1:
                head = _fitting(word, width - used)
                lines.append(line + head)
                line, used = "", 0
                word = word[len(head) :]
                size = text_width(word)
            if line or not word.isspace():
                line, used = line + word, used + size
        lines.append(line.rstrip())
    return lines


def _fitting(word: str, width: int) -> str:
    used = 0
    for position, character in enumerate(word):
        used += character_width(character)
        if used > width:
            return word[: max(1, position)]
    return word


def _words(text: str) -> list[str]:
    words: list[str] = []
    for character in text:
        wide = character_width(character) == 2
        space = character.isspace()
        last = words[-1][-1] if words else " "
        begins = wide or space or last.isspace() or character_width(last) == 2
        if character in _NOT_FIRST or last in _NOT_LAST:
            begins = space or last.isspace()
        if begins:
            words.append(character)
        else:
            words[-1] += character
    return words


def lines_of(result: dict[str, Any], *, width: int, colour: bool) -> list[str]:
    """Return the lines of the text form; `width` 0 means do not wrap."""
    lines: list[str] = []
    for rank, memory in enumerate(result["memories"], 1):
        lines.extend(_memory_lines(memory, rank, width=width, colour=colour))
    return lines


def _memory_lines(memory: dict[str, Any], rank: int, *, width: int, colour: bool) -> list[str]:
    head = f"{rank}. {memory['kind']}"
    labels = [_LABELS.get(memory["status"], "")]
    if memory["status"] == "superseded" and (successor := memory.get("superseded_by")):
        labels = [f"replaced by {successor}"]
    labels += ["contradicted by another"] if memory.get("conflicts_with") else []
    labels += [_CONFIRM] if "confirm" in memory.get("tags", ()) else []
    label = ", ".join(one for one in labels if one)
    indent = "   "
    text = printable(memory["text"])
    if not width:
        text = " ".join(text.split())
    if memory.get("speaker"):
        text = f"{printable(memory['speaker'])}: {text}"

    def fitted(line: str) -> list[str]:
        return wrap(line, max(20, width - len(indent))) if width else [line]

    lines = [_style(head, "1", colour) + (_style(f"  ({label})", "33", colour) if label else "")]
    lines.extend(indent + line for line in fitted(text))
    small = [small_print(memory)]
    if scores := memory.get("scores"):
        small.extend(explained(scores))
    for one in small:
        lines.extend(indent + _style(line, "2", colour) for line in fitted(printable(one)))
    if colour or width:
        lines.append("")
    return lines


def small_print(memory: dict[str, Any]) -> str:
    """Return id, day, origin and standing of a memory in one line."""
    source = memory.get("source") or {}
    parts = [
        memory.get("short_id") or memory["id"],
        str(memory["created_at"])[:10],
        source.get("agent") or memory["trust"],
        str(memory["project"]).rstrip("/").rpartition("/")[2],
        f"{memory['status']} {memory['confidence']:.2f}",
    ]
    line = " · ".join(part for part in parts if part)
    quote = " ".join(str(source.get("quote") or "").split())
    if not quote or quote.rstrip("…") in " ".join(memory["text"].split()):
        return line
    return f"{line} · “{_cut(quote, _QUOTE_CHARS)}”"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def explained(scores: dict[str, Any]) -> list[str]:
    """Return the lines that tell how a result came to its place."""
    arms = " · ".join(
        # The score of the arm for recent memories is a time, which says no more than its rank.
        f"{name} #{arm['rank']}" + (f" ({arm['score']:.3f})" if name != "recent" else "")
        for name, arm in scores["arms"].items()
    )
    factors = " · ".join(
        f"{name} ×{factor:.2f}" for name, factor in scores["weights"].items() if factor != 1.0
    )
    rerank = f" · rerank {scores['rerank']:.3f}" if scores.get("rerank") is not None else ""
    return [
        f"found by {arms or 'nothing'}",
        f"fused {scores['fused']:.3f}{' · ' + factors if factors else ''}{rerank}"
        f" = {scores['final']:.3f}",
        f"key: {_cut(' '.join(str(scores['key']).split()), 100)}",
    ]


def _style(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def wants_colour() -> bool:
    """Tell whether standard output is a terminal that is to be coloured."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Return the columns of the terminal, 0 if standard output is none."""
    if not sys.stdout.isatty():
        return 0
    try:
        return min(100, os.get_terminal_size().columns or 80)
    except OSError:
        return 80


def write_recall(
    result: dict[str, Any],
    form: str,
    *,
    colour: bool | None = None,
    width: int | None = None,
    quiet: bool = False,
) -> int:
    """Print a recall in the form `text`, `context` or `json`; returns the exit code 0."""
    if form == "json":
        text = json.dumps(result, ensure_ascii=False) + "\n"
    elif form == "context":
        text = result["context"] + "\n" if result["context"] else ""
    else:
        lines = lines_of(
            result,
            width=terminal_width() if width is None else width,
            colour=wants_colour() if colour is None else colour,
        )
        text = "".join(line + "\n" for line in lines)
    if form != "json" and not quiet:
        told = [f"note: {printable(notice['message'])}" for notice in result.get("warnings", [])]
        if not result["memories"]:
            told.append("nothing relevant is known")
        _write(sys.stderr, "".join(line + "\n" for line in told))
    _write(sys.stdout, text)
    return 0


def _write(stream: Any, text: str) -> None:
    # UTF-8 whatever the locale says; lone surrogates would not encode.
    if not text or stream is None:
        return
    data = text.encode("utf-8", "replace")
    try:
        stream.buffer.write(data)
        stream.flush()
    except BrokenPipeError:
        # The reader has seen enough; a second complaint at exit is of no use either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
