"""Finds what evidence points at in the transcript as it is now, and says whether it is the same.

Lines are compared by their bytes, also in compressed files and in the compressed twin of a file.
A record of a database is looked for among the records that its source makes today. A document is
rewritten whole with every message, so there the event itself is compared. Reads files only; what
was kept of an event is `spans`'.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hindsight_daemon.engine.own_tail import OwnTail
from hindsight_daemon.errors import BadInput, HindsightError, NoInput
from hindsight_daemon.ingest.database import database_source, record_hash
from hindsight_daemon.ingest.json_tree import open_tree
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.ingest.reader import OpenTranscript, read_head
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event, Origin
from hindsight_daemon.sources.port import DatabaseSource
from hindsight_daemon.sources.registry import sniff

UNCHANGED, CHANGED, GONE, UNKNOWN = "unchanged", "changed", "gone", "unknown"
_PACKED = ".zst"
_SEARCH_S = 2.0
_LONG_BYTES = 20_000
"""Beyond this a first line or whole document says less than the event that was made of it."""


class Original(NamedTuple):
    """What became of a record: the state, its bytes if they tell something, and from which file."""

    state: str
    raw: bytes = b""
    path: str = ""
    is_packed: bool = False


class Originals:
    """Looks records up for the time of one question; what it read of a transcript is remembered."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], frozenset[str]] = {}
        self._documents: dict[str, dict[str, Event]] = {}

    def look(self, origin: Origin, event: Event | None = None, session_id: str = "") -> Original:
        """Compare a record with what is there now; never raises for the transcript's sake."""
        if not origin.sha256:
            return Original(UNKNOWN)
        path = _present(origin.path)
        if path is None:
            return Original(GONE)
        try:
            with OpenTranscript(path, origin.path) as transcript:
                if transcript.is_database:
                    return Original(self._in_database(path, origin, session_id))
                if origin.byte_end > origin.byte_start and (raw := _bytes(transcript, origin)):
                    raw = b"" if origin.byte_start < 4 and len(raw) > _LONG_BYTES else raw
                    return Original(UNCHANGED, raw, str(path), transcript.is_packed)
                source = sniff(read_head(transcript).text, origin.path)[0]
            if isinstance(source, DatabaseSource):
                return Original(self._in_tree(path, source, origin, session_id))
            if source.container == "document" and event is not None:
                return Original(self._in_document(path, event))
        except NoInput:
            return Original(GONE)
        except BadInput:
            return Original(CHANGED)
        except (HindsightError, OSError):
            return Original(UNKNOWN)
        return Original(CHANGED)

    def _in_document(self, path: Path, event: Event) -> str:
        key = str(path)
        if key not in self._documents:
            tail = OwnTail()
            batches = read_transcript(path, final=True)
            read = (one for batch in batches for one in tail.take(batch.events, ()))
            self._documents[key] = {one.id: one for one in read}
        now = self._documents[key].get(event.id)
        return UNCHANGED if now and (now.text, now.tool) == (event.text, event.tool) else CHANGED

    def _in_database(self, path: Path, origin: Origin, session_id: str) -> str:
        with OpenDatabase(path, origin.path) as tables:
            return self._among(tables, database_source(tables), origin, session_id)

    def _in_tree(self, path: Path, source: DatabaseSource, origin: Origin, session_id: str) -> str:
        with _tree(path, origin.path) as tables:
            return self._among(tables, source, origin, session_id)

    def _among(
        self, tables: OpenDatabase, source: DatabaseSource, origin: Origin, session_id: str
    ) -> str:
        """Look for a record in the session it was in, else in all, the newest first."""
        keys = [session.key for session in reversed(source.sessions(tables))]
        own = [key for key in keys if session_id.endswith(key)]
        deadline = time.monotonic() + _SEARCH_S
        for key in own or keys:
            place = (origin.path, key)
            if place not in self._records:
                stored = source.records(tables, key, final=True)
                self._records[place] = frozenset(record_hash(record) for record in stored)
            if origin.sha256 in self._records[place]:
                return UNCHANGED
            if time.monotonic() > deadline:
                return UNKNOWN
        return CHANGED if own else GONE


@contextmanager
def _tree(path: Path, shown: str) -> Iterator[OpenDatabase]:
    tables, _ = open_tree(path, shown)
    with tables:
        yield tables


def _present(path: str) -> Path | None:
    """Return the file or its twin: agents pack old transcripts, and unpack them to go on."""
    twin = path.removesuffix(_PACKED) if path.endswith(_PACKED) else path + _PACKED
    return next((one for one in (Path(path), Path(twin)) if one.is_file()), None)


def _bytes(transcript: OpenTranscript, origin: Origin) -> bytes:
    """Return the bytes that the origin names if they are the same, else none."""
    stream = transcript.stream(origin.byte_start)
    wanted = origin.byte_end - origin.byte_start
    parts: list[bytes] = []
    while wanted > 0 and (part := transcript.read(stream, wanted)):
        parts.append(part)
        wanted -= len(part)
    raw = b"".join(parts)
    digests = (hashlib.sha256(one).hexdigest() for one in (raw, raw.rstrip(b"\r\n")))
    return raw if origin.sha256 in digests else b""
