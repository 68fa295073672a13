"""What the journal keeps for the judge: its queue, what it cost, what it answered.

`write` runs on the journal's writer thread inside a batch's transaction, the reads on the event
loop; all of them use an index.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.outbox import from_micros, micros
from hindsight_daemon.store.port import JudgeJob, JudgeUse, WriteBatch

KEEP_ANSWERS = timedelta(days=90)


def write(db: sqlite3.Connection, batch: WriteBatch, now: datetime) -> None:
    """Write the judge's part of a batch."""
    db.executemany(
        # A job that was replaced meanwhile stays: its task went on.
        "DELETE FROM judge_job WHERE id = ? AND digest = ?",
        batch.judge_done.items(),
    )
    db.executemany(
        "INSERT OR REPLACE INTO judge_job VALUES (?, ?, ?, ?, ?, ?)",
        (
            (j.id, j.session_id, j.digest, micros(j.at), j.attempts, j.reason)
            for j in batch.judge_jobs
        ),
    )
    db.executemany(
        "INSERT INTO judge_use VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " calls = calls + excluded.calls, failures = failures + excluded.failures,"
        " tokens_in = tokens_in + excluded.tokens_in,"
        " tokens_out = tokens_out + excluded.tokens_out",
        (
            (u.day, u.purpose, u.model, u.calls, u.failures, u.tokens_in, u.tokens_out)
            for u in batch.judge_use
        ),
    )
    if batch.judge_answers:
        db.execute("DELETE FROM judge_answer WHERE at < ?", (micros(now - KEEP_ANSWERS),))
        db.executemany(
            "INSERT OR REPLACE INTO judge_answer VALUES (?, ?, ?)",
            ((key, micros(now), text) for key, text in batch.judge_answers.items()),
        )


def jobs(journal: Journal, limit: int) -> list[JudgeJob]:
    """Return jobs, those due first first."""
    rows = journal.read(
        "SELECT id, session_id, digest, at, attempts, reason FROM judge_job"
        " ORDER BY at, id LIMIT ?",
        limit,
    )
    return [
        JudgeJob(
            id=row[0],
            session_id=row[1],
            digest=row[2],
            at=from_micros(row[3]),
            attempts=row[4],
            reason=row[5],
        )
        for row in rows
    ]


def use(journal: Journal, since_day: str) -> list[JudgeUse]:
    """Return what was spent from a day on, by day, purpose and model."""
    rows = journal.read(
        "SELECT day, purpose, model, calls, failures, tokens_in, tokens_out FROM judge_use"
        " WHERE day >= ? ORDER BY day, purpose, model",
        since_day,
    )
    names = ("day", "purpose", "model", "calls", "failures", "tokens_in", "tokens_out")
    return [JudgeUse(**dict(zip(names, row, strict=True))) for row in rows]


def answer(journal: Journal, key: str) -> str | None:
    """Return a kept answer."""
    rows = journal.read("SELECT text FROM judge_answer WHERE key = ?", key)
    return str(rows[0][0]) if rows else None
