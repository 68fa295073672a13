"""Sessions of Goose, Cursor, Zed, Kiro, Hermes and Warp come out of their databases as stories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from hindsight_daemon.ingest.discover import find_transcripts
from hindsight_daemon.model import Event
from hindsight_daemon.sources import cursor_db
from hindsight_daemon.sources.cursor_store import listed_hashes
from tests.support.databases import Follower, database, put
from tests.support.transcripts import events_of, told

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"


def story(path: Path) -> list[str]:
    return [told(event) for event in events_of(path)]


def as_map(events: list[Event]) -> dict[str, str]:
    return {event.session_id: event.cwd for event in events}


def goose(path: Path) -> Any:
    made = database(
        path,
        (
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, updated_at TEXT)",
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT,"
            " role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT)",
        ),
        wal=True,
    )
    put(made, "sessions", id="20261201_1", working_dir="/work/shop")
    return made


def test_goose_tells_its_story(tmp_path: Path) -> None:
    made = goose(tmp_path / "sessions.db")
    call = {"status": "success", "value": {"name": "shell", "arguments": {"command": "make"}}}
    result = {"status": "error", "error": "exit 2"}
    rows: list[tuple[str, list[dict[str, Any]], str | None]] = [
        ("user", [{"type": "text", "text": "build it"}], None),
        ("assistant", [{"type": "toolRequest", "id": "r1", "toolCall": call}], None),
        ("user", [{"type": "toolResponse", "id": "r1", "toolResult": result}], None),
        ("assistant", [{"type": "text", "text": "an old copy"}], '{"userVisible": false}'),
        ("assistant", [{"type": "text", "text": "It does not build"}], None),
    ]
    for number, (role, content, metadata) in enumerate(rows):
        put(
            made,
            "messages",
            session_id="20261201_1",
            role=role,
            content_json=content,
            created_timestamp=1_790_000_000 + number,
            metadata_json=metadata,
        )
    events = events_of(tmp_path / "sessions.db")
    assert [told(event) for event in events] == [
        "prompt build it",
        "tool_call shell make",
        "tool_result shell make failed",
        "text It does not build (end)",
    ]
    assert as_map(events) == {"20261201_1": "/work/shop"}
    assert events[0].ts is not None and events[0].ts.timestamp() == 1_790_000_000


def cursor(path: Path, made: str = "key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB") -> Any:
    opened = database(
        path,
        (
            "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
            f"CREATE TABLE cursorDiskKV ({made})",
        ),
        wal=True,
    )
    put(opened, "ItemTable", key="cursorAuth/accessToken", value="secret-token")
    return opened


def compose(opened: Any, *bubbles: dict[str, Any], status: str = "completed") -> None:
    for bubble in bubbles:
        set_value(opened, f"bubbleId:c1:{bubble['bubbleId']}", bubble)
    headers = [{"bubbleId": bubble["bubbleId"]} for bubble in bubbles]
    folder = {"uri": {"fsPath": "/work/shop"}}
    value = {"createdAt": 1_790_000_000_000, "status": status, "workspaceIdentifier": folder}
    value["fullConversationHeadersOnly"] = headers
    set_value(opened, "composerData:c1", value)


def set_value(opened: Any, key: str, value: dict[str, Any]) -> None:
    """Replace a row as the table was made for: anew at the end, or in its place."""
    text = json.dumps(value)
    done = opened.execute("SELECT sql FROM sqlite_master WHERE name = 'cursorDiskKV'").fetchone()
    if "REPLACE" not in done[0]:
        changed = opened.execute("UPDATE cursorDiskKV SET value = ? WHERE key = ?", (text, key))
        if changed.rowcount:
            return
    opened.execute("INSERT INTO cursorDiskKV (key, value) VALUES (?, ?)", (key, text))


ASKED = {"bubbleId": "b1", "type": 1, "text": "Why is it slow?"}
TOOL = {
    "name": "run_terminal_cmd",
    "toolCallId": "t1",
    "params": '{"command": "perf"}',
    "status": "completed",
    "result": '{"output": "99% in sort", "exitCode": 0}',
}
RAN = {"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": TOOL}
SAID = {"bubbleId": "b3", "type": 2, "text": "It sorts twice.", "thinking": {"text": "Hm."}}


def test_cursors_editor_tells_its_story(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    compose(cursor(path), ASKED, RAN, SAID)
    events = events_of(path)
    assert [told(event) for event in events] == [
        "prompt Why is it slow?",
        "tool_call run_terminal_cmd perf",
        "tool_result run_terminal_cmd perf →0",
        "reasoning Hm.",
        "text It sorts twice.",
        "text (synthetic) (end)",
    ]
    assert as_map(events) == {"composer:c1": "/work/shop"}


@pytest.mark.parametrize("made", ["key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB", "key, value"])
def test_a_conversation_in_the_editor_is_followed(tmp_path: Path, made: str) -> None:
    opened = cursor(tmp_path / "state.vscdb", made)
    follower = Follower(tmp_path / "state.vscdb")
    running = {**RAN, "toolFormerData": {**TOOL, "status": "loading", "result": None}}
    compose(opened, ASKED, running, status="generating")
    assert len(follower.read()) == 2
    assert follower.read() == []
    compose(opened, ASKED, RAN, {**SAID, "text": "It so"}, status="generating")
    assert [told(event) for event in follower.read()] == ["tool_result run_terminal_cmd perf →0"]
    compose(opened, ASKED, RAN, SAID)
    assert [told(event) for event in follower.read()] == [
        "reasoning Hm.",
        "text It sorts twice.",
        "text (synthetic) (end)",
    ]


def test_only_conversations_are_looked_up_in_the_editors_database() -> None:
    asked: list[tuple[str, tuple[Any, ...]]] = []

    class Listening:
        """Notes what is asked for; holds one conversation."""

        def columns(self, table: str) -> frozenset[str]:
            return frozenset(("key", "value")) if table == "cursorDiskKV" else frozenset()

        def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
            asked.append((query, values))
            if "sqlite_master" in query:
                return [("… ON CONFLICT REPLACE …",)]
            if "DESC LIMIT 1" in query:
                return [(2, 10)]
            if "COUNT" in query:
                return [(1, 2, 0)]
            return [("composerData:c1", 1)] if values[0] == "composerData:" else []

        def row(self, query: str, *values: Any) -> tuple[Any, ...] | None:
            asked.append((query, values))
            return (json.dumps({"fullConversationHeadersOnly": [{"bubbleId": "b1"}]}),)

    tables = Listening()
    (session,) = cursor_db.SOURCE.sessions(tables)
    list(cursor_db.SOURCE.records(tables, session.key, final=True))
    keyed = [values for query, values in asked if "sqlite_master" not in query]
    assert keyed and all(
        str(value).startswith(("composerData", "bubbleId")) for values in keyed for value in values
    )
    assert not any("ItemTable" in query for query, _ in asked)


def test_a_chat_of_cursors_command_line_is_read_along_its_root(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": "<user_query>\nlist the files\n</user_query>"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool-call", "toolCallId": "t", "toolName": "Shell", "args": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "t", "toolName": "Shell", "result": "a.txt"}
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "One file."}]},
    ]
    path = tmp_path / "chats/0f/ab/store.db"
    made = database(
        path,
        ("CREATE TABLE meta (key TEXT, value TEXT)", "CREATE TABLE blobs (id TEXT, data BLOB)"),
    )
    hashes = [bytes([number]) * 32 for number in range(1, len(messages) + 1)]
    for name, message in zip(hashes, messages, strict=True):
        put(made, "blobs", id=name.hex(), data=json.dumps(message).encode())
    root = b"".join(b"\x0a\x20" + name for name in hashes) + b"\x10\x07\x1a\x03abc"
    put(made, "blobs", id="ff", data=root)
    meta = json.dumps({"agentId": "ab", "latestRootBlobId": "ff", "lastUsedModel": "m-1"})
    put(made, "meta", key="0", value=meta.encode().hex())
    assert story(path) == [
        "prompt list the files",
        "text Looking.",
        "tool_call Shell",
        "tool_result Shell",
        "text One file. (end)",
    ]
    assert as_map(events_of(path)).keys() == {"chat:ab"}
    for end in range(len(root)):
        assert listed_hashes(root[:end]) == [name.hex() for name in hashes[: end // 34]]


ZED_THREAD: dict[str, Any] = {
    "version": "0.3.0",
    "messages": [
        {"User": {"id": "u1", "content": [{"Text": "rename it"}, {"Mention": {"uri": "x"}}]}},
        {
            "Agent": {
                "content": [
                    {"Thinking": {"text": "Find it."}},
                    {"ToolUse": {"id": "t1", "name": "edit_file", "input": {"path": "/w/a.py"}}},
                ],
                "tool_results": {
                    "t1": {"tool_name": "edit_file", "is_error": True, "content": {"Text": "no"}}
                },
            }
        },
        "Resume",
        {"Agent": {"content": [{"Text": "Done"}], "tool_results": {}}},
    ],
}


def zed(path: Path) -> Any:
    return database(
        path,
        (
            "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT,"
            " data_type TEXT, data BLOB, folder_paths TEXT)",
        ),
    )


@pytest.mark.parametrize("kind", ["zstd", "json"])
def test_zed_tells_its_story(tmp_path: Path, kind: str) -> None:
    plain = json.dumps(ZED_THREAD).encode()
    put(
        zed(tmp_path / "threads.db"),
        "threads",
        id="z1",
        updated_at="2026-12-01T10:00:00Z",
        data_type=kind,
        data=zstandard.compress(plain) if kind == "zstd" else plain,
        folder_paths="/work/shop",
    )
    events = events_of(tmp_path / "threads.db")
    assert [told(event) for event in events] == [
        "prompt rename it",
        "reasoning Find it.",
        "tool_call edit_file /w/a.py",
        "tool_result edit_file /w/a.py failed",
        "text Done",
    ]
    assert as_map(events) == {"z1": "/work/shop"}


def test_zed_threads_of_the_first_form_are_read(tmp_path: Path) -> None:
    thread = {
        "messages": [
            {"id": 0, "role": "user", "segments": [{"type": "text", "text": "hello"}]},
            {
                "id": 1,
                "role": "assistant",
                "segments": [{"type": "text", "text": "I look"}],
                "tool_uses": [{"id": "t", "name": "grep", "input": {"regex": "x"}}],
            },
            {
                "id": 2,
                "role": "user",
                "tool_results": [{"tool_use_id": "t", "is_error": False, "content": "found"}],
            },
        ]
    }
    made = zed(tmp_path / "threads.db")
    put(made, "threads", id="z1", updated_at="2026-12-01", data_type="json", data=thread)
    assert story(tmp_path / "threads.db") == [
        "prompt hello",
        "text I look",
        "tool_call grep",
        "tool_result grep",
    ]


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfdcut", b"[]", None, "text"])
def test_a_damaged_thread_is_said_and_the_others_are_read(tmp_path: Path, data: object) -> None:
    made = zed(tmp_path / "threads.db")
    put(made, "threads", id="bad", updated_at="2026-11-01", data_type="zstd", data=data)
    put(made, "threads", id="ok", updated_at="2026-12-01", data_type="json", data=ZED_THREAD)
    (batch,) = Follower(tmp_path / "threads.db").batches()
    assert {event.session_id for event in batch.events} == {"ok"}
    assert [skip.reason for skip in batch.skipped] == ["damaged thread"]


def kiro(path: Path) -> Any:
    return database(
        path,
        (
            "CREATE TABLE auth_kv (key TEXT, value TEXT)",
            "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT,"
            " created_at INTEGER, updated_at INTEGER)",
            "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT)",
        ),
    )


def test_kiro_tells_its_story_in_both_forms(tmp_path: Path) -> None:
    use = {"id": "t", "name": "execute_bash", "args": {"command": "make"}}
    output = {"exit_status": "2", "stdout": "", "stderr": "no rule"}
    result = {"tool_use_id": "t", "content": [{"Json": output}], "status": "Success"}
    exchanges = [
        (
            {"content": {"Prompt": {"prompt": "build"}}, "timestamp": "2026-12-01T10:00:00Z"},
            {"ToolUse": {"message_id": "m1", "content": "", "tool_uses": [use]}},
        ),
        (
            {"content": {"ToolUseResults": {"tool_use_results": [result]}}},
            {"Response": {"message_id": "m2", "content": "It fails."}},
        ),
    ]
    made = kiro(tmp_path / "data.sqlite3")
    history = [{"user": user, "assistant": answer} for user, answer in exchanges]
    now = {"conversation_id": "k2", "history": history}
    before = {"conversation_id": "k1", "history": exchanges}
    put(made, "conversations_v2", key="/work/shop", conversation_id="k2", value=now, updated_at=2)
    put(made, "conversations", key="/work/blog", value=before)
    events = events_of(tmp_path / "data.sqlite3")
    expected = [
        "prompt build",
        "tool_call execute_bash make",
        "tool_result execute_bash make →2",
        "text It fails. (end)",
    ]
    assert [told(event) for event in events] == expected * 2
    assert as_map(events) == {"k1": "/work/blog", "k2": "/work/shop"}


def test_kiro_takes_a_damaged_conversation_for_what_it_is(tmp_path: Path) -> None:
    made = kiro(tmp_path / "data.sqlite3")
    put(made, "conversations_v2", key="/w", conversation_id="k", value='{"history":[', updated_at=1)
    (batch,) = Follower(tmp_path / "data.sqlite3").batches()
    assert [skip.reason for skip in batch.skipped] == ["damaged conversation"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/transcripts is not here")
def test_public_payloads_of_kiro_are_read(tmp_path: Path) -> None:
    made = kiro(tmp_path / "data.sqlite3")
    for file in sorted((SHARED / "kiro").iterdir()):
        text = file.read_text(encoding="utf-8")
        put(made, "conversations_v2", key="", conversation_id=file.stem, value=text, updated_at=1)
    assert sorted(story(tmp_path / "data.sqlite3")) == [
        "prompt Build the Kiro parser",
        "prompt Current store should win",
        "prompt Read the source first",
        "text I can do that. (end)",
        "text Using the SQLite version. (end)",
        "tool_call execute_bash sed -n '1,120p' internal/parser/kiro.go",
    ]


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/transcripts is not here")
def test_public_databases_of_cursor_are_read() -> None:
    events = events_of(SHARED / "cursor/S2thend_cursor-history__composer-global-state.vscdb")
    assert [told(event).split("\n")[0] for event in events] == [
        "prompt Synthetic question alpha.",
        "text Composer owns the synthetic collision identity.",
        "text Synthetic answer beta.",
        "tool_call read_file /fixture/v016/project/synthetic.ts",
        "tool_result read_file /fixture/v016/project/synthetic.ts",
        "tool_call search",
        "tool_result search",
        "prompt Synthetic empty-ID compatibility turn.",
    ]
    assert events_of(SHARED / "cursor/jazzyalex_agent-sessions__test-store.db") == []


def test_hermes_tells_its_story(tmp_path: Path) -> None:
    made = database(
        tmp_path / "state.db",
        (
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, model TEXT, started_at REAL,"
            " parent_session_id TEXT)",
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,"
            " timestamp REAL, finish_reason TEXT, reasoning TEXT)",
        ),
        wal=True,
    )
    put(made, "sessions", id="h1", model="m-1", started_at=1_790_000_000.5)
    call = {"id": "t", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
    rows: list[dict[str, Any]] = [
        {"role": "system", "content": "You are Hermes"},
        {"role": "user", "content": "what is here"},
        {"role": "assistant", "tool_calls": [call], "reasoning": "List.", "finish_reason": "x"},
        {"role": "tool", "content": "a.txt", "tool_call_id": "t", "tool_name": "terminal"},
        {"role": "assistant", "content": "One file.", "finish_reason": "stop"},
    ]
    for number, row in enumerate(rows):
        put(made, "messages", session_id="h1", timestamp=1_790_000_001.5 + number, **row)
    assert story(tmp_path / "state.db") == [
        "prompt what is here",
        "reasoning List.",
        "tool_call terminal ls",
        "tool_result terminal ls",
        "text One file. (end)",
    ]


def test_warp_tells_what_was_asked(tmp_path: Path) -> None:
    made = database(
        tmp_path / "warp.sqlite",
        (
            "CREATE TABLE ai_queries (exchange_id TEXT, conversation_id TEXT, start_ts TEXT,"
            " input TEXT, working_directory TEXT, model_id TEXT)",
        ),
    )
    asked = [{"Query": {"text": "why no disk space", "context": []}}]
    put(
        made,
        "ai_queries",
        exchange_id="e1",
        conversation_id="w1",
        start_ts="2026-12-01 08:55:40",
        input=asked,
        working_directory="/srv",
    )
    put(made, "ai_queries", exchange_id="e2", conversation_id="w1", input="[]")
    events = events_of(tmp_path / "warp.sqlite")
    assert [told(event) for event in events] == ["prompt why no disk space"]
    assert as_map(events) == {"w1": "/srv"}


def test_a_database_goes_by_its_tables_not_by_its_name(tmp_path: Path) -> None:
    goose(tmp_path / "state.db")
    zed(tmp_path / "sessions.db")
    found = {one.path.name: one.source for one in find_transcripts(tmp_path)}
    assert found == {"state.db": "goose-db", "sessions.db": "zed"}
