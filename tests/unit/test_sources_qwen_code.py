"""Qwen Code sessions come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from tests.support.transcripts import events_of, lines, story, tally


def test_a_session_tells_its_story() -> None:
    assert story("qwen-code") == [
        "prompt run the build",
        "reasoning Build it.",
        "tool_call run_shell_command make",
        "tool_result run_shell_command make →2",
        "prompt a task ended (synthetic)",
        "text Looked. (sidechain) (end)",
        "text There is no Makefile. (end)",
        "compaction built once (synthetic)",
        "error rate limit (end)",
    ]


def test_a_branch_copies_records_without_doubling_events(tmp_path: Path) -> None:
    record = {
        "uuid": "u1",
        "sessionId": "one",
        "timestamp": "2026-06-15T14:40:00.000Z",
        "type": "user",
        "message": {"role": "user", "parts": [{"text": "go"}]},
    }
    copy = {**record, "uuid": "u9", "sessionId": "two"}
    copy["forkedFrom"] = {"sessionId": "one", "messageUuid": "u1"}
    (first,) = events_of(lines(tmp_path / "one.jsonl", record))
    (second,) = events_of(lines(tmp_path / "two.jsonl", copy))
    assert first.id == second.id


def test_public_sessions_hold_what_is_in_them(shared: Path) -> None:
    found = tally(shared / "transcripts" / "qwen-code")
    assert {name: counts["sessions"] for name, counts in found.items()} == dict.fromkeys(found, 1)
    first = found["019f0000-0000-7000-8000-000000000001.jsonl"]
    assert (first["human"], first["prompt"], first["tool_call"], first["tool_result"]) == (
        1,
        2,
        1,
        1,
    )
    rewound = found["019f0000-0000-7000-8000-000000000004.jsonl"]
    assert (rewound["human"], rewound["text"], rewound["interrupt"]) == (2, 2, 1)
    glued = found["019f0000-0000-7000-8000-000000000005.jsonl"]
    assert (glued["prompt"], glued["text"]) == (1, 1)
    wrong_name = shared / "transcripts" / "qwen-code"
    (path,) = wrong_name.glob("*000000000002.jsonl")
    assert events_of(path)[0].session_id.endswith("099")
