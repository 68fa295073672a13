"""`hindsight stats`: counts, sizes and the state of the daemon."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import count, size, span
from hindsight_daemon.protocol.documents import CostView, StatsResult

app = command_app()


def lines_of(stats: StatsResult, out: Output) -> list[str]:
    """Return the figures, one topic a line."""
    by_kind = stats.memories.get("kind", {})
    lines = out.pairs(
        [
            ("memories", _counts(by_kind) or "none yet"),
            ("layers", _counts(stats.memories.get("layer", {}))),
            ("standing", _counts(stats.memories.get("status", {}))),
            ("episodes", str(stats.episodes)),
            ("events", f"{stats.events} in {count(stats.sessions, 'session')}"),
            ("sources", _sources(stats.sources)),
            ("tombstones", str(stats.tombstones)),
            ("store", _store(stats.store)),
            ("embedder", _embedder(stats.embedder)),
            ("daemon", _daemon(stats.daemon)),
        ]
    )
    if failure := stats.store.get("last_failure"):
        lines += out.pairs([("failure", str(failure))])
    return lines


def cost_lines(cost: CostView, out: Output) -> list[str]:
    """Return what the language model cost by day and purpose, and what is left."""
    headings = ("DAY", "FOR", "MODEL", "CALLS", "FAILED", "TOKENS IN", "OUT")
    rows = [
        [
            one.day,
            one.purpose,
            one.model,
            str(one.calls),
            str(one.failures),
            str(one.tokens_in),
            str(one.tokens_out),
        ]
        for one in reversed(cost.days)
    ]
    left = f"{cost.tokens_left} of {cost.tokens_per_day} tokens are left today (UTC)"
    if not rows:
        return ["no language model was asked in the last 30 days", left]
    return [*out.table(headings, rows), left]


def _counts(numbers: dict[str, int]) -> str:
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number} {name}" for name, number in ordered if number)


def _sources(sources: list[dict[str, Any]]) -> str:
    return ", ".join(f"{one.get('source')} {one.get('transcripts', 0)}" for one in sources)


def _store(store: dict[str, Any]) -> str:
    parts = [
        str(store.get("uri", "")),
        size(float(store.get("bytes", 0))),
        count(int(store.get("fragments", 0)), "fragment"),
        count(int(store.get("versions", 0)), "version"),
    ]
    if pending := store.get("pending"):
        parts.append(f"{pending} waiting for the tables")
    if vectors := store.get("pending_vectors"):
        parts.append(f"{vectors} waiting for vectors")
    return " · ".join(part for part in parts if part)


def _embedder(embedder: dict[str, Any]) -> str:
    model = str(embedder.get("model", "none"))
    if model == "none":
        problem = str(embedder.get("problem", ""))
        return f"none, searching by keywords{': ' + problem if problem else ''}"
    loaded = "loaded" if embedder.get("loaded") else "not loaded"
    return f"{model}, {embedder.get('dimension', 0)} dimensions, {loaded}"


def _daemon(daemon: dict[str, Any]) -> str:
    parts = [
        f"pid {daemon.get('pid', '?')}",
        size(float(daemon.get("rss_bytes", 0))),
        f"up {span(float(daemon.get('uptime_s', 0)))}",
    ]
    return " · ".join(parts + (["read-only"] if daemon.get("read_only") else []))


def run(context: AppContext, *, cost: bool = False) -> int:
    """Ask and print."""
    with context.reading() as client:
        stats = client.stats(cost=cost)
    out = context.output
    if stats.cost is not None:
        view = stats.cost
        out.result(stats, lambda: cost_lines(view, out))
    else:
        out.result(stats, lambda: lines_of(stats, out))
    return 0


@app.command()
def stats(
    ctx: typer.Context,
    cost: Annotated[
        bool, typer.Option("--cost", help="What the language model cost, by day and purpose.")
    ] = False,
) -> int:
    """Show counts, sizes and how the daemon is."""
    return run(app_context(ctx), cost=cost)
