"""Transcripts that give nothing, or records nobody knows, are told loudly everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.protocol.documents import SourceReport
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import running_daemon, wait_until


@pytest.fixture
def root(home: Path) -> Path:
    """Return the folder in which Claude Code keeps its projects, in the test's home."""
    folder = home.parent / "home/.claude/projects"
    (folder / "-work-shop").mkdir(parents=True)
    return folder


def _write(root: Path, number: int, records: list[dict[str, Any]]) -> Path:
    file = root / f"-work-shop/5e551000-0000-4000-8000-{number:012d}.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def _session(number: int) -> ClaudeSession:
    session = ClaudeSession(f"5e551000-0000-4000-8000-{number:012d}")
    return session.prompt(f"Please look at case {number}").says("I looked at it")


def _moved(number: int) -> list[dict[str, Any]]:
    """Return a session of a made-up future format: the same types, everything said elsewhere."""
    records = _session(number).records
    return [
        {**r, "message": {"role": r["message"]["role"], "content": [], "said": ["x"]}}
        for r in records
    ]


def _source(client: Client) -> SourceReport:
    (found,) = [one for one in client.sources().sources if one.source == "claude-code"]
    return found


def _codes(client: Client) -> list[str]:
    return [notice.code for notice in client.status().warnings]


def test_an_ingest_in_which_every_session_is_empty_says_so(root: Path) -> None:
    for number in range(12):
        _write(root, number, _moved(number))
    with running_daemon() as client:
        report = client.ingest((str(root),))
        (notice,) = [n for n in report.warnings if n.code == "ingest.mostly_empty"]
        assert "12 of 12 transcripts gave no events" in notice.message
        assert "source.silent" in _codes(client)
        found = _source(client)
        assert (found.state, found.found, found.read, found.empty) == ("silent", 12, 12, 12)
        assert found.bytes_read == found.size_bytes > 0


def test_reading_a_second_time_what_was_read_is_no_reason_to_warn(root: Path) -> None:
    _write(root, 1, _session(1).records)
    _write(root, 2, _session(2).records)
    with running_daemon() as client:
        assert client.ingest((str(root),)).warnings == []
        again = client.ingest((str(root),))
        assert (again.events, again.warnings) == (0, [])
        found = _source(client)
        assert (found.state, found.read, found.events, found.records) == ("ok", 2, 4, 4)


def test_unknown_record_types_are_counted_and_warned_of(root: Path) -> None:
    session = _session(1)
    for number in range(9):
        session.prompt(f"And case {number}, please").says("Looked at as well")
    strange = [{"type": "hologram", "sessionId": "x", "n": n} for n in range(5)]
    _write(root, 1, session.records + strange)
    with running_daemon() as client:
        report = client.ingest((str(root),))
        assert report.files[0].unknown == {"hologram": 5}
        assert [n.code for n in report.warnings] == ["ingest.unknown_records"]
        assert "source.drift" in _codes(client)
        assert _source(client).unknown == {"hologram": 5}


def test_files_that_have_the_names_of_transcripts_but_are_none_are_told(root: Path) -> None:
    _write(root, 1, _session(1).records)
    _write(root, 2, [{"v": 9, "blob": "AAAA"}])
    with running_daemon() as client:
        report = client.ingest((str(root),))
        (notice,) = report.warnings
        assert notice.code == "ingest.not_recognised"
        assert "1 of 2 files" in notice.message
        found = _source(client)
        assert (found.found, found.read) == (2, 1)
        assert sum(found.skipped.values()) == 1


def test_a_root_in_which_nothing_is_recognised_is_silent_and_says_why(root: Path) -> None:
    for number in range(4):
        _write(root, number, [{"v": 9, "blob": "AAAA"}])
    with running_daemon() as client:
        report = client.ingest((str(root),))
        assert report.files[0].error
        assert "4 of 4 files" in report.warnings[0].message
        found = _source(client)
        assert (found.state, found.found, found.read) == ("silent", 4, 0)
        assert "keys `v`, `blob`" in found.why


def test_counts_survive_a_restart_and_start_over_with_a_rewritten_file(root: Path) -> None:
    file = _write(root, 1, [*_session(1).records, {"type": "hologram"}])
    with running_daemon() as client:
        client.ingest((str(root),))
    with running_daemon() as client:
        assert _source(client).unknown == {"hologram": 1}
        file.write_text(fixed_migration().text(), encoding="utf-8")
        client.ingest((str(root),))
        assert _source(client).unknown == {}
        assert _source(client).bytes_read == file.stat().st_size


def test_the_status_of_a_daemon_that_follows_warns_by_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_WATCH", "true")
    for number in range(3):
        _write(root, number, _moved(number))
    with running_daemon() as client:
        wait_until(lambda: "source.silent" in _codes(client), "the status warns")
        _write(root, 7, _session(7).records)
        wait_until(lambda: "source.silent" not in _codes(client), "the warning is gone")
