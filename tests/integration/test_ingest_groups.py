"""Transcripts of one call are committed and consolidated in groups, with the same outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import running_daemon

PADDING = "a line of a long listing that nobody learns anything from\n" * 60


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


def _session(number: int, prompt: str) -> ClaudeSession:
    session = ClaudeSession(f"5e551000-0000-4000-8000-{number:012x}")
    session.prompt(prompt).runs("ls -la", "total 0").says(f"Done with number {number}")
    return session


def test_small_transcripts_of_one_call_are_all_kept(client: Client, tmp_path: Path) -> None:
    for number in range(150):
        session = _session(number, f"look at part {number} of the warehouse")
        (tmp_path / f"{number:03d}.jsonl").write_text(session.text(), encoding="utf-8")
    report = client.ingest((str(tmp_path),))
    assert report.events == 150 * 4
    assert len({one.sessions[0] for one in report.files}) == 150
    assert client.stats().events == 150 * 4
    assert client.ingest((str(tmp_path),)).events == 0


def test_a_copy_of_a_session_in_the_same_call_gives_no_event_twice(
    client: Client, tmp_path: Path
) -> None:
    first = _session(1, "look at the warehouse")
    lines = first.text().splitlines()
    fork = [{**json.loads(line), "sessionId": "fork"} for line in lines]
    own = _session(2, "and now at the harbour").text().splitlines()
    copied = [*map(json.dumps, fork), *own]
    (tmp_path / "1.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "2.jsonl").write_text("\n".join(copied) + "\n", encoding="utf-8")
    report = client.ingest((str(tmp_path),))
    assert report.events == len(lines) + len(own)
    assert client.stats().events == len(lines) + len(own)


def test_a_session_in_two_far_files_is_counted_once(client: Client, tmp_path: Path) -> None:
    text = fixed_migration().text()
    lines = text.splitlines(keepends=True)
    (tmp_path / "1.jsonl").write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    # So much lies between the two that they are consolidated apart.
    for number in range(4):
        noise = ClaudeSession(f"5e551000-0000-4000-8000-0000000000a{number}")
        noise.prompt("Print the long listing")
        for part in range(700):
            noise.runs(f"cat part{part}.txt", PADDING)
        (tmp_path / f"2{number}.jsonl").write_text(noise.text(), encoding="utf-8")
    (tmp_path / "3.jsonl").write_text("".join(lines[len(lines) // 2 :]), encoding="utf-8")
    report = client.ingest((str(tmp_path),))
    by_kind = client.stats().memories["kind"]
    assert report.episodes == by_kind["episode"]
    assert report.memories == len(set(report.memory_ids))
    assert report.memories == sum(n for kind, n in by_kind.items() if kind != "turn")


def test_a_bulk_call_learns_what_a_small_one_does(client: Client, tmp_path: Path) -> None:
    lesson = fixed_migration()
    small = tmp_path / "small"
    small.mkdir()
    (small / "lesson.jsonl").write_text(lesson.text(), encoding="utf-8")
    client.ingest((str(small),), project="small")
    noise = ClaudeSession("5e551000-0000-4000-8000-0000000000c1")
    noise.prompt("Print the long listing")
    for part in range(700):
        noise.runs(f"cat part{part}.txt", PADDING)
    bulk = tmp_path / "bulk"
    bulk.mkdir()
    other = lesson.text().replace(lesson.session_id, "another").replace('"uuid": "', '"uuid": "x')
    other = other.replace('"uuid":"', '"uuid":"x')
    (bulk / "lesson.jsonl").write_text(other, encoding="utf-8")
    (bulk / "noise.jsonl").write_text(noise.text(), encoding="utf-8")
    client.ingest((str(bulk),), project="bulk")
    texts = [
        sorted(
            memory["text"]
            for memory in client.list(project=project, limit=50).memories
            if memory["kind"] != "turn"
        )
        for project in ("small", "bulk")
    ]
    assert texts[0]
    assert set(texts[0]) <= set(texts[1])
