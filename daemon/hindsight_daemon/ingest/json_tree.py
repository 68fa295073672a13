"""Reads sessions that lie in many small JSON files, shown to their source as tables in memory.

The layout is OpenCode's before 1.2: `storage/session/<project>/<session>.json` names the session,
`storage/message/<session>/` and `storage/part/<message>/` hold the rest; the oldest parts lie in
`storage/part/` itself. Files are rewritten in place, so that a damaged one is one half-written: it
is counted, and read at the next change.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hindsight_daemon.errors import NoInput
from hindsight_daemon.ingest.batch import TranscriptBatch
from hindsight_daemon.ingest.database import read_sessions
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.ingest.reader import MAX_LINE_BYTES
from hindsight_daemon.model import Checkpoint
from hindsight_daemon.sources.fields import first_string, integer, mapping, string
from hindsight_daemon.sources.json_text import decode_object, encode_json
from hindsight_daemon.sources.port import DatabaseSource, Skipped, TranscriptContext

_TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, revert TEXT);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
                      time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
                   time_updated INTEGER, data TEXT);
CREATE INDEX part_of_message ON part (message_id);
"""


def read_tree(
    path: Path,
    source: DatabaseSource,
    *,
    shown: str,
    checkpoint: Checkpoint | None = None,
    project: str = "",
    final: bool = True,
) -> Iterator[TranscriptBatch]:
    """Yield what the session named by the file at `path` holds beyond its checkpoint.

    Raises `NoInput` if the file is gone; what is damaged is counted as skipped.
    """
    try:
        stamp = stamp_of(path)
    except OSError as exc:
        raise NoInput(f"there is no file `{shown}`") from exc
    opened, damaged = open_tree(path, shown)
    with opened as tables:
        context = TranscriptContext(path=shown, project=project)
        batches = read_sessions(tables, source, context, stamp, checkpoint, final=final)
        for number, batch in enumerate(batches):
            if number == 0 and damaged:
                reason = f"{damaged} of the session's files cannot be read as JSON"
                batch = msgspec.structs.replace(
                    batch,
                    skipped=(Skipped(line=0, reason=reason), *batch.skipped),
                    skipped_total=batch.skipped_total + 1,
                )
            yield batch


def open_tree(path: Path, shown: str) -> tuple[OpenDatabase, int]:
    """Return the files of a session as tables, to be closed, and how many cannot be read."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    damaged = _fill(connection, path)
    return OpenDatabase(path, shown, connection=connection), damaged


def _fill(connection: sqlite3.Connection, path: Path) -> int:
    """Put a session's files into the tables; return how many could not be read."""
    connection.executescript(_TABLES)
    storage = path.parent.parent.parent
    session = _decoded(path)
    if session is None:
        return 1
    key = _name(session.get("id")) or path.stem
    revert = session.get("revert")
    row = (
        key,
        first_string(session, "parentID"),
        first_string(session, "directory"),
        encode_json(revert) if revert else None,
    )
    connection.execute("INSERT INTO session VALUES (?, ?, ?, ?)", row)
    damaged = 0
    loose = sorted(_files(storage / "part"))
    for file in sorted(_files(storage / "message" / key)):
        message = _decoded(file)
        if message is None:
            damaged += 1
            continue
        message_id = _name(message.get("id")) or file.stem
        values = (message_id, key, _created(message), _changed(file), encode_json(message))
        connection.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", values)
        own = sorted(_files(storage / "part" / message_id))
        damaged += _fill_parts(connection, own, values, ("", message_id))
        damaged += _fill_parts(connection, loose, values, (message_id,))
    return damaged


def _fill_parts(
    connection: sqlite3.Connection,
    files: list[Path],
    message: tuple[Any, ...],
    owners: tuple[str, ...],
) -> int:
    """Put those of the parts that say they belong to `owners`; return how many are damaged."""
    damaged = 0
    for file in files:
        part = _decoded(file)
        if part is None:
            damaged += 1
        elif string(part.get("messageID")) in owners:
            values = (string(part.get("id")) or file.stem, *message[:2], _changed(file))
            row = (*values, encode_json(part))
            connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?)", row)
    return damaged


def _name(value: Any) -> str:
    """Return an id if it can be the name of a folder here, and of none elsewhere."""
    name = string(value)
    return "" if "/" in name or name.startswith(".") or "\x00" in name else name


def _created(message: dict[str, Any]) -> int:
    created = integer(mapping(message.get("time")).get("created")) or 0
    return created if 0 < created < 2**62 else 0


def _files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files in a folder; links could lead anywhere and are passed over."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
    except OSError:
        return


def _decoded(file: Path) -> dict[str, Any] | None:
    try:
        if file.stat().st_size > MAX_LINE_BYTES:
            return None
        return decode_object(file.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return None


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
