"""What a transcript family has to provide; `registry` lists all of them.

A source turns raw lines (or one whole document) into events. It never opens files, never
redacts and never stores: `ingest` does. Parsing is tolerant: an unknown record type is counted,
a wrong field counts as absent, nothing a transcript contains may raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

from hindsight_daemon.model import Event, Record


class RawLine(Record, frozen=True, kw_only=True):
    """One physical line of a transcript without its newline, decoded with replacement.

    For document containers the whole file is one RawLine.
    """

    number: int
    byte_start: int
    byte_end: int
    sha256: str
    text: str


class TranscriptContext(Record, frozen=True, kw_only=True):
    """What is known of a transcript before its first line is parsed.

    `session_id` and `project` are the user's overrides (empty if none); `state` is the JSON text
    a former parser of the same transcript returned from `state()`, for resuming in its middle.
    """

    path: str
    session_id: str = ""
    project: str = ""
    state: str = ""


class Skipped(Record, frozen=True, kw_only=True):
    """A line that gave no event although it should have, and why."""

    line: int
    reason: str


class Parser(Protocol):
    """Reads one transcript from top to bottom, keeping only what later lines need."""

    skipped: list[Skipped]
    unknown: dict[str, int]
    """Unknown record types with their counts, for the drift alarm."""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of one line; may yield none."""

    def state(self) -> str:
        """Return continuation state as JSON text."""


class Source(Protocol):
    """A transcript family."""

    name: str
    parser_version: int
    container: Literal["lines", "document"]

    def score(self, head: str, path: str) -> float:
        """Rate from 0 to 1 how surely a transcript that begins with `head` is of this family.

        `head` holds up to 64 KiB of whole lines; decided by content, `path` is only a hint.
        """

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders where the agent keeps its transcripts (existing or not)."""

    def matches(self, path: Path) -> bool:
        """Tell by name whether a file under a root is a transcript."""

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
