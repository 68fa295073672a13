"""What evidence points at is found again in packed files, databases, trees and documents."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from hindsight_daemon.client import Client
from hindsight_daemon.protocol.documents import TranscriptSpan
from tests.support.claude_lines import fixed_migration
from tests.support.databases import OpenCodeWriter
from tests.support.harness import running_daemon


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client of a daemon of this test's own."""
    with running_daemon() as found:
        yield found


def _spans(client: Client, text: str) -> list[TranscriptSpan]:
    (turn,) = client.recall(text, kinds=("turn",), all_projects=True).memories[:1]
    spans = client.show(turn.id, with_spans=True).spans
    steps = [step for step in client.why(turn.id).steps if step.what == "transcript"]
    assert [step.verified for step in steps] == [span.verified for span in spans]
    return spans


def _states(client: Client, text: str) -> set[tuple[str, str]]:
    return {(span.verified, span.origin) for span in _spans(client, text)}


def test_a_line_of_a_packed_transcript_is_shown_from_it(client: Client, tmp_path: Path) -> None:
    text = fixed_migration().text()
    file = tmp_path / "rollout.jsonl.zst"
    file.write_bytes(zstandard.compress(text.encode()))
    client.ingest((str(file),))
    (span,) = _spans(client, "migration test hangs")
    assert (span.verified, span.origin) == ("unchanged", "file")
    assert [line.text for line in span.lines] == [text.split("\n")[span.line - 1]]
    file.write_bytes(zstandard.compress(b"{}\n" + text.encode()))
    assert _states(client, "migration test hangs") == {("changed", "store")}
    file.write_bytes(b"\x28\xb5\x2f\xfd damaged")
    assert _states(client, "migration test hangs") == {("changed", "store")}
    file.unlink()
    assert _states(client, "migration test hangs") == {("gone", "store")}


def test_a_transcript_that_its_agent_packed_is_followed_to_its_twin(
    client: Client, tmp_path: Path
) -> None:
    text = fixed_migration().text()
    file = tmp_path / "rollout.jsonl"
    file.write_text(text, encoding="utf-8")
    client.ingest((str(file),))
    (tmp_path / "rollout.jsonl.zst").write_bytes(zstandard.compress(text.encode()))
    file.unlink()
    assert _states(client, "migration test hangs") == {("unchanged", "file")}


def test_a_record_of_a_database_is_unchanged_until_its_row_changes_or_goes(
    client: Client, tmp_path: Path
) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.session("ses_1", str(tmp_path))
    writer.prompt("ses_1", "msg_1", "Please give the gateway a healthcheck")
    writer.session("ses_2", str(tmp_path))
    writer.prompt("ses_2", "msg_9", "Something else entirely about parsers")
    client.ingest((str(writer.path),))
    assert _states(client, "gateway healthcheck") == {("unchanged", "store")}
    writer.answer("ses_1", "msg_2", "It answers on slash healthz now")
    assert _states(client, "gateway healthcheck") == {("unchanged", "store")}
    old, new = "gateway", "proxy"
    writer.connection.execute("UPDATE part SET data = REPLACE(data, ?, ?)", (old, new))
    assert _states(client, "gateway healthcheck") == {("changed", "store")}
    writer.connection.execute("DELETE FROM session WHERE id = 'ses_1'")
    assert _states(client, "gateway healthcheck") == {("gone", "store")}
    writer.connection.close()
    writer.path.unlink()
    assert _states(client, "gateway healthcheck") == {("gone", "store")}


def test_a_locked_database_leaves_it_open_whether_a_record_changed(
    client: Client, tmp_path: Path
) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.session("ses_1", str(tmp_path))
    writer.prompt("ses_1", "msg_1", "Please give the gateway a healthcheck")
    client.ingest((str(writer.path),))
    writer.connection.execute("BEGIN EXCLUSIVE")
    assert _states(client, "gateway healthcheck") == {("unknown", "store")}
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(writer.path, timeout=0).execute("SELECT * FROM part")


def test_a_message_is_unchanged_though_its_document_grew(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "tasks/17/ui_messages.json"
    file.parent.mkdir(parents=True)
    messages = [
        {"ts": 1740470400000, "type": "say", "say": "text", "text": "Add a gateway healthcheck"},
        {"ts": 1740470405000, "type": "say", "say": "text", "text": "I will add it now"},
    ]
    file.write_text(json.dumps(messages), encoding="utf-8")
    client.ingest((str(file),))
    later = {"ts": 1740470409000, "type": "say", "say": "user_feedback", "text": "and a test"}
    file.write_text(json.dumps([*messages, later]), encoding="utf-8")
    assert _states(client, "gateway healthcheck") == {("unchanged", "store")}
    messages[0]["text"] = "Add nothing"
    file.write_text(json.dumps(messages), encoding="utf-8")
    assert _states(client, "gateway healthcheck") == {("changed", "store")}


def test_a_session_in_many_files_is_looked_up_in_them(client: Client, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    record = {
        "id": "ses_1",
        "projectID": "p",
        "directory": "/w",
        "title": "t",
        "time": {"created": 1},
    }
    message = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}
    part = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text"}
    part["text"] = "Please give the gateway a healthcheck"
    for name, value in (
        ("session/p/ses_1", record),
        ("message/ses_1/msg_1", message),
        ("part/msg_1/prt_1", part),
    ):
        file = storage / f"{name}.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value), encoding="utf-8")
    client.ingest((str(storage / "session/p/ses_1.json"),))
    assert _states(client, "gateway healthcheck") == {("unchanged", "store")}
    file.write_text(json.dumps({**part, "text": "no"}), encoding="utf-8")
    assert _states(client, "gateway healthcheck") == {("changed", "store")}
