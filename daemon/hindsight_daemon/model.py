"""The records everything speaks of: events, memories, keys, evidence, tombstones.

Frozen, plain data; imports nothing of ours. Times are aware UTC datetimes. Enumerations are
string literals so that records read the same in code, on the wire and in the tables.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from msgspec import Struct

Layer = Literal["working", "episodic", "semantic"]
MemoryKind = Literal[
    "episode", "lesson", "preference", "decision", "solution", "fact", "procedure", "turn"
]
Outcome = Literal["success", "partial", "failure", "unknown"]
Scope = Literal["private", "shared", "global"]
Applicability = Literal["everywhere", "project", "path", "task_type"]
Importance = Literal["high", "medium", "low"]
Trust = Literal["user", "agent", "tool", "imported", "external"]
Status = Literal["unverified", "valid", "stale", "contradicted", "superseded", "archived"]
EventKind = Literal[
    "prompt", "text", "reasoning", "tool_call", "tool_result", "error", "interrupt", "compaction"
]
Role = Literal["user", "assistant", "tool", "system"]
SessionEnd = Literal["", "ended", "interrupted", "failed"]
HeldState = Literal["held", "released", "dropped"]
ToolCategory = Literal["shell", "edit", "read", "search", "web", "task", "mcp", "other"]

MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
DISTILLED_KINDS: tuple[MemoryKind, ...] = tuple(k for k in MEMORY_KINDS if k != "turn")
LAYERS: tuple[Layer, ...] = get_args(Layer)
STATUSES: tuple[Status, ...] = get_args(Status)
SCOPES: tuple[Scope, ...] = get_args(Scope)
IMPORTANCES: tuple[Importance, ...] = get_args(Importance)
TRUSTS: tuple[Trust, ...] = get_args(Trust)

RELEASED_TAG = "released"
"""On memories that a person let out of quarantine."""
CONFIRM_TAG = "confirm"
"""On memories of sensitive actions and permissions: never to be acted on without the user."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of stored records: immutable, keyword-only, defaults left out when encoded."""


class Origin(Record, frozen=True, kw_only=True):
    """Where in a transcript an event was read.

    `byte_start`/`byte_end` are offsets of the raw line in the file (whole file for document
    formats), `sha256` is the hex digest of those bytes.
    """

    path: str
    line: int = 0
    byte_start: int = 0
    byte_end: int = 0
    sha256: str = ""


class ToolUse(Record, frozen=True, kw_only=True):
    """The tool side of a `tool_call` or `tool_result` event.

    `arguments` is the call's input as text (JSON, or the command itself for shells);
    `is_error` is None where the transcript does not say.
    """

    name: str
    category: ToolCategory = "other"
    call_id: str = ""
    arguments: str = ""
    command: str = ""
    exit_code: int | None = None
    is_error: bool | None = None
    status: str = ""


class Event(Record, frozen=True, kw_only=True):
    """One normalised, redacted record of a transcript.

    `id` is stable across re-reads, forks and replays of the same record and namespaced by agent;
    `seq` orders the events of one session in causal (file) order.
    """

    id: str
    agent: str
    session_id: str
    seq: int
    role: Role
    kind: EventKind
    text: str = ""
    ts: datetime | None = None
    tool: ToolUse | None = None
    files: tuple[str, ...] = ()
    cwd: str = ""
    git_branch: str = ""
    git_commit: str = ""
    model: str = ""
    speaker: str = ""
    external_id: str = ""
    parent_session_id: str = ""
    is_sidechain: bool = False
    is_synthetic: bool = False
    ends_turn: bool = False
    origin: Origin | None = None


class Evidence(Record, frozen=True, kw_only=True):
    """Link from a memory to the transcript span it came from."""

    agent: str = ""
    session_id: str = ""
    transcript: str = ""
    event_ids: tuple[str, ...] = ()
    line: int = 0
    byte_start: int = 0
    byte_end: int = 0
    sha256: str = ""
    quote: str = ""


class Anchor(Record, frozen=True, kw_only=True):
    """A thing in the world that a memory speaks of and that can be re-checked."""

    kind: Literal["file", "symbol", "command", "package", "commit"]
    value: str
    digest: str = ""
    detail: str = ""


class Step(Record, frozen=True, kw_only=True):
    """One step of an execution path."""

    action: str
    params_digest: str = ""
    result: str = ""


class Memory(Record, frozen=True, kw_only=True):
    """Anything recall can return; the value behind one or more keys."""

    id: str
    layer: Layer
    kind: MemoryKind
    text: str
    created_at: datetime
    updated_at: datetime
    summary: str = ""
    lang: str = ""
    task_goal: str = ""
    task_type: str = ""
    outcome: Outcome = "unknown"
    failure_reason: str = ""
    lessons: tuple[str, ...] = ()
    execution_path: tuple[Step, ...] = ()
    duration_s: float | None = None
    agent: str = ""
    agent_role: str = ""
    user_id: str = ""
    session_id: str = ""
    project: str = ""
    cwd: str = ""
    git_commit: str = ""
    git_branch: str = ""
    scope: Scope = "shared"
    applicability: Applicability = "project"
    importance: Importance = "medium"
    importance_score: float = 0.5
    confidence: float = 0.5
    trust: Trust = "agent"
    status: Status = "unverified"
    verdict_reason: str = ""
    source_turn: int | None = None
    last_verified_at: datetime | None = None
    last_verified_turn: int | None = None
    evidence: tuple[Evidence, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    version: int = 1
    supersedes: str = ""
    superseded_by: str = ""
    also_supersedes: tuple[str, ...] = ()
    """Further ids that this one took the place of, beside `supersedes`."""
    conflicts_with: tuple[str, ...] = ()
    """Ids of memories that say otherwise, until a person has decided between them."""
    derived_from: tuple[str, ...] = ()
    support_count: int = 0
    """Episodes behind what was generalised; of others `derived_from` tells."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    content_hash: str = ""
    source_hash: str = ""
    """Digest of the task this was distilled from; unchanged means nothing to distil again."""
    external_id: str = ""
    speaker: str = ""
    schema_version: int = 1


class Key(Record, frozen=True, kw_only=True):
    """A text under which a memory is found, with the columns that searches filter and weigh by.

    `terms` is the text as the keyword arm sees it (see `engine.terms`), space-separated.
    A key without vector is found by keyword and waits for the background fill.
    """

    id: str
    memory_id: str
    key_kind: Literal["text", "goal", "lesson", "question", "error", "entity"]
    text: str
    terms: str
    created_at: datetime
    kind: MemoryKind
    layer: Layer
    vector: tuple[float, ...] | None = None
    embedder: str = ""
    project: str = ""
    session_id: str = ""
    agent: str = ""
    agent_role: str = ""
    task_type: str = ""
    scope: Scope = "shared"
    status: Status = "unverified"
    importance_score: float = 0.5
    confidence: float = 0.5
    lang: str = ""
    expires_at: datetime | None = None
    schema_version: int = 1


class Tombstone(Record, frozen=True, kw_only=True):
    """What was forgotten: keeps the same statement from coming back on every write path."""

    id: str
    normalized_text: str
    memory_id: str
    since: datetime
    reason: str = ""
    actor: str = ""
    evidence: tuple[Evidence, ...] = ()
    vector: tuple[float, ...] | None = None
    embedder: str = ""
    schema_version: int = 1


class Held(Record, frozen=True, kw_only=True):
    """Something that was kept out of the store until a person decides.

    `what` names the sort of thing, which says how it is released (see `service.quarantine`);
    `body` is its JSON text and `text` what a person reads of it. `digest` tells the same content
    again. What was dropped keeps only that, so that it is not held a second time.
    """

    id: str
    what: str
    reason: str
    since: datetime
    digest: str = ""
    text: str = ""
    body: str = ""
    trust: Trust = "agent"
    origin: str = ""
    session_id: str = ""
    project: str = ""
    state: HeldState = "held"
    decided_at: datetime | None = None
    decided_by: str = ""
    schema_version: int = 1


class ToolCall(Record, frozen=True, kw_only=True):
    """A tool call with its result's freshness; feeds the call tree and dirty marking."""

    id: str
    session_id: str
    tool: str
    category: ToolCategory
    parent_call_id: str = ""
    arguments_digest: str = ""
    result_digest: str = ""
    created_at: datetime | None = None
    expires_at: datetime | None = None
    state: Literal["fresh", "expired", "dirty"] = "fresh"
    memory_ids: tuple[str, ...] = ()
    schema_version: int = 1


class HistoryEntry(Record, frozen=True, kw_only=True):
    """One line of the append-only journal: who changed what, when and why.

    `before` and `after` are JSON texts of the memory, empty where there is none.
    """

    at: datetime
    actor: str
    action: str
    memory_id: str
    reason: str = ""
    before: str = ""
    after: str = ""


class ReadTally(Record, frozen=True, kw_only=True):
    """What reading one transcript came to so far, for the drift alarm.

    `records` counts lines or, where records are none, what they gave; `skipped` and `unknown` map
    reasons and record types to counts. `problem` says why it could not be read the last time.
    """

    records: int = 0
    events: int = 0
    bytes_read: int = 0
    skipped: dict[str, int] = {}
    unknown: dict[str, int] = {}
    read_at: datetime | None = None
    problem: str = ""


class Checkpoint(Record, frozen=True, kw_only=True):
    """How far a transcript was read, and how to tell that it is still the same file.

    `offset` lies just after a newline (or is the file's size for document formats);
    `prefix_hash` covers the first 4 KiB and the 64 bytes before `offset`; `state` is the
    source's own continuation state as JSON text. Without `source` nothing could be read yet.
    """

    path: str
    source: str
    parser_version: int
    device: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    offset: int = 0
    line: int = 0
    prefix_hash: str = ""
    state: str = ""
    tally: ReadTally = ReadTally()


class WorkingItem(Record, frozen=True, kw_only=True):
    """One entry of a session's live state.

    A `step` is what was done, a `failure` what has not been seen to pass since, a `result` what a
    command said, a `note` what the user asked to keep in mind. `key` names the command or file
    that a later entry may settle.
    """

    kind: Literal["step", "failure", "result", "note"]
    text: str
    at: datetime | None = None
    event_id: str = ""
    key: str = ""
    importance: float = 0.3


class WorkingState(Record, frozen=True, kw_only=True):
    """The live state of one session, the layer `working`: never a memory, expires by itself.

    Built from the session's events up to `through_seq`. While `is_open` it holds its task; after
    consolidation only what is needed to go on with the same goal. `calls` are tool calls whose
    results are still to come; `dropped` counts entries that made room for others.
    """

    session_id: str
    updated_at: datetime
    expires_at: datetime
    agent: str = ""
    project: str = ""
    cwd: str = ""
    is_open: bool = False
    goal: str = ""
    started_at: datetime | None = None
    items: tuple[WorkingItem, ...] = ()
    dropped: int = 0
    settled: int = 0
    turns: int = 0
    has_ended: bool = False
    importance: Importance = "low"
    importance_score: float = 0.0
    importance_reasons: tuple[str, ...] = ()
    assessed_at: datetime | None = None
    assessments: int = 0
    assessed_digest: str = ""
    turns_since: int = 0
    calls: tuple[Event, ...] = ()
    last_said: str = ""
    has_acted: bool = False
    through_seq: int = -1


class SessionState(Record, frozen=True, kw_only=True):
    """What is known of one agent session and how far it was consolidated.

    `end` says by which marker its main line ended, empty while it may go on. `size_bytes` is the
    text of its events that retention may still let go; it has let go of those up to the `seq`
    `thinned_through`, of which only cited ones are left.
    """

    session_id: str
    agent: str
    project: str = ""
    cwd: str = ""
    transcript: str = ""
    parent_session_id: str = ""
    first_at: datetime | None = None
    last_at: datetime | None = None
    last_seen_at: datetime | None = None
    events: int = 0
    consolidated_events: int = 0
    end: SessionEnd = ""
    size_bytes: int = 0
    thinned_through: int = -1
