"""`hindsight search`: literal text in what the agents' transcripts hold."""

from __future__ import annotations

import re
from typing import Annotated, get_args

import typer
from msgspec import Struct, structs

from hindsight_cli import when
from hindsight_cli.choices import AllProjects, Project, Since, Until, each_of
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output, clip, plain
from hindsight_cli.stdin import text_or_stdin
from hindsight_cli.wording import exact
from hindsight_daemon.model import EventKind, Role
from hindsight_daemon.protocol.documents import EventView, SearchHit, SearchResult

ROLES: tuple[str, ...] = get_args(Role)
KINDS: tuple[str, ...] = get_args(EventKind)
_SPEAKER_WIDTH = 10

app = command_app()


class Options(Struct):
    """The command line of a search; field names are those of the method."""

    text: str
    limit: int = 20
    context: int = 0
    project: str = ""
    all_projects: bool = False
    agent: str = ""
    roles: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tool: str = ""
    session_id: str = ""
    since: str = ""
    until: str = ""


def lines_of(result: SearchResult, out: Output) -> list[str]:
    """Return every hit with its place, its lines, and what was said around it."""
    lines: list[str] = []
    for hit in result.hits:
        lines += [*_hit_lines(hit, result.text, out), ""]
    return lines[:-1]


def _hit_lines(hit: SearchHit, text: str, out: Output) -> list[str]:
    event = hit.event
    place = f"{event.transcript}:{event.line}" if event.line else event.transcript
    head = [event.agent, event.session_id, exact(event.at), place]
    lines = [out.style(plain(" · ".join(part for part in head if part)), "bold")]
    lines += [_neighbour(other, out) for other in hit.before]
    for number, one in enumerate(hit.lines):
        indent = " " * (_SPEAKER_WIDTH + 4)
        first, *rest = out.wrapped(plain(one.text), indent)
        label = _speaker(event) if number == 0 else ""
        lines.append(f"> {label:<{_SPEAKER_WIDTH}}  {_marked(first[len(indent) :], text, out)}")
        lines += [indent + _marked(line[len(indent) :], text, out) for line in rest]
    lines += [_neighbour(other, out) for other in hit.after]
    return lines


def _speaker(event: EventView) -> str:
    return clip(plain(event.tool or event.role), _SPEAKER_WIDTH)


def _neighbour(event: EventView, out: Output) -> str:
    room = max(20, out.width - _SPEAKER_WIDTH - 4) if out.width else 0
    line = f"  {_speaker(event):<{_SPEAKER_WIDTH}}  {clip(plain(event.text), room)}"
    return out.style(line.rstrip(), "dim")


def _marked(line: str, text: str, out: Output) -> str:
    wanted = re.escape(plain(text))
    return re.sub(wanted, lambda found: out.style(found.group(), "bold", "green"), line, flags=re.I)


def run(options: Options, context: AppContext) -> int:
    """Ask and print."""
    now = when.local_now()
    params = structs.asdict(options)
    params["since"] = when.as_param(options.since, now)
    params["until"] = when.as_param(options.until, now, "end")
    with context.reading() as client, context.output.working("searching …"):
        result = client.search(**params, cwd=context.cwd)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    if not out.is_json:
        if not result.hits:
            out.say("nothing says so")
        for notice in result.warnings:
            out.note(notice.message)
        if result.has_more:
            out.note("there is more: a larger `--limit`, or `--until` with the last time shown")
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight search "lock wait timeout"
  hindsight search --tool shell --context 2 "git rebase"
  hindsight search --role user --since 30d 数据库
"""
)
def search(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|-", help="What to look for; `-` reads it from stdin."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="At most so many.")] = 20,
    around: Annotated[
        int,
        typer.Option("--context", "-C", metavar="N", help="Also so many events before and after."),
    ] = 0,
    project: Project = "",
    all_projects: AllProjects = False,
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Only of this agent: `claude-code`, …")
    ] = "",
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            metavar="|".join(ROLES),
            callback=each_of(ROLES),
            help="Only what came from there; may be repeated.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            "-k",
            metavar="|".join(KINDS),
            callback=each_of(KINDS),
            help="Only this kind of event; may be repeated.",
        ),
    ] = None,
    tool: Annotated[
        str,
        typer.Option(
            "--tool",
            metavar="NAME",
            help="Only calls and results of a tool, or of a class of them.",
        ),
    ] = "",
    session: Annotated[
        str,
        typer.Option("--session", metavar="ID", help="Only of sessions whose id begins like this."),
    ] = "",
    since: Since = "",
    until: Until = "",
) -> int:
    """Search transcripts for a text.

    Finds the text as it stands, in any case, in what was said and in what tools were given and
    returned; newest first. Works on the copies that were kept, so also when an agent has deleted
    its transcript. Classes of tools are shell, edit, read, search, web, task, mcp and other.
    """
    options = Options(
        text=text_or_stdin(text or [], "text", "`hindsight search TEXT`"),
        limit=limit,
        context=around,
        project=project,
        all_projects=all_projects,
        agent=agent,
        roles=tuple(role or ()),
        kinds=tuple(kind or ()),
        tool=tool,
        session_id=session,
        since=since,
        until=until,
    )
    return run(options, app_context(ctx))
