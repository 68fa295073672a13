"""What a transcript family has to provide; `registry` lists all of them.

A source turns raw lines (or one whole document) into events; of a database it says which rows
make a session, each a line to its parser. It never opens files, never redacts and never stores:
`ingest` does. Parsing is tolerant: an unknown record type is counted,
a wrong field counts as absent, nothing a transcript contains may raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from hindsight_daemon.model import Event, Record

DATABASE_HEAD = "SQLite database\n"
"""First line of the `head` that `Source.score` sees of a database; see there."""

SqlValue = str | int | float | bytes | None


class RawLine(Record, frozen=True, kw_only=True):
    """One physical line of a transcript without its newline, decoded with replacement.

    For document containers the whole file is one RawLine. For databases it is a record that the
    source made of rows, as JSON text, with its number in the session and no byte range.
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
    `beside` holds the texts of the side files there are, by name (see `SideFileSource`).
    """

    path: str
    session_id: str = ""
    project: str = ""
    state: str = ""
    beside: dict[str, str] = {}


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

    @property
    def container(self) -> Literal["lines", "document", "database", "tree"]:
        """What holds the transcript.

        A `database` source is a `DatabaseSource`. So is a `tree` source, whose transcript is a
        document that names a session; `ingest.json_tree` shows the files beside it as tables.
        """

    def score(self, head: str, path: str) -> float:
        """Rate from 0 to 1 how surely a transcript that begins with `head` is of this family.

        `head` holds up to 64 KiB of whole lines; decided by content, `path` is only a hint. Of a
        database it is `DATABASE_HEAD` and a line `table: column column …` for each table.
        """

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders where the agent keeps its transcripts (existing or not)."""

    def matches(self, path: Path) -> bool:
        """Tell by name whether a file under a root is a transcript."""

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""


@runtime_checkable
class SideFileSource(Protocol):
    """A family that keeps some of what there is to know in small files near the transcript."""

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the files that may tell folder, branch, model or parent of the transcript at `path`.

        They need not be there; `ingest` reads the beginning of those that are.
        """


class Tables(Protocol):
    """Read access to an open database, lent by `ingest` for the time of one reading.

    Every call is a transaction of its own that ends before it returns, so that writers are not
    kept waiting: ask for keys first, then for one row after the other.
    """

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns, none if there is no such table."""

    def rows(self, query: str, *values: SqlValue) -> list[tuple[Any, ...]]:
        """Return small rows (keys, times, counts).

        Raises `BadInput` if the database is damaged or `Busy` if it is locked.
        """

    def row(self, query: str, *values: SqlValue) -> tuple[Any, ...] | None:
        """Return the first row, None if there is none, it is damaged or too big (counted)."""


class StoredSession(Record, frozen=True, kw_only=True):
    """A session in a database; `mark` changes whenever anything of the session does."""

    key: str
    mark: str


class StoredRecord(Record, frozen=True, kw_only=True):
    """What the parser gets as one line: plain values made of rows.

    `number` grows within the session and stays with the record when others are added.
    """

    number: int
    fields: dict[str, Any]


@runtime_checkable
class DatabaseSource(Source, Protocol):
    """A family whose transcripts are sessions in a SQLite database, or in what is shown as one."""

    is_shallow: bool
    """The databases lie in the roots themselves, whose subfolders are not to be looked into."""

    def sessions(self, tables: Tables) -> list[StoredSession]:
        """Return the sessions there are, oldest first; cheap, asked at every change."""

    def records(self, tables: Tables, key: str, *, final: bool) -> Iterator[StoredRecord]:
        """Yield the records of one session in causal order.

        What is still being written is left out unless `final`, so that a record does not change
        once it was yielded.
        """
