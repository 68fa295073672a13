"""The documents of the contract: what methods return and what `--json` prints.

Public. Each top-level document names its schema, such as `hindsight.recall/1`.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from hindsight_daemon.protocol.document import Document, Notice


class SourceView(Document, kw_only=True):
    """Where a memory was learned."""

    agent: str = ""
    transcript: str = ""
    quote: str = ""


class ArmScore(Document, kw_only=True):
    """Rank (from 1) and score one arm gave; rank 0 means the arm did not find it."""

    rank: int = 0
    score: float = 0.0


class Scores(Document, kw_only=True):
    """How a result came to its place; filled with `--explain`."""

    arms: dict[str, ArmScore] = {}
    fused: float = 0.0
    weights: dict[str, float] = {}
    rerank: float | None = None
    final: float = 0.0
    key: str = ""


class MemoryView(Document, kw_only=True):
    """A memory as recall returns it."""

    id: str
    short_id: str
    layer: str
    kind: str
    text: str
    score: float
    status: str
    confidence: float
    importance: str
    trust: str
    scope: str
    project: str
    session_id: str
    created_at: str
    source: SourceView
    external_id: str = ""
    outcome: str = ""
    task_goal: str = ""
    speaker: str = ""
    tags: tuple[str, ...] = ()
    verdict_reason: str = ""
    superseded_by: str = ""
    conflicts_with: tuple[str, ...] = ()
    scores: Scores | None = None


class RecallResult(Document, kw_only=True):
    """hindsight.recall/1"""

    recall_id: str
    query: str
    took_ms: float
    memories: list[MemoryView]
    warnings: list[Notice] = []
    context: str = ""
    schema: str = "hindsight.recall/1"


class EventView(Document, kw_only=True):
    """One event of a session; `text` may be cut, `line` is where its record begins."""

    id: str
    agent: str
    session_id: str
    seq: int
    role: str
    kind: str
    at: str
    text: str
    tool: str = ""
    transcript: str = ""
    line: int = 0


class NumberedLine(Document, kw_only=True):
    """A line with its number, counted from 1."""

    line: int
    text: str


class TranscriptSpan(Document, kw_only=True):
    """A place in a transcript that a memory rests on.

    `verified` is unchanged, changed, gone or unknown. `origin` says where it was read: `file`,
    with the `lines` as they stand there, or `store`, with the kept `events` only.
    """

    agent: str
    session_id: str
    transcript: str
    verified: str
    origin: str
    at: str = ""
    line: int = 0
    byte_start: int = 0
    byte_end: int = 0
    lines: list[NumberedLine] = []
    events: list[EventView] = []
    is_cut: bool = False


class MemoryDocument(Document, kw_only=True):
    """hindsight.memory/1: one memory, whole (fields of `model.Memory`)."""

    memory: dict[str, Any]
    history: list[dict[str, Any]] = []
    spans: list[TranscriptSpan] = []
    schema: str = "hindsight.memory/1"


class ListResult(Document, kw_only=True):
    """hindsight.list/1"""

    memories: list[dict[str, Any]]
    tombstones: list[dict[str, Any]] = []
    next: str = ""
    schema: str = "hindsight.list/1"


class SearchHit(Document, kw_only=True):
    """An event that holds the text: the lines of it that match, and its neighbours."""

    event: EventView
    lines: list[NumberedLine]
    before: list[EventView] = []
    after: list[EventView] = []


class SearchResult(Document, kw_only=True):
    """hindsight.search/1: newest first; `has_more` if the limit left some out."""

    text: str
    hits: list[SearchHit]
    has_more: bool = False
    took_ms: float = 0.0
    warnings: list[Notice] = []
    schema: str = "hindsight.search/1"


class Happening(Document, kw_only=True):
    """hindsight.event/1: something the daemon saw or learned.

    `event` names it and `data` describes it: `watch.started` {roots}, `transcript.read` {path,
    source, events}, `task.consolidated` {session, goal, outcome, memories}, `memory.added`,
    `memory.merged`, `memory.superseded` and `memory.forgotten` {id, kind, text}, `overflow` {lost}.
    """

    event: str
    at: str
    data: dict[str, Any] = {}
    schema: str = "hindsight.event/1"


class WhyStep(Document, kw_only=True):
    """One link of the chain memory → lesson → episode → transcript."""

    what: str
    id: str
    text: str
    agent: str = ""
    session_id: str = ""
    transcript: str = ""
    line: int = 0
    byte_start: int = 0
    byte_end: int = 0
    at: str = ""
    verified: str = ""


class WhyResult(Document, kw_only=True):
    """hindsight.why/1"""

    id: str
    steps: list[WhyStep]
    history: list[dict[str, Any]] = []
    schema: str = "hindsight.why/1"


class RememberResult(Document, kw_only=True):
    """hindsight.remember/1; `outcome` is added, merged, superseded, refused or spooled."""

    id: str
    outcome: str
    affected: list[str] = []
    reason: str = ""
    warnings: list[Notice] = []
    schema: str = "hindsight.remember/1"


class ForgetResult(Document, kw_only=True):
    """hindsight.forget/1

    Of those `forgotten`, the `derived` ones went because they rested on nothing else; `changed`
    ones stay without what they said or had of it.
    """

    forgotten: list[str]
    tombstones: list[str]
    derived: list[str] = []
    changed: list[str] = []
    dry_run: bool = False
    schema: str = "hindsight.forget/1"


class UnforgetResult(Document, kw_only=True):
    """hindsight.unforget/1: the tombstones that no longer hold."""

    lifted: list[str]
    dry_run: bool = False
    schema: str = "hindsight.unforget/1"


class HeldView(Document, kw_only=True):
    """Something that waits for a person; `what` is the sort of thing, `text` what it says."""

    id: str
    what: str
    text: str
    reason: str
    since: str
    trust: str = ""
    origin: str = ""
    session_id: str = ""
    project: str = ""
    state: str = "held"
    decided_at: str = ""
    decided_by: str = ""


class QuarantineResult(Document, kw_only=True):
    """hindsight.quarantine/1: oldest first; `total` also counts those beyond the limit."""

    held: list[HeldView]
    total: int = 0
    schema: str = "hindsight.quarantine/1"


class ReleaseResult(Document, kw_only=True):
    """hindsight.release/1: what was released, and the memories that came of it."""

    released: list[str]
    memories: list[str] = []
    dry_run: bool = False
    schema: str = "hindsight.release/1"


class DropResult(Document, kw_only=True):
    """hindsight.drop/1: what will never be kept."""

    dropped: list[str]
    dry_run: bool = False
    schema: str = "hindsight.drop/1"


class SkippedLine(Document, kw_only=True):
    """A line that could not be used."""

    line: int
    reason: str


class IngestedFile(Document, kw_only=True):
    """What became of one transcript."""

    path: str
    source: str = ""
    sessions: list[str] = []
    events: int = 0
    skipped: list[SkippedLine] = []
    skipped_total: int = 0
    warnings: list[str] = []
    records: int = 0
    unknown: dict[str, int] = {}
    total_events: int = 0
    error: str = ""
    error_code: str = ""
    hint: str = ""
    size_bytes: int = 0


class IngestResult(Document, kw_only=True):
    """hindsight.ingest/1

    `read_ms` is how long it took until everything was stored and searchable, before learning.
    """

    files: list[IngestedFile]
    episodes: int
    memories: int
    events: int = 0
    turns: int = 0
    refused: int = 0
    memory_ids: list[str] = []
    took_ms: float = 0.0
    read_ms: float = 0.0
    warnings: list[Notice] = []
    dry_run: bool = False
    schema: str = "hindsight.ingest/1"


class CostDay(Document, kw_only=True):
    """What a language model cost on one UTC day for one purpose: distil, verify, try or check."""

    day: str
    purpose: str
    model: str
    calls: int
    failures: int
    tokens_in: int
    tokens_out: int


class CostView(Document, kw_only=True):
    """What the language model cost lately, and what is left of today's budget."""

    tokens_per_day: int
    tokens_left: int
    days: list[CostDay] = []


class JudgeResult(Document, kw_only=True):
    """hindsight.judge/1: the language model that is asked, if one is.

    `where` is the host or command that prompts go to, `is_local` whether they surely stay on this
    machine. `problem` says why the settings do not work, `trouble` how the last call failed,
    `paused_s` for how long it is left alone. `waiting` tasks will be shown to it, `held` ones
    failed too often.
    """

    provider: str
    model: str
    where: str
    is_local: bool
    distils: bool
    tokens_per_day: int
    tokens_left: int
    waiting: int
    held: int
    problem: str = ""
    trouble: str = ""
    paused_s: float = 0.0
    schema: str = "hindsight.judge/1"


class JudgeTryResult(Document, kw_only=True):
    """hindsight.judge-try/1: what the language model is asked about a task, and its answer.

    `system` and `prompt` are sent as they stand here; `rules` is what was found without it,
    `answer` what may be used of its answer, `problems` what may not. Nothing of it is stored.
    """

    session_id: str
    goal: str
    system: str
    prompt: str
    tokens_estimated: int
    where: str = ""
    is_local: bool = True
    model: str = ""
    rules: dict[str, Any] = {}
    answer: dict[str, Any] | None = None
    problems: list[str] = []
    tokens_in: int = 0
    tokens_out: int = 0
    dry_run: bool = False
    schema: str = "hindsight.judge-try/1"


class HookResult(Document, kw_only=True):
    """hindsight.hook/1: what the hook is to print for its agent, empty for nothing."""

    output: str
    moment: str = ""
    recall_id: str = ""
    schema: str = "hindsight.hook/1"


class HttpResult(Document, kw_only=True):
    """hindsight.http/1: where MCP is served over HTTP, and the file with its bearer token."""

    url: str
    sse_url: str
    port: int
    token_file: str
    schema: str = "hindsight.http/1"


class StatsResult(Document, kw_only=True):
    """hindsight.stats/1"""

    memories: dict[str, dict[str, int]]
    episodes: int
    events: int
    sources: list[dict[str, Any]]
    store: dict[str, Any]
    daemon: dict[str, Any]
    embedder: dict[str, Any]
    retention: dict[str, int] = {}
    sessions: int = 0
    tombstones: int = 0
    held: int = 0
    cost: CostView | None = None
    schema: str = "hindsight.stats/1"


class StatusResult(Document, kw_only=True):
    """hindsight.status/1"""

    pid: int
    state: str
    version: str
    socket: str
    instance: str = ""
    protocol: int = 1
    uptime_s: float = 0.0
    rss_bytes: int = 0
    store_uri: str = ""
    embedder: str = ""
    embedder_loaded: bool = False
    judge: str = ""
    pending_vectors: int = 0
    pending_fold: int = 0
    managed_by: str = "self"
    log: str = ""
    watching: list[str] = []
    warnings: list[Notice] = []
    schema: str = "hindsight.status/1"


class Check(Document, kw_only=True):
    """One finding of `doctor`: status is ok, warning or problem."""

    name: str
    status: str
    message: str
    hint: str = ""


class SourceReport(Document, kw_only=True):
    """What the transcripts of one source below one root came to so far.

    `state` is ok, unread, silent (they give no events) or drift (many recent records are of
    unknown type). `skipped` maps reasons to files, `skipped_lines` reasons to single records.
    """

    root: str
    source: str
    state: str
    why: str = ""
    found: int = 0
    read: int = 0
    empty: int = 0
    skipped: dict[str, int] = {}
    records: int = 0
    events: int = 0
    size_bytes: int = 0
    bytes_read: int = 0
    skipped_lines: dict[str, int] = {}
    unknown: dict[str, int] = {}
    read_at: str = ""


class DoctorResult(Document, kw_only=True):
    """hindsight.doctor/1"""

    checks: list[Check]
    sources: list[SourceReport] = []
    names: list[str] = []
    schema: str = "hindsight.doctor/1"


class ModelView(Document, kw_only=True):
    """One embedder or reranker of the registry."""

    name: str
    role: str
    dimension: int = 0
    languages: list[str] = []
    available: bool = False
    active: bool = False
    where: str = ""
    licence: str = ""
    hint: str = ""


class ModelListResult(Document, kw_only=True):
    """hindsight.model/1"""

    models: list[ModelView]
    schema: str = "hindsight.model/1"


class Ack(Document, kw_only=True):
    """hindsight.ack/1: done, with a word about it."""

    message: str = ""
    schema: str = "hindsight.ack/1"


class ErrorDocument(Document, kw_only=True):
    """hindsight.error/1"""

    code: str
    message: str
    hint: str
    retryable: bool
    detail: dict[str, Any] = field(default_factory=dict)
    schema: str = "hindsight.error/1"
