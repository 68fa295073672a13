"""OpenCode's older sessions, one JSON file a message and a part, come out as the same story."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.errors import BadInput
from hindsight_daemon.ingest.discover import find_transcripts
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.ingest.transcript import read_transcript
from tests.support.databases import START_MS, Follower, OpenCodeWriter
from tests.support.transcripts import document, events_of, told

SHARED = Path(__file__).resolve().parents[3] / "shared/transcripts/opencode"
BASH: dict[str, Any] = {
    "type": "tool",
    "callID": "c1",
    "tool": "bash",
    "state": {
        "status": "completed",
        "input": {"command": "make"},
        "output": "*** Error 2",
        "metadata": {"exit": 2},
    },
}


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """Return a storage folder with one session of one prompt."""
    made = tmp_path / "storage"
    session = {"id": "ses_1", "projectID": "p", "directory": "/work/shop", "time": {"created": 1}}
    document(made / "session/p/ses_1.json", session)
    message(made, "msg_1", "user", {"type": "text", "text": "build it"})
    return made


def message(storage: Path, key: str, role: str, *parts: dict[str, Any], **data: Any) -> None:
    created = START_MS + int(key[4:]) * 1000
    value = {"id": key, "sessionID": "ses_1", "role": role, "time": {"created": created}, **data}
    document(storage / f"message/ses_1/{key}.json", value)
    for number, part in enumerate(parts):
        own = {"id": f"prt_{key}_{number}", "messageID": key, "sessionID": "ses_1", **part}
        document(storage / f"part/{key}/{own['id']}.json", own)


def test_a_session_in_many_files_tells_its_story(storage: Path) -> None:
    message(
        storage, "msg_2", "assistant", BASH, {"type": "text", "text": "It fails"}, finish="stop"
    )
    message(storage, "msg_3", "user", {"type": "text", "text": "why"})
    (found,) = find_transcripts(storage / "session")
    assert found.source == "opencode-tree"
    events = events_of(found.path)
    assert [told(event) for event in events] == [
        "prompt build it",
        "tool_call bash make",
        "tool_result bash make →2",
        "text It fails",
        "text (synthetic) (end)",
        "prompt why",
    ]
    assert {(event.session_id, event.cwd) for event in events} == {("ses_1", "/work/shop")}


def test_new_messages_come_once_though_the_sessions_own_file_stays(storage: Path) -> None:
    path = storage / "session/p/ses_1.json"
    follower = Follower(path)
    follower.read()
    before = stamp_of(path)
    message(storage, "msg_2", "assistant", {"type": "text", "text": "Done"}, finish="stop")
    assert stamp_of(path) != before
    assert follower.read() == []  # not known to be whole yet
    message(storage, "msg_3", "user", {"type": "text", "text": "thanks"})
    assert [told(event) for event in follower.read()] == [
        "text Done",
        "text (synthetic) (end)",
        "prompt thanks",
    ]
    assert follower.read() == []


def test_a_session_that_moved_to_the_database_is_not_told_twice(
    storage: Path, tmp_path: Path
) -> None:
    writer = OpenCodeWriter(tmp_path / "opencode.db")
    writer.session("ses_1")
    writer.message("ses_1", "msg_1", "user")
    writer.part("ses_1", "msg_1", "prt_msg_1_0", type="text", text="build it")
    (now,) = events_of(writer.path)
    (before,) = events_of(storage / "session/p/ses_1.json")
    assert now.id == before.id


def test_half_written_files_are_counted_and_read_once_they_are_whole(storage: Path) -> None:
    message(storage, "msg_2", "assistant", BASH, time={"created": START_MS, "completed": START_MS})
    part = storage / "part/msg_2/prt_msg_2_0.json"
    whole = part.read_text(encoding="utf-8")
    part.write_text(whole[:40], encoding="utf-8")
    follower = Follower(storage / "session/p/ses_1.json")
    (batch,) = follower.batches()
    assert batch.skipped_total == 1
    part.write_text(whole, encoding="utf-8")
    assert "tool_result bash make →2" in [told(event) for event in follower.read()]


def test_parts_of_the_oldest_kind_lie_in_one_folder(storage: Path) -> None:
    message(storage, "msg_2", "assistant", finish="stop")
    own = {"id": "prt_x", "messageID": "msg_2", "type": "text", "text": "Here"}
    document(storage / "part/prt_x.json", own)
    document(storage / "part/prt_y.json", {"type": "text", "text": "of nobody"})
    found = [event.text for event in events_of(storage / "session/p/ses_1.json") if event.text]
    assert found == ["build it", "Here"]


def test_links_out_of_the_tree_are_not_followed(storage: Path, tmp_path: Path) -> None:
    secret = document(tmp_path / "secret.json", {"type": "text", "text": "secret"})
    (storage / "part/msg_1/prt_zzz.json").symlink_to(secret)
    assert [event.text for event in events_of(storage / "session/p/ses_1.json")] == ["build it"]


def test_ids_never_lead_out_of_the_tree(storage: Path) -> None:
    message(storage, "msg_2", "user", {"type": "text", "text": "elsewhere"})
    (storage / "message/ses_1/msg_2.json").rename(storage / "msg_2.json")
    session = {"id": "..", "projectID": "p", "directory": "/", "time": {}}
    path = document(storage / "session/p/ses_1.json", session)
    assert [event.text for event in events_of(path)] == ["build it"]


@pytest.mark.parametrize("text", ["[]", "7", '{"id": 7}', '{"time": {"created": 1e300}}', "{"])
def test_no_content_of_any_file_ends_in_a_crash(storage: Path, text: str) -> None:
    for file in sorted(storage.rglob("*.json")):
        former = file.read_text(encoding="utf-8")
        file.write_text(text, encoding="utf-8")
        try:
            list(read_transcript(storage / "session/p/ses_1.json", source_name="opencode-tree"))
        finally:
            file.write_text(former, encoding="utf-8")


def test_a_text_is_not_read_as_a_database(storage: Path) -> None:
    with pytest.raises(BadInput, match="no SQLite database, where `opencode` keeps"):
        list(read_transcript(storage / "session/p/ses_1.json", source_name="opencode"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/transcripts is not here")
def test_public_sessions_are_read(tmp_path: Path) -> None:
    # Their folders are flattened into names there; the copies are for this test only.
    prefix = "jazzyalex_agent-sessions__"
    small = {
        f"{prefix}ses_s_stage0_small.json": "session/p/s_stage0_small.json",
        f"{prefix}opencode~storage_v2~message~s_stage0_small~msg_0001.json": (
            "message/s_stage0_small/m1.json"
        ),
        f"{prefix}opencode~storage_v2~message~s_stage0_small~msg_0002.json": (
            "message/s_stage0_small/m2.json"
        ),
        f"{prefix}opencode~storage_v2~part~m_user_small~001.json": "part/m_user_small/1.json",
        f"{prefix}opencode~storage_v2~part~m_assistant_small~001.json": (
            "part/m_assistant_small/1.json"
        ),
        f"{prefix}opencode~storage_v2~part~m_assistant_small~002.json": (
            "part/m_assistant_small/2.json"
        ),
    }
    for name, place in small.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SHARED / name, tmp_path / place)
    assert [told(event) for event in events_of(tmp_path / "session/p/s_stage0_small.json")] == [
        "prompt Hello",
        "text Found 2 files.",
        "tool_call bash ls",
        "tool_result bash ls →0",
    ]
