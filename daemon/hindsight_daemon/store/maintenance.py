"""When to compact, index and prune: statistics in, chores with their reasons out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from hindsight_daemon.model import Record

INDEX_FROM_ROWS = 1_000
VECTOR_INDEX_FROM_ROWS = 2_000
FRAGMENTS_BUSY = 24
ROWS_PER_FRAGMENT = 1_000
FRAGMENTS_IDLE = 10
FRAGMENTS_LARGE = 200
FRAGMENTS_OVERDUE = 50
LARGE_ROWS = 100_000
LARGE_PAUSE_S = 600.0
IDLE_S = 60.0
UNINDEXED_LIMIT = 5_000
UNINDEXED_SHARE = 0.2
RETRAIN_FACTOR = 2
FAILURES_BEFORE_REBUILD = 3
KEEP_VERSIONS = timedelta(hours=1)
KEEP_VERSIONS_WASTEFUL = timedelta(minutes=2)
WASTE_FACTOR = 2
WASTE_SLACK_BYTES = 48 * 1024 * 1024


class TableHealth(Record, frozen=True, kw_only=True):
    """What the policy looks at, for one table.

    `wanted` are its columns that carry an index once there are enough rows, `indexed` those that
    do; `unindexed_rows` is the worst of them. `vectors` and `trained` count per vector column the
    rows with a vector, and those there were when its index was last built. `folds` counts commits
    since the last compaction; `has_leftovers` says that it could not drop versions as young as
    those commits were.
    """

    table: str
    rows: int
    fragments: int
    folds: int = 0
    wanted: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    unindexed_rows: int = 0
    vectors: dict[str, int] = {}
    trained: dict[str, int] = {}
    live_bytes: int = 0
    disk_bytes: int = 0
    since_compaction_s: float = 0.0
    has_leftovers: bool = False
    failures: int = 0


class Chore(Record, frozen=True, kw_only=True):
    """One thing to do to a table, and why."""

    table: str
    do: Literal["index", "rebuild", "compact"]
    why: str
    column: str = ""
    keep_versions_for: timedelta = KEEP_VERSIONS


def decide(tables: Sequence[TableHealth], *, idle_s: float, force: bool = False) -> list[Chore]:
    """Return what to do now; compaction of a table comes before its new indices."""
    chores: list[Chore] = []
    for health in tables:
        if health.failures >= FAILURES_BEFORE_REBUILD:
            chores.extend(_rebuilds(health))
        if why := _why_compact(health, idle_s=idle_s, force=force):
            keep = KEEP_VERSIONS_WASTEFUL if is_wasteful(health) else KEEP_VERSIONS
            chores.append(Chore(table=health.table, do="compact", why=why, keep_versions_for=keep))
        chores.extend(_missing_indices(health))
        chores.extend(_vector_indices(health))
    return chores


def busy_limit(rows: int) -> int:
    """Return how many fragments are too many even in the midst of writes.

    Searches slow down with each fragment, a compaction rewrites the table: so the more rows, the
    more fragments are borne.
    """
    return min(FRAGMENTS_LARGE, max(FRAGMENTS_BUSY, rows // ROWS_PER_FRAGMENT))


def is_wasteful(health: TableHealth) -> bool:
    """Tell whether old versions take so much room that they must go early."""
    return health.disk_bytes > WASTE_FACTOR * health.live_bytes + WASTE_SLACK_BYTES


def _why_compact(health: TableHealth, *, idle_s: float, force: bool) -> str:
    if force and (health.fragments > 1 or health.unindexed_rows or health.folds):
        return "asked for"
    is_large = health.rows > LARGE_ROWS
    if is_large and health.since_compaction_s < LARGE_PAUSE_S:
        # Each compaction may rewrite the whole table, so a large one waits for more.
        full = health.fragments >= FRAGMENTS_LARGE
        return f"{health.fragments} fragments" if full else ""
    if health.fragments >= (FRAGMENTS_OVERDUE if is_large else busy_limit(health.rows)):
        return f"{health.fragments} fragments"
    if health.folds and idle_s >= IDLE_S and health.fragments >= FRAGMENTS_IDLE:
        return f"idle with {health.fragments} fragments"
    if health.unindexed_rows >= max(UNINDEXED_LIMIT, UNINDEXED_SHARE * health.rows):
        return f"{health.unindexed_rows} rows not indexed"
    if (
        (health.folds or health.has_leftovers)
        and is_wasteful(health)
        and health.since_compaction_s > KEEP_VERSIONS_WASTEFUL.total_seconds()
    ):
        return f"{health.disk_bytes} bytes on disk for {health.live_bytes}"
    return ""


def _missing_indices(health: TableHealth) -> list[Chore]:
    if health.rows < INDEX_FROM_ROWS:
        return []
    return [
        Chore(table=health.table, do="index", column=column, why=f"{health.rows} rows")
        for column in health.wanted
        if column not in health.indexed
    ]


def _vector_indices(health: TableHealth) -> list[Chore]:
    chores: list[Chore] = []
    for column, rows in health.vectors.items():
        trained = health.trained.get(column, 0)
        if column not in health.indexed:
            if rows >= VECTOR_INDEX_FROM_ROWS:
                why = f"{rows} vectors"
                chores.append(Chore(table=health.table, do="index", column=column, why=why))
        elif rows >= RETRAIN_FACTOR * max(trained, 1):
            why = f"{rows} vectors, trained on {trained}"
            chores.append(Chore(table=health.table, do="index", column=column, why=why))
    return chores


def _rebuilds(health: TableHealth) -> list[Chore]:
    why = f"compaction failed {health.failures} times"
    return [
        Chore(table=health.table, do="rebuild", column=column, why=why) for column in health.indexed
    ]
