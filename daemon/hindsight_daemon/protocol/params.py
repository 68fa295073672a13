"""The parameters of every method.

Public. Unknown fields are ignored on receive, so that a newer client can talk to this daemon.
"""

from __future__ import annotations

from typing import Any

from hindsight_daemon.protocol.document import Document


class NoParams(Document, kw_only=True):
    """For methods that need nothing."""


class RecallParams(Document, kw_only=True):
    """`project` is a name or path; `cwd` lets the daemon find the project when none is named.

    `profile` is auto, facts, conversation or continuity; empty: the setting `recall.profile`.
    """

    query: str
    limit: int = 10
    budget_tokens: int | None = None
    project: str = ""
    all_projects: bool = False
    cwd: str = ""
    layers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    task_type: str = ""
    agent_role: str = ""
    session_id: str = ""
    since: str = ""
    until: str = ""
    include: tuple[str, ...] = ()
    rerank: str = "auto"
    explain: bool = False
    with_context: bool = False
    profile: str = ""


class RememberParams(Document, kw_only=True):
    """`ttl_s` is the time to live in seconds; `request_key` makes a resend harmless.

    `trust` says whose word it is: user, agent, tool, imported or external. The gate lets a person
    state what nobody else may.
    """

    text: str
    kind: str = "fact"
    project: str = ""
    cwd: str = ""
    scope: str = "shared"
    importance: str = "medium"
    ttl_s: int | None = None
    pin: bool = False
    tags: tuple[str, ...] = ()
    session_id: str = ""
    external_id: str = ""
    occurred_at: str = ""
    trust: str = "user"
    request_key: str = ""


class ShowParams(Document, kw_only=True):
    """`id` may be a unique prefix; `with_spans` opens the transcripts behind the memory."""

    id: str
    with_history: bool = False
    with_spans: bool = False


class SearchParams(Document, kw_only=True):
    """Literal text in any case.

    `tool` is a tool's name or category, `session_id` may be the beginning of one, `context` is
    how many events to return before and after each hit.
    """

    text: str
    limit: int = 20
    context: int = 0
    project: str = ""
    all_projects: bool = False
    cwd: str = ""
    agent: str = ""
    roles: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tool: str = ""
    session_id: str = ""
    since: str = ""
    until: str = ""


class ListParams(Document, kw_only=True):
    """Newest first; `before` pages on from the `next` of the former answer."""

    limit: int = 20
    before: str = ""
    project: str = ""
    all_projects: bool = False
    cwd: str = ""
    layers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    session_id: str = ""
    since: str = ""
    until: str = ""
    tombstones: bool = False


class ConsolidateParams(Document, kw_only=True):
    """`project` is a name or path, empty for all; without `wait` the run goes on by itself."""

    project: str = ""
    cwd: str = ""
    wait: bool = False
    dry_run: bool = False
    request_key: str = ""


class ReindexParams(Document, kw_only=True):
    """`from_events` also derives memories anew, `vectors` embeds every key anew."""

    from_events: bool = False
    vectors: bool = False
    dry_run: bool = False
    request_key: str = ""


class WorkingParams(Document, kw_only=True):
    """`session_id` may be the beginning of one; without it, the live sessions of the project."""

    session_id: str = ""
    project: str = ""
    all_projects: bool = False
    cwd: str = ""


class WhyParams(Document, kw_only=True):
    """`id` may be a unique prefix, or the id of a recall."""

    id: str


class ForgetParams(Document, kw_only=True):
    """`ids` may be unique prefixes."""

    ids: tuple[str, ...]
    reason: str = ""
    dry_run: bool = False
    request_key: str = ""


class UnforgetParams(Document, kw_only=True):
    """`ids` of tombstones, or of the memories they stand for, may be unique prefixes."""

    ids: tuple[str, ...]
    reason: str = ""
    dry_run: bool = False
    request_key: str = ""


class QuarantineParams(Document, kw_only=True):
    """`decided` also lists what was released or dropped."""

    limit: int = 100
    decided: bool = False


class HeldParams(Document, kw_only=True):
    """`ids` of held things may be unique prefixes."""

    ids: tuple[str, ...]
    reason: str = ""
    dry_run: bool = False
    request_key: str = ""


class ConflictsParams(Document, kw_only=True):
    """At most `limit` pairs."""

    limit: int = 100


class ResolveParams(Document, kw_only=True):
    """`decision` is keep-new, keep-old or keep-both; `ids` of either side, unique prefixes do."""

    ids: tuple[str, ...]
    decision: str
    reason: str = ""
    dry_run: bool = False
    request_key: str = ""


class IngestParams(Document, kw_only=True):
    """Absolute paths of files or folders.

    `label` is the name to record in place of the path (piped input); `final` false means that
    more bytes will follow, so tasks at the end are not closed yet. `wait` also waits for vectors.
    `since` leaves out transcripts that have not changed from that time on.
    """

    paths: tuple[str, ...]
    source: str = ""
    project: str = ""
    cwd: str = ""
    session_id: str = ""
    label: str = ""
    final: bool = True
    wait: bool = False
    since: str = ""
    dry_run: bool = False
    request_key: str = ""


class StatsParams(Document, kw_only=True):
    """`cost` adds what the language model cost in the last 30 days."""

    cost: bool = False


class JudgeTryParams(Document, kw_only=True):
    """`session_id` may be the beginning of one; empty takes the newest session.

    Its last task is shown to the language model; with `dry_run` only told what would be sent.
    """

    session_id: str = ""
    dry_run: bool = False


class SyncParams(Document, kw_only=True):
    """Wait until everything known now is folded and, with `vectors`, embedded."""

    vectors: bool = True
    timeout_s: float = 600.0


class ShutdownParams(Document, kw_only=True):
    """`when` is `now` or `idle`."""

    when: str = "now"


class ModelParams(Document, kw_only=True):
    """`name` of a model in the registry."""

    name: str
    allow_download: bool = False


class McpParams(Document, kw_only=True):
    """Turn the connection into an MCP session.

    `cwd` is the folder of the agent, `connection` a name that a relay keeps when it connects anew.
    """

    cwd: str = ""
    connection: str = ""


class HookParams(Document, kw_only=True):
    """An agent's hook: its event and the JSON it was called with; `cwd` where it runs.

    `answer_by` is the Unix time in seconds after which nobody reads the answer; 0: any time.
    """

    event: str = ""
    agent: str = ""
    payload: dict[str, Any] = {}
    cwd: str = ""
    answer_by: float = 0.0
    request_key: str = ""


class GivenParams(Document, kw_only=True):
    """The recall whose memories an agent has been given."""

    recall_id: str
    request_key: str = ""


class HttpParams(Document, kw_only=True):
    """`port` None takes the configured one, 0 any free one."""

    port: int | None = None


class SessionParams(Document, kw_only=True):
    """`session_id` may be the beginning of one."""

    session_id: str


class SummarizeParams(Document, kw_only=True):
    """`session_id` may be the beginning of one; `request_key` makes a resend harmless."""

    session_id: str
    request_key: str = ""


class CancelParams(Document, kw_only=True):
    """`request` is the id of the call to give up."""

    request: int | str


class Progress(Document, kw_only=True):
    """Body of the `progress` notification; `total` is 0 while it is unknown.

    `item` is the number of the part that is worked on, such as a file, of `items`.
    """

    request: int | str | None
    stage: str
    done: int
    total: int = 0
    detail: str = ""
    item: int = 0
    items: int = 0
