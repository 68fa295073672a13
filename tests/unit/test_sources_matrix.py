"""What happens to transcripts in the wild, line by line of the matrix in `docs/transcripts.md`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.ingest.discover import find_transcripts
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Checkpoint, Event
from tests.support.transcripts import events_of, lines, told

SESSION = "11111111-1111-4111-8111-111111111111"
USED = {"type": "tool_use", "name": "Bash"}


def _record(kind: str, uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    shared = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": SESSION,
        "cwd": "/w/app",
        "timestamp": "2026-08-01T09:00:00.000Z",
        "isSidechain": False,
    }
    return {**shared, "message": {"role": kind, "content": content}, **fields}


def _user(uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    return _record("user", uuid, content, **fields)


def _assistant(uuid: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    return _record("assistant", uuid, list(blocks), **fields)


def _call(call_id: str, command: str) -> dict[str, Any]:
    return {**USED, "id": call_id, "input": {"command": command}}


def _result(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _stories(path: Path) -> list[str]:
    return [told(event) for event in events_of(path)]


class _Follower:
    """Reads a growing transcript as the daemon does: events by id, the checkpoint with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint: Checkpoint | None = None
        self.events: dict[str, Event] = {}
        self.skipped = 0

    def read(self) -> None:
        for batch in read_transcript(self.path, checkpoint=self.checkpoint, final=False):
            self.events.update({event.id: event for event in batch.events})
            self.skipped += batch.skipped_total
            self.checkpoint = batch.checkpoint

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events.values()]


def test_every_single_byte_may_be_the_last_one_for_now(tmp_path: Path) -> None:
    whole = lines(
        tmp_path / "w.jsonl", _user("u1", "跑测试 🙂"), _assistant("a1", _call("t", "make"))
    )
    content = whole.read_bytes()
    follower = _Follower(tmp_path / "x.jsonl")
    for position in range(len(content)):
        with follower.path.open("ab") as file:
            file.write(content[position : position + 1])
        follower.read()
    assert list(follower.events) == [event.id for event in events_of(whole)]
    assert follower.skipped == 0


def test_a_line_that_a_crash_left_torn_costs_only_what_was_glued_to_it(tmp_path: Path) -> None:
    follower = _Follower(lines(tmp_path / "x.jsonl", _user("u1", "first")))
    with follower.path.open("a", encoding="utf-8") as file:
        file.write('{"type": "user", "uuid": "u2", "mess')
        file.flush()
        follower.read()
        assert (follower.texts, follower.skipped) == (["first"], 0)
        for number in (3, 4):
            file.write(json.dumps(_user(f"u{number}", f"number {number}")) + "\n")
    follower.read()
    assert (follower.texts, follower.skipped) == (["first", "number 4"], 1)


def test_a_hundred_thousand_lines_are_all_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(100_000):
            is_said = number % 10_000 == 0
            mode = {"type": "mode", "mode": "normal", "sessionId": SESSION}
            record = _user(f"u{number}", f"m{number}") if is_said else mode
            file.write(json.dumps(record) + "\n")
    batches = list(read_transcript(path))
    events = [event for batch in batches for event in batch.events]
    assert [event.text for event in events] == [f"m{n}" for n in range(0, 100_000, 10_000)]
    assert sum(batch.records for batch in batches) == batches[-1].checkpoint.line == 100_000


@pytest.mark.parametrize("key", ["\\ud83d", "\\udc00", "a\\ud83db"])
def test_a_lone_surrogate_in_a_key_spoils_nothing(tmp_path: Path, key: str) -> None:
    text = json.dumps(_user("u1", "hi")).replace('{"type"', f'{{"{key}": 1, "type"', 1)
    call = json.dumps(_assistant("a1", _call("t", "ls"))).replace('"command"', f'"{key}"')
    path = tmp_path / "x.jsonl"
    path.write_text(f"{text}\n{call}\n", encoding="utf-8")
    events = events_of(path)
    assert [event.kind for event in events] == ["prompt", "tool_call"]
    assert json.dumps([event.text for event in events]).isascii()
    assert all(event.tool is None or event.tool.arguments.encode() for event in events)


def test_a_session_that_moves_to_another_folder_keeps_its_ids(tmp_path: Path) -> None:
    path = lines(tmp_path / "-w-app/s.jsonl", _user("u1", "hi"), _assistant("a1", _call("t", "ls")))
    before = events_of(path)
    moved = tmp_path / "-w-other" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    after = events_of(moved)
    assert [(e.id, e.session_id, e.seq) for e in after] == [
        (e.id, e.session_id, e.seq) for e in before
    ]


def test_two_writers_of_one_session_give_each_of_their_events_once(tmp_path: Path) -> None:
    one = [
        _user("u1", "fix it"),
        _assistant("a1", _call("t1", "make")),
        _user("u2", [_result("t1", "one")]),
    ]
    other = [
        _user("v1", "and lint"),
        _assistant("b1", _call("t2", "lint")),
        _user("v2", [_result("t2", "two")]),
    ]
    mixed = [record for pair in zip(one, other, strict=True) for record in pair]
    assert _stories(lines(tmp_path / "x.jsonl", *mixed)) == [
        "prompt fix it",
        "prompt and lint",
        "tool_call Bash make",
        "tool_call Bash lint",
        "tool_result Bash make →0",
        "tool_result Bash lint →0",
    ]


def test_a_session_compacted_twice_goes_on_as_one(tmp_path: Path) -> None:
    records = []
    for number in (1, 2):
        boundary = _record("system", f"s{number}", "", subtype="compact_boundary")
        records += [
            _user(f"u{number}", f"part {number}"),
            {**boundary, "content": "Conversation compacted"},
            _user(f"c{number}", "This session is being continued", isCompactSummary=True),
        ]
    events = events_of(lines(tmp_path / "x.jsonl", *records, _user("u3", "part 3")))
    kinds = [event.kind for event in events]
    assert kinds == ["prompt", "compaction", "prompt", "compaction", "prompt"]
    assert {event.session_id for event in events} == {SESSION}


def test_parallel_calls_find_their_results_in_any_order(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "x.jsonl",
        _assistant("a1", _call("t1", "first"), _call("t2", "second"), _call("t3", "third")),
        _user("u1", [_result("t3", "3")]),
        _user("u2", [_result("t1", "1"), _result("t2", "2")]),
    )
    found = [
        (event.tool.command, event.text)
        for event in events_of(path)
        if event.tool and event.kind == "tool_result"
    ]
    assert found == [("third", "3"), ("first", "1"), ("second", "2")]


def test_calls_and_results_without_their_other_half_stay_what_they_are(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "x.jsonl",
        _assistant("a1", _call("t1", "never ends")),
        _user("u1", [_result("nobody", "from nowhere")]),
    )
    call, result = events_of(path)
    assert (call.kind, result.kind, result.text) == ("tool_call", "tool_result", "from nowhere")
    assert result.tool is not None and result.tool.command == ""


def test_a_tool_id_that_is_used_twice_pairs_each_call_with_its_own_result(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "x.jsonl",
        _assistant("a1", _call("t1", "make")),
        _user("u1", [_result("t1", "made")]),
        _assistant("a2", _call("t1", "test")),
        _user("u2", [_result("t1", "tested")]),
    )
    assert _stories(path) == [
        "tool_call Bash make",
        "tool_result Bash make →0",
        "tool_call Bash test",
        "tool_result Bash test →0",
    ]


@pytest.mark.parametrize("parents", [("u2", "u1"), ("u1", "u2"), ("gone", "gone"), (None, None)])
def test_a_tree_with_circles_and_gaps_is_read_in_order_of_its_lines(
    tmp_path: Path, parents: tuple[str | None, str | None]
) -> None:
    path = lines(
        tmp_path / "x.jsonl",
        _user("u1", "one", parentUuid=parents[0]),
        _user("u2", "two", parentUuid=parents[1]),
    )
    assert _stories(path) == ["prompt one", "prompt two"]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-08-01T09:00:00Z", datetime(2026, 8, 1, 9, tzinfo=UTC)),
        ("2026-08-01T11:00:00+02:00", datetime(2026, 8, 1, 9, tzinfo=UTC)),
        ("2026-08-01T09:00:00", datetime(2026, 8, 1, 9, tzinfo=UTC)),
        (1785574800, datetime(2026, 8, 1, 9, tzinfo=UTC)),
        (1785574800000, datetime(2026, 8, 1, 9, tzinfo=UTC)),
        ("2126-08-01T09:00:00Z", datetime(2126, 8, 1, 9, tzinfo=UTC)),
        (None, None),
        ("yesterday", None),
        (-1, None),
        ({}, None),
        (10**400, None),
    ],
)
def test_times_of_any_kind_are_read_or_count_as_absent(
    tmp_path: Path, stamp: Any, expected: datetime | None
) -> None:
    (event,) = events_of(lines(tmp_path / "x.jsonl", _user("u1", "hi", timestamp=stamp)))
    assert event.ts == expected


def test_subagents_of_subagents_are_sessions_below_the_one_that_asked(tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "subagents"
    places = [folder, folder / "workflows/w1", folder / "workflows/w1/deep"]
    found = []
    for depth, place in enumerate(places):
        agent = {"isSidechain": True, "agentId": f"a{depth}"}
        path = lines(
            place / f"agent-a{depth}.jsonl",
            _user(f"u{depth}", "look into it", **agent),
            _assistant(f"r{depth}", {"type": "text", "text": "done"}, **agent),
        )
        found += events_of(path)
    assert {(e.session_id, e.parent_session_id) for e in found} == {
        (f"{SESSION}/a{depth}", SESSION) for depth in range(3)
    }
    assert all(event.is_sidechain for event in found)
    assert [one.path.stem for one in find_transcripts(tmp_path)] == [
        "agent-a0",
        "agent-a1",
        "agent-a2",
    ]


def test_a_session_that_changes_its_folder_says_so_from_there_on(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "x.jsonl",
        _user("u1", "here"),
        _user("u2", "and there", cwd="/w/other"),
        _user("u3", "on Windows", cwd="C:\\Users\\me\\app"),
    )
    assert [(event.session_id, event.cwd) for event in events_of(path)] == [
        (SESSION, "/w/app"),
        (SESSION, "/w/other"),
        (SESSION, "C:\\Users\\me\\app"),
    ]


def test_a_home_behind_a_link_gives_the_same_events(tmp_path: Path) -> None:
    real = lines(tmp_path / "real/.claude/projects/-w/s.jsonl", _user("u1", "hi"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (found,) = find_transcripts(tmp_path / "link/.claude/projects")
    assert [event.id for event in events_of(found.path)] == [event.id for event in events_of(real)]


def test_queued_and_foreign_words_are_prompts_like_any_other(tmp_path: Path) -> None:
    queued = _record("attachment", "q1", "")
    queued["attachment"] = {"type": "queued_command", "prompt": "先修复登录"}
    path = lines(
        tmp_path / "x.jsonl",
        _user("u1", "ログインを直して"),
        _assistant("a1", _call("t1", "make")),
        queued,
        _user("u2", [_result("t1", "ok")]),
        _user("u3", "أصلح الاختبار"),
    )
    prompts = [event for event in events_of(path) if event.kind == "prompt"]
    assert [event.text for event in prompts] == ["ログインを直して", "先修复登录", "أصلح الاختبار"]
    assert not any(event.is_synthetic for event in prompts)


def test_a_name_that_is_said_twice_or_in_two_ways_spoils_nothing(tmp_path: Path) -> None:
    both = {**_user("u1", "hi"), "session_id": SESSION}
    text = json.dumps(both).replace('"uuid": "u1"', '"uuid": "u0", "uuid": "u1"')
    path = tmp_path / "x.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    (event,) = events_of(path)
    assert (event.session_id, event.text) == (SESSION, "hi")


def test_metadata_that_is_written_at_every_turn_is_no_turn(tmp_path: Path) -> None:
    said = {"sessionId": SESSION}
    metadata = [
        {"type": "ai-title", "aiTitle": "Fix it", **said},
        {"type": "last-prompt", "lastPrompt": "fix it", **said},
        {"type": "permission-mode", "permissionMode": "default", **said},
        {"type": "file-history-delta", "messageId": "u1", "delta": {}},
        {
            "type": "queue-operation",
            "operation": "remove",
            "timestamp": "2026-08-01T09:00:00Z",
            **said,
        },
    ]
    turns = [[_user(f"u{number}", f"part {number}"), *metadata] for number in range(3)]
    path = lines(tmp_path / "x.jsonl", *(record for turn in turns for record in turn))
    assert _stories(path) == ["prompt part 0", "prompt part 1", "prompt part 2"]


def test_five_thousand_small_sessions_are_found_and_read(tmp_path: Path) -> None:
    for number in range(5000):
        path = tmp_path / f"p{number % 50}/{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        record = {**_user(f"u{number}", f"task {number}"), "sessionId": f"s{number}"}
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    found = find_transcripts(tmp_path)
    assert len(found) == 5000
    events = [event for one in found for event in events_of(one.path)]
    assert len({event.session_id for event in events}) == len(events) == 5000
