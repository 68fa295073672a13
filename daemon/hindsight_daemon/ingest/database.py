"""Reads the changed sessions of a transcript database: rows → source → redacted events.

What was read is told by session: its key and its mark, which covers times and counts. A session
whose mark has moved is gone through again; of the last few changed ones the records that were
there already are only compared, and the parser goes on behind them. Events have stable ids, so
that reading again is harmless.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hindsight_daemon.errors import BadInput, NoInput
from hindsight_daemon.ingest.batch import (
    BATCH_CHARS,
    BATCH_EVENTS,
    MAX_SKIPPED,
    TranscriptBatch,
)
from hindsight_daemon.ingest.file_stamp import FileStamp, stamp_of
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.ingest.redact import redact_event
from hindsight_daemon.model import Checkpoint, Event
from hindsight_daemon.sources.json_text import encode_json
from hindsight_daemon.sources.port import (
    DatabaseSource,
    RawLine,
    Skipped,
    StoredRecord,
    StoredSession,
    TranscriptContext,
)
from hindsight_daemon.sources.registry import SOURCES, THRESHOLD

MAX_RESUMABLE = 8
"""Sessions whose parser can go on; agents seldom write more at a time."""
_DIGEST_CHARS = 12


class _Resumable(msgspec.Struct, omit_defaults=True):
    """How far a session was read: number and digest of its records, the parser's state."""

    records: int
    digest: str
    state: str


class _Progress(msgspec.Struct, omit_defaults=True):
    """What a checkpoint's `state` holds for a database."""

    seen: set[str] = set()
    """Digests of key and mark of the sessions that were read."""
    open: set[str] = set()
    """Those among them that were read while they might still be written, so that something may
    have been left out; a final reading goes through them once more."""
    resumable: dict[str, _Resumable] = {}


def database_source(database: OpenDatabase, name: str = "") -> DatabaseSource:
    """Return the family of a database, told by its tables; raises `BadInput` if none fits.

    `name` restricts the choice to that family.
    """
    head = database.head()
    best, found = 0.0, None
    families = [
        source
        for source in SOURCES
        if source.container == "database" and isinstance(source, DatabaseSource)
    ]
    for source in families:
        if name and source.name != name:
            continue
        score = source.score(head, database.label)
        if score > best:
            best, found = score, source
    if found is not None and best >= THRESHOLD:
        return found
    tables = ", ".join(f"`{line.split(':')[0]}`" for line in head.split("\n")[1:9] if line)
    names = ", ".join(source.name for source in families)
    kind = f"of `{name}`" if name else "of a known kind"
    raise BadInput(
        f"`{database.label}` is no transcript database {kind}: its tables are {tables or 'none'}",
        hint=f"databases of these sources can be read: {names}",
    )


def read_database(
    path: Path,
    *,
    shown: str,
    checkpoint: Checkpoint | None = None,
    source_name: str = "",
    project: str = "",
    final: bool = True,
) -> Iterator[TranscriptBatch]:
    """Yield what the sessions of a database hold beyond its checkpoint, at least one batch.

    Raises `BadInput`, `Busy`, `NoInput` or `PermissionProblem`; damage within a session is
    counted as skipped instead.
    """
    try:
        stamp = stamp_of(path)
    except OSError as exc:
        raise NoInput(f"there is no file `{shown}`") from exc
    with OpenDatabase(path, shown) as database:
        source = database_source(database, source_name)
        context = TranscriptContext(path=shown, project=project)
        yield from read_sessions(database, source, context, stamp, checkpoint, final=final)


def read_sessions(
    database: OpenDatabase,
    source: DatabaseSource,
    context: TranscriptContext,
    stamp: FileStamp,
    checkpoint: Checkpoint | None,
    *,
    final: bool,
) -> Iterator[TranscriptBatch]:
    """Yield what the sessions of an open database hold beyond the checkpoint."""
    yield from _Reading(database, source, context, stamp, checkpoint).sessions(final=final)


class _Reading:
    """One pass over a database: collects events until a batch is full."""

    def __init__(
        self,
        database: OpenDatabase,
        source: DatabaseSource,
        context: TranscriptContext,
        stamp: FileStamp,
        checkpoint: Checkpoint | None,
    ) -> None:
        self._database = database
        self._source = source
        self._context = context
        self._stamp = stamp
        self._restarted = _reason_to_restart(checkpoint, source, stamp)
        self._progress = _Progress()
        if checkpoint is not None and not self._restarted:
            self._progress = _decoded(checkpoint.state)
        self._share_done = 0.0
        self._events: dict[str, Event] = {}
        self._chars = 0
        self._redactions = 0
        self._skipped: list[Skipped] = []
        self._listed = 0
        self._unknown: dict[str, int] = {}

    def sessions(self, *, final: bool) -> Iterator[TranscriptBatch]:
        stored = self._source.sessions(self._database)
        digests = {_digest(one) for one in stored}
        # What is gone from the database need not be remembered.
        self._progress.seen &= digests
        self._progress.open &= digests
        for key in self._progress.resumable.keys() - {one.key for one in stored}:
            del self._progress.resumable[key]
        done = self._progress.seen - self._progress.open if final else self._progress.seen
        fresh = [one for one in stored if _digest(one) not in done]
        for number, session in enumerate(fresh):
            digest = _digest(session)
            try:
                yield from self._session(session, final=final)
            except BadInput as exc:
                self._skip(0, f"session `{session.key}`: {exc.message}")
            self._progress.seen.add(digest)
            (self._progress.open.discard if final else self._progress.open.add)(digest)
            self._share_done = (number + 1) / len(fresh)
            if self._is_full():
                yield self._batch()
        self._share_done = 1.0
        yield self._batch(() if stored else ("the database holds no sessions",))

    def _session(self, session: StoredSession, *, final: bool) -> Iterator[TranscriptBatch]:
        lost = self._database.lost_rows
        context, records, digest, count = self._resumed(session.key, final=final)
        parser = self._source.parser(context)
        for stored in records:
            line = _line(stored)
            digest.update(line.sha256.encode("ascii"))
            count += 1
            for event in parser.feed(line):
                clean, redactions = redact_event(event)
                self._events[clean.id] = clean
                self._redactions += redactions
                self._chars += len(clean.text)
                if clean.tool is not None:
                    self._chars += len(clean.tool.arguments)
                if len(self._events) >= 2 * BATCH_EVENTS or self._chars >= 2 * BATCH_CHARS:
                    # Its checkpoint is from before the session, which is then gone through again.
                    yield self._batch()
            self._skipped.extend(parser.skipped)
            parser.skipped.clear()
        for kind, times in parser.unknown.items():
            self._unknown[kind] = self._unknown.get(kind, 0) + times
        if lost := self._database.lost_rows - lost:
            self._skip(0, f"session `{session.key}`: {lost} rows are damaged or too long")
        resumable = self._progress.resumable
        resumable.pop(session.key, None)
        resumable[session.key] = _Resumable(
            records=count, digest=digest.hexdigest(), state=parser.state()
        )
        if len(resumable) > MAX_RESUMABLE:
            resumable.pop(next(iter(resumable)))

    def _resumed(
        self, key: str, *, final: bool
    ) -> tuple[TranscriptContext, Iterator[StoredRecord], hashlib._Hash, int]:
        """Return the records that are new and what goes before them, all if anything changed."""
        former = self._progress.resumable.get(key)
        if former is not None:
            records = self._source.records(self._database, key, final=final)
            digest, count = hashlib.sha256(), 0
            while count < former.records and (stored := next(records, None)) is not None:
                digest.update(_line(stored).sha256.encode("ascii"))
                count += 1
            if count == former.records and digest.hexdigest() == former.digest:
                context = msgspec.structs.replace(self._context, state=former.state)
                return context, records, digest, count
        records = self._source.records(self._database, key, final=final)
        return self._context, records, hashlib.sha256(), 0

    def _skip(self, line: int, reason: str) -> None:
        self._skipped.append(Skipped(line=line, reason=reason))

    def _is_full(self) -> bool:
        return len(self._events) >= BATCH_EVENTS or self._chars >= BATCH_CHARS

    def _batch(self, warnings: tuple[str, ...] = ()) -> TranscriptBatch:
        listed = self._skipped[: MAX_SKIPPED - self._listed]
        self._listed += len(listed)
        batch = TranscriptBatch(
            path=self._context.path,
            source=self._source.name,
            checkpoint=Checkpoint(
                path=self._context.path,
                source=self._source.name,
                parser_version=self._source.parser_version,
                device=self._stamp.device,
                inode=self._stamp.inode,
                # Until the last batch is stored the database has to count as changed, and while
                # there are open sessions, for the reading that closes them.
                size=self._stamp.size if self._share_done == 1.0 else 0,
                mtime_ns=0 if self._progress.open else self._stamp.mtime_ns,
                offset=int(self._stamp.size * self._share_done),
                state=msgspec.json.encode(self._progress).decode("utf-8"),
            ),
            events=tuple(self._events.values()),
            skipped=tuple(listed),
            skipped_total=len(self._skipped),
            unknown=self._unknown,
            warnings=warnings,
            redactions=self._redactions,
            size_bytes=self._stamp.size,
            restarted=self._restarted,
        )
        self._events, self._chars, self._redactions = {}, 0, 0
        self._skipped, self._unknown = [], {}
        return batch


def _reason_to_restart(
    checkpoint: Checkpoint | None, source: DatabaseSource, stamp: FileStamp
) -> str:
    if checkpoint is None:
        return ""
    if (checkpoint.source, checkpoint.parser_version) != (source.name, source.parser_version):
        return "the parser has changed"
    if (checkpoint.device, checkpoint.inode) != (stamp.device, stamp.inode):
        return "the file was replaced"
    return ""


def _decoded(state: str) -> _Progress:
    try:
        return msgspec.json.decode(state, type=_Progress)
    except msgspec.DecodeError:
        return _Progress()


def _digest(session: StoredSession) -> str:
    told = f"{session.key}\x00{session.mark}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).hexdigest()[:_DIGEST_CHARS]


def record_hash(stored: StoredRecord) -> str:
    """Return the hash that the origins of a record's events carry."""
    return _line(stored).sha256


def _line(stored: StoredRecord) -> RawLine:
    text = encode_json(stored.fields)
    sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return RawLine(number=stored.number, byte_start=0, byte_end=0, sha256=sha256, text=text)
