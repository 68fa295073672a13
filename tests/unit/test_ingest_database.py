"""Transcript databases are read in place: log included, exactly once, whatever is damaged."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from hindsight_daemon.errors import BadInput, Busy
from hindsight_daemon.ingest.database import MAX_RESUMABLE
from hindsight_daemon.ingest.discover import find_transcripts, walk_files
from hindsight_daemon.ingest.file_stamp import stamp_of, transcript_behind
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.ingest.transcript import BATCH_EVENTS, read_transcript
from hindsight_daemon.ingest.watcher import Watcher
from tests.support.databases import OPENCODE_TABLES, Follower, OpenCodeWriter, database, put


def texts(path: Path) -> list[str]:
    return [event.text for batch in read_transcript(path) for event in batch.events if event.text]


@pytest.fixture
def writer(tmp_path: Path) -> OpenCodeWriter:
    made = OpenCodeWriter(tmp_path / "opencode.db", wal=True)
    made.session("ses_1")
    made.prompt("ses_1", "msg_1", "Fix the rounding")
    return made


def test_what_is_only_in_the_write_ahead_log_is_read(writer: OpenCodeWriter) -> None:
    assert writer.path.with_name("opencode.db-wal").stat().st_size > 0
    assert texts(writer.path) == ["Fix the rounding"]


def test_a_session_that_goes_on_gives_only_what_is_new(writer: OpenCodeWriter) -> None:
    follower = Follower(writer.path)
    assert [event.text for event in follower.read()] == ["Fix the rounding"]
    assert follower.batches()[0].events == ()
    writer.answer("ses_1", "msg_2", "Rounded half-even")
    (batch,) = follower.batches()
    assert [event.text for event in batch.events] == ["Rounded half-even", ""]
    assert batch.events[-1].ends_turn


def test_only_sessions_that_changed_are_gone_through(writer: OpenCodeWriter) -> None:
    writer.session("ses_2", "/work/blog")
    writer.prompt("ses_2", "msg_b1", "Write the feed")
    follower = Follower(writer.path)
    assert len(follower.read()) == 2
    writer.answer("ses_2", "msg_b2", "The feed is there")
    assert {event.session_id for event in follower.read()} == {"ses_2"}


def test_a_deleted_row_is_no_reason_to_tell_anything_again(writer: OpenCodeWriter) -> None:
    writer.answer("ses_1", "msg_2", "Rounded half-even")
    follower = Follower(writer.path)
    follower.read()
    writer.connection.execute("DELETE FROM message WHERE id = 'msg_1'")
    assert follower.read() == []
    writer.connection.execute("DELETE FROM session")
    assert follower.read() == []
    assert follower.checkpoint is not None and follower.checkpoint.state == "{}"


def test_more_sessions_than_can_be_resumed_go_on_all_the_same(tmp_path: Path) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    names = [f"ses_{number}" for number in range(MAX_RESUMABLE + 3)]
    for name in names:
        writer.session(name)
        writer.prompt(name, f"{name}_1", f"Begin {name}")
    follower = Follower(writer.path)
    follower.read()
    for name in names:
        writer.answer(name, f"{name}_2", f"Done {name}")
    assert [event.text for event in follower.read() if event.text] == [f"Done {n}" for n in names]


def test_many_events_come_in_bounded_batches_each_with_its_checkpoint(tmp_path: Path) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.connection.execute("BEGIN")
    for number in range(30):
        writer.session(f"ses_{number:02}")
        for turn in range(50):
            writer.prompt(f"ses_{number:02}", f"m_{number:02}_{turn:02}", f"{number} {turn}")
    writer.connection.execute("COMMIT")
    batches = list(read_transcript(writer.path))
    assert max(len(batch.events) for batch in batches) <= 2 * BATCH_EVENTS
    assert len({event.id for batch in batches for event in batch.events}) == 1500
    # After a crash behind the first batch the rest comes, and nothing of the first again.
    first, *_ = batches
    rest = list(read_transcript(writer.path, checkpoint=first.checkpoint))
    sessions = {event.session_id for event in first.events}
    assert sum(len(batch.events) for batch in rest) == 1500 - len(first.events)
    assert not sessions & {event.session_id for batch in rest for event in batch.events}
    assert first.checkpoint.size != stamp_of(writer.path).size
    assert rest[-1].checkpoint.size == stamp_of(writer.path).size


def test_a_locked_database_is_named_and_can_be_tried_again(tmp_path: Path) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.session("ses_1")
    writer.connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Busy) as caught, OpenDatabase(writer.path, "x.db", busy_timeout_s=0.01) as d:
        d.head()
    assert "`x.db` is locked" in caught.value.message and caught.value.retryable


def test_reading_leaves_no_lock_behind(writer: OpenCodeWriter) -> None:
    batches = read_transcript(writer.path)
    next(batches)
    other = sqlite3.connect(writer.path, timeout=0)
    other.execute("DELETE FROM part")
    other.commit()
    # Nothing reads from the log any more, so that it can be folded in whole.
    busy, in_log, folded = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert (busy, in_log, folded) == (0, 0, 0)
    other.close()
    batches.close()  # type: ignore[attr-defined]


def test_the_database_itself_cannot_be_written(writer: OpenCodeWriter) -> None:
    with OpenDatabase(writer.path, "x.db") as opened, pytest.raises(BadInput, match="readonly"):
        opened.rows("DELETE FROM session")


def test_a_missing_table_is_said_with_the_tables_there_are(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    database(path, OPENCODE_TABLES[:2]).close()
    with pytest.raises(BadInput, match="its tables are `message`, `session`") as caught:
        texts(path)
    assert "opencode" in caught.value.hint


def test_missing_columns_count_as_absent_fields(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    connection = database(
        path,
        (
            "CREATE TABLE session (id TEXT)",
            "CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)",
            "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)",
        ),
    )
    put(connection, "session", id="s")
    put(connection, "message", id="m", session_id="s", data={"role": "user"})
    put(connection, "part", id="p", message_id="m", data={"type": "text", "text": "hello"})
    assert texts(path) == ["hello"]


@pytest.mark.parametrize("value", [None, 7, 0.5, b"\xff\x00", "not JSON", "[1]", '{"type": 3}'])
def test_columns_of_a_wrong_type_spoil_only_themselves(
    writer: OpenCodeWriter, value: object
) -> None:
    put(writer.connection, "message", id=value, session_id="ses_1", time_created=value, data=value)
    put(writer.connection, "part", id=value, message_id="msg_1", session_id=value, data=value)
    put(writer.connection, "session", id=value, directory=value, revert=value, time_created=value)
    writer.prompt("ses_1", "msg_9", "Still here")
    assert {"Fix the rounding", "Still here"} <= set(texts(writer.path))


def test_a_damaged_page_costs_no_more_than_what_lies_on_it(tmp_path: Path) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    for number in range(40):
        writer.session(f"ses_{number}")
        writer.prompt(f"ses_{number}", f"msg_{number}", f"{number} " + "word " * 300)
    writer.connection.close()
    whole = writer.path.read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    for page in range(1, len(whole) // size):
        writer.path.write_bytes(whole[: page * size] + b"\xa5" * size + whole[(page + 1) * size :])
        try:
            batches = list(read_transcript(writer.path))
        except BadInput:
            continue
        told = sum(len(batch.events) for batch in batches)
        assert told == 40 or sum(batch.skipped_total for batch in batches)


@pytest.mark.parametrize("kept", [100, 512, 4096, 5000, 9000])
def test_a_cut_database_is_refused(tmp_path: Path, kept: int) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.session("ses_1")
    writer.prompt("ses_1", "msg_1", "x" * 20_000)
    writer.connection.close()
    writer.path.write_bytes(writer.path.read_bytes()[:kept])
    with pytest.raises(BadInput, match="SQLite database that cannot be read"):
        list(read_transcript(writer.path))


def test_a_database_put_in_place_of_another_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    first = OpenCodeWriter(path)
    first.session("ses_1")
    first.prompt("ses_1", "msg_1", "The first")
    first.connection.close()
    follower = Follower(path)
    follower.read()
    second = OpenCodeWriter(tmp_path / "other.db")
    second.session("ses_2")
    second.prompt("ses_2", "msg_2", "The second")
    second.connection.close()
    os.replace(second.path, path)  # noqa: PTH105 - as agents do
    (batch,) = follower.batches()
    assert batch.restarted == "the file was replaced"
    assert [event.text for event in batch.events] == ["The second"]


def test_a_view_with_the_name_of_a_table_is_no_transcript(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n) SELECT id FROM n"
    database(path, (f"CREATE VIEW session AS {endless}", *OPENCODE_TABLES[1:])).close()
    with pytest.raises(BadInput, match="no transcript database"):
        texts(path)


def test_a_log_counts_with_its_database_unless_it_is_empty(writer: OpenCodeWriter) -> None:
    before = stamp_of(writer.path)
    writer.prompt("ses_1", "msg_3", "More")
    assert stamp_of(writer.path).size > before.size
    log = writer.path.with_name("opencode.db-wal")
    assert transcript_behind(log) == writer.path
    writer.connection.close()
    closed = stamp_of(writer.path)
    log.touch()
    assert stamp_of(writer.path) == closed


def test_databases_are_found_in_folders(writer: OpenCodeWriter) -> None:
    (writer.path.parent / "state.db").write_bytes(b"SQLite format 3\x00" + bytes(200))
    (found,) = find_transcripts(writer.path.parent)
    assert (found.path, found.source) == (writer.path, "opencode")


def test_a_shallow_folder_is_not_looked_into(writer: OpenCodeWriter) -> None:
    deep = writer.path.parent / "snapshot" / "opencode.db"
    database(deep, OPENCODE_TABLES).close()
    assert list(walk_files(writer.path.parent, shallow=True)) == [writer.path]
    assert set(walk_files(writer.path.parent)) == {writer.path, deep}


def test_a_change_of_the_log_is_a_change_of_the_database(writer: OpenCodeWriter) -> None:
    watcher = Watcher([writer.path.parent], lambda _: None, clock=lambda: 1000.0)
    assert watcher.look() == {writer.path}
    assert watcher.look() == set()
    info = writer.path.stat()
    writer.prompt("ses_1", "msg_4", "Only in the log")
    after = writer.path.stat()
    assert (info.st_size, info.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    watcher.hint(writer.path.with_name("opencode.db-wal"))
    assert watcher.look() == {writer.path}
