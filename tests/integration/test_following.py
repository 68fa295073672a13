"""The daemon follows the agents' own folders without being told."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import msgspec
import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.model import Checkpoint
from hindsight_daemon.paths import Paths, resolve_paths
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import running_daemon, wait_until


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Return a Claude Code project folder in the test's home, followed by the daemon."""
    folder = home.parent / "home/.claude/projects/-work-shop"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HINDSIGHT_WATCH", "true")
    return folder


def _turns(client: Client, text: str) -> list[str]:
    found = client.recall(text, kinds=("turn",), all_projects=True).memories
    return [memory.text for memory in found]


def test_sessions_written_before_the_daemon_started_are_learned(project: Path) -> None:
    session = fixed_migration()
    file = project / f"{session.session_id}.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    os.utime(file, (1_785_000_000, 1_785_000_000))
    with running_daemon() as client:
        wait_until(lambda: client.stats().episodes == 1, "the old session was consolidated")
        best = client.recall("why did the migration test hang", all_projects=True).memories[0]
        assert best.kind == "solution"


def test_a_new_line_is_recallable_while_the_session_goes_on(project: Path) -> None:
    session = ClaudeSession("5e551000-0000-4000-8000-0000000000b1").prompt(
        "Please add a healthcheck to the gateway"
    )
    file = project / f"{session.session_id}.jsonl"
    with running_daemon() as client:
        wait_until(lambda: client.status().watching, "the daemon follows the folder")
        file.write_text(session.text(), encoding="utf-8")
        wait_until(lambda: _turns(client, "healthcheck gateway"), "the first line was seen")

        session.says("The gateway now answers on slash healthz with the build number")
        line = json.dumps(session.records[-1]) + "\n"
        with file.open("a", encoding="utf-8") as stream:
            stream.write(line[:40])
            stream.flush()
            stream.write(line[40:])
        wait_until(
            lambda: any("healthz" in text for text in _turns(client, "healthz build number")),
            "the appended line was seen",
        )
        assert client.stats().events == 2


def test_a_folder_that_appears_later_is_followed(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("HINDSIGHT_WATCH", "true")
    session = fixed_migration()
    with running_daemon() as client:
        folder = home.parent / "home/.claude/projects/-work-shop"
        folder.mkdir(parents=True)
        (folder / f"{session.session_id}.jsonl").write_text(session.text(), encoding="utf-8")
        wait_until(lambda: client.stats().events > 0, "the new folder was noticed")


def test_other_files_of_an_agent_are_not_taken_for_transcripts(project: Path) -> None:
    session = fixed_migration()
    (project / f"{session.session_id}.jsonl").write_text(session.text(), encoding="utf-8")
    memory = project / "memory"
    memory.mkdir()
    (memory / "NOTES.md").write_text("## User\nhow?\n## Assistant\nlike this\n" * 9, "utf-8")
    with running_daemon() as client:
        wait_until(lambda: client.stats().events > 0, "the session was read")
        report = client.ingest(())
        assert {file.path for file in report.files} == {
            str(project / f"{session.session_id}.jsonl")
        }
        assert client.stats().sessions == 1


def test_a_newer_parser_reads_its_transcripts_again_without_doubling_events(
    project: Path,
) -> None:
    paths = resolve_paths()
    session = fixed_migration()
    file = project / f"{session.session_id}.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    os.utime(file, (1_785_000_000, 1_785_000_000))
    with running_daemon() as client:
        wait_until(lambda: client.stats().episodes == 1, "the session was consolidated")
        before = client.stats()
    newest = _set_parser_version(paths, 0)
    with running_daemon() as client:
        wait_until(lambda: _parser_version(paths) == newest, "the transcript was read again")
        client.ingest((str(file),))
        after = client.stats()
    assert (after.events, after.sessions, after.episodes) == (
        before.events,
        before.sessions,
        before.episodes,
    )
    assert after.memories == before.memories


def _parser_version(paths: Paths) -> int:
    with contextlib.closing(sqlite3.connect(paths.journal_file, timeout=30)) as journal:
        ((body,),) = journal.execute("SELECT body FROM checkpoint")
    return msgspec.msgpack.decode(body, type=Checkpoint).parser_version


def _set_parser_version(paths: Paths, version: int) -> int:
    """Let the only checkpoint be one of another version; return what it was."""
    with contextlib.closing(sqlite3.connect(paths.journal_file)) as journal, journal:
        ((path, body),) = journal.execute("SELECT path, body FROM checkpoint")
        checkpoint = msgspec.msgpack.decode(body, type=Checkpoint)
        changed = msgspec.structs.replace(checkpoint, parser_version=version)
        row = (msgspec.msgpack.encode(changed), path)
        journal.execute("UPDATE checkpoint SET body = ? WHERE path = ?", row)
    return checkpoint.parser_version
