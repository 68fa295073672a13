"""The sessions that ship with the package, and the public transcripts, through the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.engine.distil import distil
from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.task import Draft, Episode
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.transcript import read_transcript

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "hindsight_cli" / "samples").glob("*.jsonl"))
SHARED = ROOT.parent / "shared" / "transcripts"


def episodes(path: Path) -> list[Episode]:
    events = [event for batch in read_transcript(path) for event in batch.events]
    return [episode for task in segment(events) if (episode := distil(task)) is not None]


def lessons(name: str) -> list[Draft]:
    path = ROOT / "hindsight_cli" / "samples" / f"{name}.jsonl"
    return [draft for episode in episodes(path) for draft in episode.drafts]


def test_the_hanging_migration_test_gives_its_cause_and_cure() -> None:
    (draft,) = lessons("claude-migration-test-hang")
    assert draft.text == (
        "When `pytest tests/test_migrations.py -x --timeout=60` hangs, close `db_session` in the "
        "`alembic_config` fixture before the migration runs, because the session-scoped "
        "`db_session` fixture keeps a transaction open, and its `SELECT` on `accounts` holds a "
        "lock that `ALTER TABLE accounts` waits for."
    )


def test_the_thumbnail_session_gives_a_build_lesson_and_a_decision() -> None:
    solution, decision = lessons("codex-thumbnail-worker")
    assert solution.kind == "solution"
    assert "relative imports need the `.js` extension" in solution.text
    assert decision.kind == "decision"
    assert decision.text.startswith("Keep the queue in a SQLite table rather than BullMQ, because")


def test_the_correction_and_the_standing_rules_are_kept() -> None:
    assert [draft.text for draft in lessons("claude-pnpm-correction")] == [
        "Write component tests with Testing Library queries by role, not by test id.",
        "Never commit package-lock.json here.",
        "Use pnpm, not npm: this is a pnpm workspace.",
    ]


def test_the_chinese_session_gives_rule_decision_and_cause() -> None:
    rule, decision, solution = lessons("claude-zh-order-test")
    assert rule.text == (
        "以后都用 make test 跑测试，不要再直接敲 go test，Makefile 里会带上环境变量。"
    )
    assert decision.kind == "decision"
    assert solution.text.startswith("当 `go test ./internal/order/...` 失败")
    assert "映射到了主机的 6380 端口" in solution.text


def test_the_node_session_gives_what_to_run_first() -> None:
    fact, solution = lessons("codex-node-version")
    assert fact.text == "This laptop needs `nvm use` before npm in every new shell."
    assert "run `nvm use` in the repository before any npm script" in solution.text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_lesson_quotes_its_evidence(path: Path) -> None:
    events = [event for batch in read_transcript(path) for event in batch.events]
    texts = {event.id: event.text for event in events}
    for task in segment(events):
        episode = distil(task)
        for draft in episode.drafts if episode is not None else ():
            assert draft.quote
            assert draft.quote in texts[draft.event_ids[0]]
            assert len(draft.text) <= 300


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public transcripts are not here")
def test_public_transcripts_give_no_junk_and_no_crash() -> None:
    texts: list[str] = []
    for path in sorted(SHARED.rglob("*")):
        if not path.is_file() or path.stat().st_size > 4_000_000:
            continue
        try:
            found = episodes(path)
        except HindsightError:
            continue
        texts.extend(draft.text for episode in found for draft in episode.drafts)
    assert all("<system-reminder" not in text and "\n" not in text for text in texts)
    assert all(len(text) <= 300 for text in texts)
