"""`hindsight working`: what the sessions that run now are at."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct, structs

from hindsight_cli.choices import AllProjects, Project
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output, plain
from hindsight_cli.wording import count, exact, project_name
from hindsight_daemon.protocol.upkeep_documents import WorkingEntry, WorkingResult, WorkingSession

_SHOWN_STEPS = 12

app = command_app()


class Options(Struct):
    """The command line; field names are those of the method."""

    session_id: str = ""
    project: str = ""
    all_projects: bool = False


def lines_of(result: WorkingResult, out: Output) -> list[str]:
    """Return the live sessions for reading: goal, what is open, what was done."""
    lines: list[str] = []
    for session in result.sessions:
        lines += [*_session_lines(session, result.capacity, out), ""]
    return lines[:-1]


def _session_lines(session: WorkingSession, capacity: int, out: Output) -> list[str]:
    head = [session.agent, session.session_id, project_name(session.project)]
    lines = [out.style(plain(" · ".join(part for part in head if part)), "bold")]
    why = ", ".join(session.importance_reasons)
    lines += out.pairs(
        [
            ("goal", session.goal or "not said yet"),
            ("importance", f"{session.importance}{f' ({why})' if why else ''}"),
            ("turns", str(session.turns)),
            ("changed", exact(session.updated_at)),
            ("expires", exact(session.expires_at)),
            ("holds", f"{session.entries} of {count(capacity, 'entry', 'entries')}"),
        ]
    )
    steps = session.steps[-_SHOWN_STEPS:]
    earlier = len(session.steps) - len(steps)
    for title, entries in (
        ("keep in mind", session.notes),
        ("open failures", session.open_failures),
        (f"steps ({earlier} earlier ones not shown)" if earlier else "steps", steps),
        ("recent results", session.recent_results),
    ):
        if entries:
            lines += ["", out.style(title, "bold"), *_entry_lines(entries, out)]
    return lines


def _entry_lines(entries: list[WorkingEntry], out: Output) -> list[str]:
    return [line for entry in entries for line in out.wrapped(plain(entry.text), "  ")]


def run(options: Options, context: AppContext) -> int:
    """Ask and print."""
    with context.reading() as client:
        result = client.working(**structs.asdict(options), cwd=context.cwd)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    if not result.sessions and not out.is_json:
        out.say("no session is at work")
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight working
  hindsight working 5e551000
  hindsight working --all-projects --json | jq '.sessions[].open_failures'
"""
)
def working(
    ctx: typer.Context,
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="The session, or the beginning of its id.")
    ] = "",
    project: Project = "",
    all_projects: AllProjects = False,
) -> int:
    """Show what running sessions are at.

    The live state of a session is its goal, the steps so far, failures that were not seen to pass
    since, recent results, and what the user asked to keep in mind. It is no memory yet: recall
    does not return it. When the task ends it is consolidated into an episode and leaves this
    layer; otherwise it expires (`working.ttl_s`).
    """
    options = Options(session_id=session, project=project, all_projects=all_projects)
    return run(options, app_context(ctx))
