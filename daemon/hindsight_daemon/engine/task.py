"""The records that pass between the steps of consolidation: task, verdict on it, drafts.

Pure data. `segment` makes tasks of events, `outcome` judges them, `distil` drafts memories.
"""

from __future__ import annotations

from datetime import datetime

from hindsight_daemon.model import (
    Anchor,
    Applicability,
    Event,
    Importance,
    MemoryKind,
    Outcome,
    Record,
    Scope,
    Step,
    Trust,
)


class Task(Record, frozen=True, kw_only=True):
    """A run of events of one session with one goal, starting at a human prompt.

    `id` follows from the session and the first event, so that a grown task keeps its id;
    `content_hash` changes whenever its events do. `reaction` is the user's next prompt, which
    belongs to the next task but tells whether this one worked.
    """

    id: str
    session_id: str
    agent: str
    events: tuple[Event, ...]
    goal: str
    reaction: str = ""
    is_interrupted: bool = False
    is_ended: bool = False
    content_hash: str = ""


class OutcomeVerdict(Record, frozen=True, kw_only=True):
    """How a task ended, from evidence only; `reasons` name the signals, strongest first."""

    outcome: Outcome
    failure_reason: str = ""
    reasons: tuple[str, ...] = ()
    confidence: float = 0.5
    verification_command: str = ""


class Draft(Record, frozen=True, kw_only=True):
    """A memory that the distiller proposes; the service screens, merges and stores it.

    `text` is one actionable sentence with its circumstances; `keys` are further texts to find it
    by (goal, error text, question forms); `event_ids` is its evidence, best first.
    """

    kind: MemoryKind
    text: str
    importance: Importance
    importance_score: float
    confidence: float
    trust: Trust
    scope: Scope
    applicability: Applicability
    event_ids: tuple[str, ...]
    quote: str
    keys: tuple[tuple[str, str], ...] = ()
    anchors: tuple[Anchor, ...] = ()
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    rule: str = ""


class Episode(Record, frozen=True, kw_only=True):
    """What a task comes down to."""

    task_id: str
    goal: str
    task_type: str
    verdict: OutcomeVerdict
    path: tuple[Step, ...]
    summary: str
    drafts: tuple[Draft, ...]
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_s: float | None = None
    retries: int = 0
