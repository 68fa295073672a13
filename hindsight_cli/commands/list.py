"""`hindsight list`: memories or tombstones, newest first."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from msgspec import Struct, structs

from hindsight_cli import when
from hindsight_cli.choices import (
    AllProjects,
    Kinds,
    Layers,
    Project,
    Since,
    Until,
    each_of,
)
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import MEMORY_HEADINGS, memory_rows, moment
from hindsight_daemon.errors import UsageProblem
from hindsight_daemon.model import STATUSES
from hindsight_daemon.protocol.documents import ListResult

_ID = re.compile(r"[0-9a-f][0-9a-f-]{0,35}")

app = command_app()


class Options(Struct):
    """The command line of a list; field names are those of the method."""

    limit: int = 20
    before: str = ""
    project: str = ""
    all_projects: bool = False
    layers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    session_id: str = ""
    since: str = ""
    until: str = ""
    tombstones: bool = False


def lines_of(result: ListResult, out: Output) -> list[str]:
    """Return the table of what was found."""
    if result.tombstones:
        rows = [
            [str(one["id"]), moment(str(one["since"]), out), str(one["text"])]
            for one in result.tombstones
        ]
        return out.table(("ID", "FORGOTTEN", "TEXT"), rows)
    return out.table(MEMORY_HEADINGS, memory_rows(result.memories, out))


def run(options: Options, context: AppContext) -> int:
    """Ask and print."""
    if options.before and not _ID.fullmatch(options.before):
        raise UsageProblem(
            f"`{options.before}` is no id", hint="`--before` takes an id of `hindsight list`"
        )
    now = when.local_now()
    params = structs.asdict(options)
    params["since"] = when.as_param(options.since, now)
    params["until"] = when.as_param(options.until, now, "end")
    with context.reading() as client:
        result = client.list(**params, cwd=context.cwd)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    if not out.is_json:
        if not result.memories and not result.tombstones:
            out.say("nothing here yet")
        if result.next:
            out.note(f"there is more: `--before {result.next}` or a larger `--limit`")
    return 0


@app.command(
    name="list",
    epilog="""\b
Examples:
  hindsight list --kind lesson --kind preference --all-projects
  hindsight list --since yesterday --json | jq -r '.memories[].text'
  hindsight list --tombstones
""",
)
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="At most so many.")] = 20,
    before: Annotated[
        str, typer.Option("--before", metavar="ID", help="Go on from this id, towards the past.")
    ] = "",
    project: Project = "",
    all_projects: AllProjects = False,
    layer: Layers = None,
    kind: Kinds = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="|".join(STATUSES),
            callback=each_of(STATUSES),
            help="Only this standing; may be repeated.",
        ),
    ] = None,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Only of this agent session.")
    ] = "",
    since: Since = "",
    until: Until = "",
    tombstones: Annotated[
        bool, typer.Option("--tombstones", help="What was forgotten, instead of memories.")
    ] = False,
) -> int:
    """List memories, newest first.

    On a terminal the text is cut to fit; in a pipe every field is whole and on one line.
    """
    options = Options(
        limit=limit,
        before=before,
        project=project,
        all_projects=all_projects,
        layers=tuple(layer or ()),
        kinds=tuple(kind or ()),
        statuses=tuple(status or ()),
        session_id=session,
        since=since,
        until=until,
        tombstones=tombstones,
    )
    return run(options, app_context(ctx))
