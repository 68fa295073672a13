"""What the rest of the daemon may ask of storage; Lance and the fake both satisfy it.

Imports only records. Every write is one `WriteBatch`: all of it is durable when `commit`
returns, or none of it is. Reads see every committed write at once, whether it has reached
the LanceDB tables or still waits in the journal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Literal, Protocol

from hindsight_daemon.model import (
    Checkpoint,
    Event,
    EventKind,
    Held,
    HeldState,
    HistoryEntry,
    Key,
    Layer,
    Memory,
    MemoryKind,
    Record,
    Role,
    SessionState,
    Status,
    Tombstone,
    ToolCall,
    WorkingState,
)


class RecallRecord(Record, frozen=True, kw_only=True):
    """That a recall happened and what it returned.

    `injected` are those that were put into a prompt of the agent's session.
    """

    recall_id: str
    at: datetime
    query: str
    returned: tuple[str, ...] = ()
    client: str = ""
    agent: str = ""
    session_id: str = ""
    injected: tuple[str, ...] = ()


class JudgeJob(Record, frozen=True, kw_only=True):
    """An episode that the judge is to look at, not before `at`.

    `id` and `digest` are the id and `source_hash` of the episode; `reason` says how the last of
    its `attempts` failed.
    """

    id: str
    session_id: str
    digest: str
    at: datetime
    attempts: int = 0
    reason: str = ""


class JudgeUse(Record, frozen=True, kw_only=True):
    """What the judge cost on one UTC day (ISO date) for one purpose; a batch adds to it."""

    day: str
    purpose: str
    model: str
    calls: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class WriteBatch(Record, frozen=True, kw_only=True):
    """Everything one write changes.

    `memories` and `keys` are upserts by id; `removed` ids lose their memory row and all keys;
    `replace_keys_of` drops the existing keys of these memories before `keys` are written. Removals
    come first, so an id in both `removed` and `memories` ends up written. A key without vector
    whose text is unchanged keeps the vector it has, unless `fresh_vectors` are wanted. Events are
    append-only: those whose id is known are skipped, except `grown` ones, which replace a known
    event of their id (and are skipped if there is none). `dropped_events` maps ids of events that
    go to their agents; these ids stay known, so that reading a transcript again does not bring them
    back. `lifted` are ids of tombstones that no longer hold. `held` are upserts by id of what waits
    for a person.
    `working` are upserts by session, `working_gone` sessions
    without live state from now on. `progress` sets notes of background work by name; an empty
    text removes one.
    `judge_jobs` are upserts by id, `judge_done` maps ids of
    jobs that go to the digests they had, `judge_use` is added to what
    is known, `judge_answers` maps keys to kept answers.
    `request_key` with `response` (JSON text) lets a resent request be answered again.
    """

    memories: tuple[Memory, ...] = ()
    keys: tuple[Key, ...] = ()
    removed: tuple[str, ...] = ()
    replace_keys_of: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    grown: tuple[Event, ...] = ()
    dropped_events: dict[str, str] = {}
    tool_calls: tuple[ToolCall, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    lifted: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    sessions: tuple[SessionState, ...] = ()
    recalls: tuple[RecallRecord, ...] = ()
    working: tuple[WorkingState, ...] = ()
    working_gone: tuple[str, ...] = ()
    progress: dict[str, str] = {}
    judge_jobs: tuple[JudgeJob, ...] = ()
    judge_done: dict[str, str] = {}
    judge_use: tuple[JudgeUse, ...] = ()
    judge_answers: dict[str, str] = {}
    fresh_vectors: bool = False
    request_key: str = ""
    response: str = ""


class SearchFilter(Record, frozen=True, kw_only=True):
    """Which keys or memories a read may see; empty tuples and None mean no restriction.

    `projects` match `project` exactly or as its last path component; `with_projectless` also
    admits rows without project and rows of scope `global`. `private_to` is the agent that asks:
    rows of scope `private` are visible only to the agent that wrote them; None (a person at the
    command line) sees all. `since` is inclusive, `until` is not. Rows whose `expires_at` is not
    after `now` are left out. `since` and
    `until` mean when it happened (`valid_from`), else when it was stored.
    """

    now: datetime
    projects: tuple[str, ...] = ()
    with_projectless: bool = True
    kinds: tuple[MemoryKind, ...] = ()
    layers: tuple[Layer, ...] = ()
    statuses: tuple[Status, ...] = ()
    not_statuses: tuple[Status, ...] = ()
    task_type: str = ""
    agent_role: str = ""
    session_id: str = ""
    agent: str = ""
    private_to: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class EventFilter(Record, frozen=True, kw_only=True):
    """Which events a literal search may see; empty tuples and None mean no restriction.

    `tool` is the name of a tool or its category, in any case. `since` is inclusive, `until` is
    not; an event without time passes neither.
    """

    sessions: tuple[str, ...] = ()
    agent: str = ""
    roles: tuple[Role, ...] = ()
    kinds: tuple[EventKind, ...] = ()
    tool: str = ""
    since: datetime | None = None
    until: datetime | None = None


class KeyHit(Record, frozen=True, kw_only=True):
    """A key that an arm found; `score` is the arm's own (higher is better).

    The key comes without its vector, though `embedder` says whether it has one.
    """

    key: Key
    score: float


class TableStats(Record, frozen=True, kw_only=True):
    """Rows, fragments, versions and bytes of one table."""

    rows: int = 0
    fragments: int = 0
    versions: int = 0
    size_bytes: int = 0


class StoreStats(Record, frozen=True, kw_only=True):
    """What the store holds and how healthy it is."""

    uri: str
    size_bytes: int
    tables: dict[str, TableStats]
    pending_fold: int
    pending_vectors: int
    memories_by: dict[str, dict[str, int]]
    events: int
    sessions: int
    tombstones: int
    sources: dict[str, int]
    held: int = 0
    maintenance_runs: int = 0
    maintenance_failures: int = 0
    last_failure: str = ""
    embedders: dict[str, int] = {}


class StoreProblem(Record, frozen=True, kw_only=True):
    """One finding of a self-check."""

    where: str
    what: str
    severity: Literal["repaired", "warning", "error"]


class Store(Protocol):
    """Durable memory storage; all methods may raise `StorageFailed` or a subclass."""

    async def commit(self, batch: WriteBatch) -> None:
        """Make the batch durable; concurrent commits may share one transaction."""

    async def answered(self, request_key: str) -> str | None:
        """Return the stored response of a request that was already carried out."""

    async def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist among `ids` (full ids)."""

    async def resolve(self, prefix: str) -> str:
        """Return the one full id that starts with `prefix`; `NotFound` or `AmbiguousId`."""

    async def short_ids(self, ids: Sequence[str]) -> dict[str, str]:
        """Return for each id its shortest unique prefix, at least 8 characters."""

    async def list(
        self, where: SearchFilter, *, limit: int, before_id: str = ""
    ) -> Sequence[Memory]:
        """Return memories newest first (by id, which orders by time); page with `before_id`."""

    async def same_content(self, content_hash: str, project: str) -> str | None:
        """Return the id of a live memory with this content hash in this project, if any."""

    async def with_content(self, content_hashes: Sequence[str]) -> Sequence[str]:
        """Return the ids of all memories with one of these content hashes, in any project."""

    async def search_vector(
        self, vector: Sequence[float], embedder: str, where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        """Nearest keys of this embedder; score = cosine similarity."""

    async def search_terms(
        self, terms: Sequence[str], where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        """Best keys by BM25 over `Key.terms` for the OR of `terms`."""

    async def search_recent(self, where: SearchFilter, *, limit: int) -> Sequence[KeyHit]:
        """Newest keys; score = created_at as Unix seconds."""

    async def keys_of(self, memory_ids: Sequence[str]) -> Sequence[Key]:
        """Return all keys of these memories, without their vectors."""

    async def keys_without_vector(self, embedder: str, *, limit: int) -> Sequence[Key]:
        """Return keys with no vector of this embedder, distilled kinds first, then newest first."""

    async def fill_vectors(self, vectors: dict[str, tuple[float, ...]], embedder: str) -> None:
        """Set the vectors of existing keys by key id; ids that are gone meanwhile are ignored."""

    async def known_events(self, event_ids: Sequence[str]) -> set[str]:
        """Return which of these event ids are already stored."""

    def events_of(self, session_id: str, *, after_seq: int = -1) -> AsyncIterator[Event]:
        """Iterate the events of a session in order of `seq`, a bounded number in memory."""

    async def events_by_id(self, event_ids: Sequence[str]) -> Sequence[Event]:
        """Return the stored events among `event_ids`."""

    async def events_near(
        self, session_id: str, seq: int, *, before: int, after: int
    ) -> Sequence[Event]:
        """Return the events at `seq` with those at so many numbers before and after, in order."""

    async def search_events(self, text: str, where: EventFilter, *, limit: int) -> Sequence[Event]:
        """Return events that hold `text` in any case, newest first, those without time last.

        Looked at are the text of an event and the command and arguments of its tool.
        """

    async def sessions(self, *, unconsolidated: bool = False) -> Sequence[SessionState]:
        """Return session states, newest activity first."""

    async def session(self, session_id: str) -> SessionState | None:
        """Return the state of one session."""

    async def checkpoint(self, path: str) -> Checkpoint | None:
        """Return the checkpoint of a transcript path."""

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """Return all checkpoints."""

    async def memories_of_session(
        self, session_id: str, kinds: Sequence[MemoryKind]
    ) -> Sequence[Memory]:
        """Return the memories of these kinds that came from a session."""

    async def tombstones(self) -> Sequence[Tombstone]:
        """Return all tombstones."""

    async def held(self, *, state: HeldState | None = None) -> Sequence[Held]:
        """Return what is or was held, oldest first; with `state` only what is in that state."""

    async def history(self, memory_id: str) -> Sequence[HistoryEntry]:
        """Return the journal lines of one memory, oldest first."""

    async def recalls(self, *, limit: int, session_id: str = "") -> Sequence[RecallRecord]:
        """Return the newest recalls, of one session or of all; looks through `limit` at most."""

    async def recall_record(self, recall_id: str) -> RecallRecord | None:
        """Return what a recall returned."""

    async def working(self, session_id: str = "") -> Sequence[WorkingState]:
        """Return the live state of one session, or of all; what was changed last first."""

    async def progress(self, prefix: str) -> dict[str, str]:
        """Return the notes of background work whose names start with `prefix`."""

    async def judge_jobs(self, *, limit: int = 1000) -> Sequence[JudgeJob]:
        """Return the judge's jobs, those due first first."""

    async def judge_use(self, since_day: str) -> Sequence[JudgeUse]:
        """Return what the judge cost from an ISO date on, by day, purpose and model."""

    async def judge_answer(self, key: str) -> str | None:
        """Return a kept answer of the judge; answers are kept for some months."""

    async def stats(self) -> StoreStats:
        """Return counts and health; cheap enough to be asked every few seconds."""

    async def check(self) -> Sequence[StoreProblem]:
        """Scan real rows of every table and report damage."""

    async def flush(self) -> None:
        """Fold everything committed so far into the tables."""

    async def maintain(self, *, force: bool = False) -> bool:
        """Compact, index and prune if the policy says so; return whether anything was done."""

    async def close(self) -> None:
        """Fold what is pending and release all files."""
