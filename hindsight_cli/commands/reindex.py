"""`hindsight reindex`: make what is derived anew."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct, structs

from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import count
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.protocol.upkeep_documents import ReindexResult

app = command_app()


class Options(Struct):
    """The command line; field names are those of the method."""

    from_events: bool = False
    vectors: bool = False
    dry_run: bool = False


def lines_of(result: ReindexResult, options: Options, out: Output) -> list[str]:
    """Return what was made anew, and for a plan each memory with its reason."""
    would = "would give" if result.dry_run else "gave"
    lines = [
        f"{would} {count(result.rekeyed, 'memory', 'memories')} of {result.memories} other keys"
    ]
    if options.from_events:
        lines.append(
            f"from the events of {count(result.sessions, 'session')}: {result.added} added,"
            f" {result.changed} changed, {result.removed} removed, {result.turns} turns added,"
            f" {result.kept_out} kept out"
        )
        if result.sessions_kept:
            lines.append(
                f"{count(result.sessions_kept, 'session')} left alone, whose events were let go"
            )
        if result.generalised:
            lines.append(f"{result.generalised} generalised")
    if result.dry_run:
        lines += [f"{step.action} {step.id}: {step.reason}" for step in result.steps]
    return [line for one in lines for line in out.wrapped(one)]


def run(options: Options, context: AppContext) -> int:
    """Ask, wait, print."""
    out = context.output
    params = structs.asdict(options)
    if not options.dry_run:
        params["request_key"] = new_id(SystemClock().now())
    with context.writing() as client, out.progress("reindexing") as advance:
        result = client.reindex(on_progress=advance, **params)
    out.result(result, lambda: lines_of(result, options, out))
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight reindex
  hindsight reindex --from-events --dry-run
"""
)
def reindex(
    ctx: typer.Context,
    from_events: Annotated[
        bool,
        typer.Option(
            "--from-events", help="Also derive episodes, lessons and turns from the kept events."
        ),
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Also embed every key anew; takes long.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Make derived data anew.

    The keys under which memories are found are made of the memories again; unchanged ones keep
    their vectors. With `--from-events` the memories themselves are derived again from the kept
    events, under the ids they had: what is missing comes back, what the rules of this version word
    otherwise changes. What was stated with `remember`, pins, standings and history stay, and what
    was forgotten stays gone.
    """
    return run(Options(from_events=from_events, vectors=vectors, dry_run=dry_run), app_context(ctx))
