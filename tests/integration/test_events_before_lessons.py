"""Whatever a call reads is stored and searchable before anything is learned from it."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.client import Client
from hindsight_daemon.protocol.params import Progress
from tests.support.claude_lines import ClaudeSession, fixed_migration
from tests.support.harness import running_daemon


def test_no_session_is_learned_from_before_all_are_read(tmp_path: Path) -> None:
    with running_daemon() as client:
        _look_at_the_order_of(client, tmp_path)


def _look_at_the_order_of(client: Client, folder: Path) -> None:
    (folder / "0.jsonl").write_text(fixed_migration().text(), encoding="utf-8")
    # So much comes behind it that this is a bulk call of several groups.
    for number in range(3):
        noise = ClaudeSession(f"5e551000-0000-4000-8000-0000000000b{number}")
        noise.prompt("Print the long listing")
        for part in range(1500):
            noise.runs(f"cat part{part}.txt", "a line of a long listing\n" * 100)
        (folder / f"{number + 1}.jsonl").write_text(noise.text(), encoding="utf-8")
    stages: list[str] = []

    def on_progress(progress: Progress) -> None:
        stages.append(progress.stage)

    report = client.ingest((str(folder),), on_progress=on_progress)
    assert "read" in stages
    assert stages == sorted(stages, key=["read", "consolidate"].index)
    assert report.episodes == client.stats().memories["kind"]["episode"]
    assert 0 < report.read_ms <= report.took_ms
