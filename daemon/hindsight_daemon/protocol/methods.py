"""The method table: name, parameters, result and manners of every call.

Public. Dispatch, client, documentation and fuzz tests are all driven by `METHODS`; a new verb
is one row here and one body in `service`.
"""

from __future__ import annotations

from msgspec import Struct

from hindsight_daemon.protocol.conflict_documents import ConflictsResult, ResolveResult
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import (
    Ack,
    DoctorResult,
    DropResult,
    ForgetResult,
    HookResult,
    HttpResult,
    IngestResult,
    JudgeResult,
    JudgeTryResult,
    ListResult,
    MemoryDocument,
    ModelListResult,
    QuarantineResult,
    RecallResult,
    ReleaseResult,
    RememberResult,
    SearchResult,
    StatsResult,
    StatusResult,
    UnforgetResult,
    WhyResult,
)
from hindsight_daemon.protocol.handshake import HelloParams, HelloResult
from hindsight_daemon.protocol.params import (
    CancelParams,
    ConflictsParams,
    ConsolidateParams,
    ForgetParams,
    GivenParams,
    HeldParams,
    HookParams,
    HttpParams,
    IngestParams,
    JudgeTryParams,
    ListParams,
    McpParams,
    ModelParams,
    NoParams,
    QuarantineParams,
    RecallParams,
    ReindexParams,
    RememberParams,
    ResolveParams,
    SearchParams,
    SessionParams,
    ShowParams,
    ShutdownParams,
    StatsParams,
    SummarizeParams,
    SyncParams,
    UnforgetParams,
    WhyParams,
    WorkingParams,
)
from hindsight_daemon.protocol.session_documents import SessionDocument, SummarizeResult
from hindsight_daemon.protocol.upkeep_documents import (
    ConsolidateResult,
    ReindexResult,
    WorkingResult,
)


class Method(Struct, frozen=True):
    """One callable method.

    `is_write` methods change the store, are refused read-only and take a `request_key`;
    `needs_store` methods answer `daemon.starting` until the store is open; a `is_stream` method
    sends notifications until its caller cancels it or goes, and keeps no daemon from stopping.
    """

    name: str
    params: type[Document]
    result: type[Document]
    summary: str
    is_write: bool = False
    needs_store: bool = True
    is_stream: bool = False
    since: int = 1


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("hello", HelloParams, HelloResult, "open a connection", needs_store=False),
        Method("mcp.open", McpParams, Ack, "speak MCP from here on", is_stream=True),
        Method("mcp.serve_http", HttpParams, HttpResult, "serve MCP over HTTP on loopback"),
        Method("cancel", CancelParams, Ack, "give up a running call", needs_store=False),
        Method("daemon.status", NoParams, StatusResult, "how the daemon is", needs_store=False),
        Method("daemon.shutdown", ShutdownParams, Ack, "stop the daemon", needs_store=False),
        Method("daemon.sync", SyncParams, Ack, "wait for background work"),
        Method("memory.recall", RecallParams, RecallResult, "ranked memories for a query"),
        Method("memory.remember", RememberParams, RememberResult, "keep a memory", is_write=True),
        Method("memory.show", ShowParams, MemoryDocument, "one memory, whole"),
        Method("memory.list", ListParams, ListResult, "memories or tombstones, newest first"),
        Method("memory.why", WhyParams, WhyResult, "where a memory comes from"),
        Method(
            "memory.consolidate",
            ConsolidateParams,
            ConsolidateResult,
            "close tasks, generalise lessons",
            is_write=True,
        ),
        Method("store.reindex", ReindexParams, ReindexResult, "derive anew", is_write=True),
        Method("memory.working", WorkingParams, WorkingResult, "live state of sessions"),
        Method("memory.forget", ForgetParams, ForgetResult, "remove and keep out", is_write=True),
        Method("memory.unforget", UnforgetParams, UnforgetResult, "lift tombstones", is_write=True),
        Method("audit.quarantine", QuarantineParams, QuarantineResult, "what waits for a person"),
        Method("audit.release", HeldParams, ReleaseResult, "let in what was held", is_write=True),
        Method("audit.drop", HeldParams, DropResult, "refuse what was held", is_write=True),
        Method("hook.run", HookParams, HookResult, "answer an agent's hook", is_write=True),
        Method("hook.given", GivenParams, Ack, "the agent has got the answer", is_write=True),
        Method("session.show", SessionParams, SessionDocument, "one session and its memories"),
        Method(
            "session.summarize",
            SummarizeParams,
            SummarizeResult,
            "make episodes of a session now",
            is_write=True,
        ),
        Method("audit.conflicts", ConflictsParams, ConflictsResult, "what contradicts what"),
        Method("audit.resolve", ResolveParams, ResolveResult, "decide a conflict", is_write=True),
        Method("event.search", SearchParams, SearchResult, "events that hold a text"),
        Method("events.subscribe", NoParams, Ack, "notify of what happens", is_stream=True),
        Method("ingest.run", IngestParams, IngestResult, "read transcripts", is_write=True),
        Method("ingest.sources", NoParams, DoctorResult, "what each source's transcripts gave"),
        Method("store.stats", StatsParams, StatsResult, "counts and sizes"),
        Method("store.check", NoParams, DoctorResult, "scan the store for damage"),
        Method("judge.show", NoParams, JudgeResult, "the language model, its queue and budget"),
        Method("judge.try", JudgeTryParams, JudgeTryResult, "ask it about a task, store nothing"),
        Method("judge.check", NoParams, DoctorResult, "ask it whether it answers"),
        Method("model.list", NoParams, ModelListResult, "models there are", needs_store=False),
        Method("model.install", ModelParams, Ack, "make a model usable", needs_store=False),
    )
}
