"""`hindsight consolidate`: distil what is over and generalise what recurs, now."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct, structs

from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output, plain
from hindsight_cli.wording import count, project_name
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.protocol.upkeep_documents import ConsolidateResult, ConsolidateStep

app = command_app()


class Options(Struct):
    """The command line; field names are those of the method."""

    project: str = ""
    wait: bool = False
    dry_run: bool = False


def line_of(result: ConsolidateResult) -> str:
    """Return what a run did in one line."""
    if result.state == "started":
        return "consolidation started"
    would = "would consolidate" if result.dry_run else "consolidated"
    sessions = count(result.sessions, "session")
    parts = [
        f"{would} {sessions}"
        + ("" if result.dry_run else f" into {count(result.episodes, 'episode')}"),
        f"{result.generalised} generalised",
        f"{result.updated} updated",
        *(f"{number} {what}" for what, number in _rare(result) if number),
    ]
    return ", ".join(parts)


def _rare(result: ConsolidateResult) -> list[tuple[str, int]]:
    return [
        ("retired", result.retired),
        ("refused", result.refused),
        ("failed", result.failed),
        ("set aside", result.held),
        ("left for the next run", result.remaining),
    ]


def lines_of(result: ConsolidateResult, out: Output) -> list[str]:
    """Return one line, and for a plan each step with its reason."""
    lines = [line_of(result)]
    if result.dry_run:
        lines += [line for step in result.steps for line in _step_lines(step, out)]
    return lines


def _step_lines(step: ConsolidateStep, out: Output) -> list[str]:
    head = [step.action, step.session_id or step.memory, project_name(step.project)]
    lines = ["", out.style(plain(" · ".join(part for part in head if part)), "bold")]
    lines += out.wrapped(plain(step.reason), "  ")
    if step.text:
        lines += out.wrapped(plain(step.text), "  ")
    if step.ids:
        lines += out.wrapped(f"from {', '.join(step.ids)}", "  ")
    return lines


def run(options: Options, context: AppContext) -> int:
    """Ask, wait if told to, print."""
    out = context.output
    params = {**structs.asdict(options), "cwd": context.cwd}
    if not options.dry_run:
        params["request_key"] = new_id(SystemClock().now())
    with context.writing() as client, out.progress("consolidating") as advance:
        result = client.consolidate(on_progress=advance, **params)
    out.result(result, lambda: lines_of(result, out))
    if result.held and not out.is_json:
        out.note("`hindsight audit quarantine` shows what was set aside")
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight consolidate --dry-run
  hindsight consolidate --wait --project shop
"""
)
def consolidate(
    ctx: typer.Context,
    project: Annotated[
        str,
        typer.Option(
            "--project", "-p", metavar="NAME|PATH", help="Only this project (default: all)."
        ),
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when it is done, and say what was done.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Distil sessions that are over and generalise lessons that recur.

    The daemon does this by itself: when a task ends, every half hour, and when the working memory
    of a session is nearly full. Lessons of two episodes or more that say the same become one
    memory that names them as its supports; nothing is deleted. A run has a budget
    (`consolidate.max_items`, `consolidate.max_s`), and the next one goes on where it stopped. What
    fails three times is set aside. While another run is under way the exit code is 75.
    """
    return run(Options(project=project, wait=wait, dry_run=dry_run), app_context(ctx))
