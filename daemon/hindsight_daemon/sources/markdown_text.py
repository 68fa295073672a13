"""Markdown and plain text: a dialogue with speaker labels, else one document in portions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.identity import fallback_session, text_digest
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.spoken import Conversation, kind_of, role_of

AGENT = "text"
PORTION_CHARS = 1500
"""Size to which paragraphs of a document are joined."""

_NAMES = (
    "user|human|person|assistant|ai|agent|model|bot|claude|chatgpt|gpt|q|a|用户|我|人类|问|助手|答"
)
_LABEL = re.compile(
    rf"^(?:#{{1,6}}\s+|[_*]{{1,3}}\s*)?(?P<name>{_NAMES})(?:\s*\([^)\n]*\))?"
    r"(?P<mark>[*_]{0,3}\s*[:：>][*_]{0,3}|[*_]{1,3}|)(?P<rest>(?:\s.*)?|(?<=[：]).*)$",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_TEXT_SUFFIXES = frozenset((".md", ".markdown", ".txt", ".text", ".mdx"))


def split_turns(text: str) -> list[tuple[str, str]]:
    """Return (speaker, words) of a labelled dialogue; empty if there are no labels.

    Labels inside code fences do not count.
    """
    turns: list[tuple[str, list[str]]] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if match := _FENCE.match(line):
            mark = match[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence):
                fence = ""
        label = None if fence else _LABEL.match(line)
        if label and _is_label(line, label):
            turns.append((label["name"], [label["rest"].strip()]))
        elif turns:
            turns[-1][1].append(line)
    return [(name, words) for name, lines in turns if (words := "\n".join(lines).strip())]


def split_portions(text: str) -> list[str]:
    """Return a document as portions of whole paragraphs; fenced code is not cut."""
    portions: list[str] = []
    current: list[str] = []
    size = 0
    for paragraph in _paragraphs(text):
        starts_section = paragraph.startswith("#")
        if current and (size + len(paragraph) > PORTION_CHARS or starts_section):
            portions.append("\n\n".join(current))
            current, size = [], 0
        current.append(paragraph)
        size += len(paragraph)
    if current:
        portions.append("\n\n".join(current))
    return portions


def _is_label(line: str, label: re.Match[str]) -> bool:
    """A bare word is a label only as a heading or in bold, or with a colon."""
    if label["mark"]:
        return len(label["name"]) > 1 or "答问我".find(label["name"]) >= 0 or ":" in label["mark"]
    return line.lstrip().startswith("#") and not label["rest"].strip()


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    fence = ""
    for line in [*text.replace("\r\n", "\n").split("\n"), ""]:
        if match := _FENCE.match(line):
            fence = "" if fence and match[1][0] == fence[0] else fence or match[1]
        if line.strip() or fence:
            lines.append(line.rstrip())
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


class TextParser:
    """Reads one text document."""

    def __init__(self, context: TranscriptContext) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}
        self._context = context

    def state(self) -> str:
        """Documents are read whole."""
        return ""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the turns of a dialogue or the portions of a document."""
        # A file keeps its session when its beginning is edited; a pipe has no other name.
        beginning = "" if self._context.path.startswith("/") else line.text
        session = self._context.session_id or fallback_session(self._context, beginning)
        talk = Conversation(AGENT, self._context, session)
        turns = split_turns(line.text)
        if len(turns) < 2:
            turns = [("", portion) for portion in split_portions(line.text)]
        seen: dict[str, int] = {}
        for index, (name, words) in enumerate(turns):
            # Ids follow from the words, so that an edit changes only what was edited.
            digest = text_digest(words)
            seen[digest] = seen.get(digest, 0) + 1
            name = {"q": "user", "a": "assistant"}.get(name.lower(), name)
            role = role_of(name) or "user"
            yield talk.event(
                line,
                index,
                str(seen[digest]),
                kind_of(role) if name else "text",
                role,
                words,
                speaker=name,
            )


class MarkdownText:
    """Markdown and plain text."""

    name = "text"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept labelled dialogues, and prose in files named as text or without a suffix."""
        begin = head.lstrip()
        if not begin or begin.startswith(("{", "[{", "[[", "<?xml", "<!DOCTYPE", "#!")):
            return 0.0
        if len(split_turns(head[:16384])) >= 2:
            return 0.7
        suffix = Path(path).suffix.lower()
        if suffix in _TEXT_SUFFIXES:
            return 0.55
        letters = sum(character.isalpha() or character.isspace() for character in begin[:4096])
        is_prose = letters > 0.75 * len(begin[:4096]) and len(begin) >= 16
        return 0.5 if not suffix and is_prose else 0.2

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Nobody keeps these by default."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept text documents."""
        return path.suffix.lower() in _TEXT_SUFFIXES

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one document."""
        return TextParser(context)


SOURCE = MarkdownText()
