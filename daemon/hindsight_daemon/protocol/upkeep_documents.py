"""Documents about what a memory store does with itself: consolidation, working memory, reindex.

Public, like `documents`, which they are part of.
"""

from __future__ import annotations

from hindsight_daemon.protocol.document import Document, Notice


class ConsolidateStep(Document, kw_only=True):
    """One step of a consolidation: what is, was or would be done with what, and why.

    `action` is `distil` (a session), `generalise`, `update` or `retire` (lessons of a project),
    `wait` or `held` (nothing is done). `ids` are the memories it rests on, `memory` the result.
    """

    action: str
    reason: str
    session_id: str = ""
    project: str = ""
    memory: str = ""
    ids: list[str] = []
    text: str = ""


class ConsolidateResult(Document, kw_only=True):
    """hindsight.consolidate/1: what a run did, or with `dry_run` would do.

    `state` is `done`, `started` (it goes on by itself) or `stopped` by its budget, with `remaining`
    items for the next run; `failed` items are tried again and `held` after the third time.
    """

    state: str
    trigger: str = ""
    sessions: int = 0
    episodes: int = 0
    memories: int = 0
    generalised: int = 0
    updated: int = 0
    retired: int = 0
    refused: int = 0
    failed: int = 0
    held: int = 0
    remaining: int = 0
    took_ms: float = 0.0
    dry_run: bool = False
    steps: list[ConsolidateStep] = []
    warnings: list[Notice] = []
    schema: str = "hindsight.consolidate/1"


class ReindexStep(Document, kw_only=True):
    """What becomes of one memory: add, change, remove or `kept out` (removed by decision)."""

    action: str
    id: str
    reason: str


class ReindexResult(Document, kw_only=True):
    """hindsight.reindex/1

    `memories` were looked at, `rekeyed` of them got other keys, of `keys` in all. From events:
    `sessions` were read again, `sessions_kept` have no whole tasks left and stay as they are.
    """

    memories: int = 0
    keys: int = 0
    rekeyed: int = 0
    sessions: int = 0
    sessions_kept: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    kept_out: int = 0
    turns: int = 0
    generalised: int = 0
    took_ms: float = 0.0
    dry_run: bool = False
    steps: list[ReindexStep] = []
    warnings: list[Notice] = []
    schema: str = "hindsight.reindex/1"


class WorkingEntry(Document, kw_only=True):
    """One entry of a session's live state; `importance` is from 0 to 1."""

    text: str
    at: str = ""
    event_id: str = ""
    importance: float = 0.0


class WorkingSession(Document, kw_only=True):
    """The live state of one session.

    `open_failures` have not been seen to pass since; `notes` are what the user asked to keep in
    mind; `entries` counts what is held of the capacity, `dropped` what made room.
    """

    session_id: str
    agent: str
    project: str
    cwd: str
    goal: str
    steps: list[WorkingEntry]
    open_failures: list[WorkingEntry]
    recent_results: list[WorkingEntry]
    notes: list[WorkingEntry]
    importance: str
    importance_score: float
    importance_reasons: list[str] = []
    assessed_at: str = ""
    assessments: int = 0
    turns: int = 0
    entries: int = 0
    dropped: int = 0
    started_at: str = ""
    updated_at: str = ""
    expires_at: str = ""


class WorkingResult(Document, kw_only=True):
    """hindsight.working/1: the live sessions; `capacity` is how many entries each may hold."""

    sessions: list[WorkingSession]
    capacity: int = 0
    schema: str = "hindsight.working/1"
