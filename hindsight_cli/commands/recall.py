"""`hindsight recall`: ranked memories for a query."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from msgspec import Struct

from hindsight_cli import batch, when
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
from hindsight_cli.stdin import text_or_stdin
from hindsight_daemon.errors import UsageProblem

Form = Literal["text", "context", "json"]
INCLUDABLE = ("stale", "contradicted", "superseded", "archived")
EXIT_NOTHING = 1

app = command_app()


class Options(Struct):
    """The command line of a recall."""

    query: str
    limit: int = 10
    budget_tokens: int | None = None
    project: str = ""
    all_projects: bool = False
    layers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    task_type: str = ""
    since: str = ""
    until: str = ""
    include: tuple[str, ...] = ()
    rerank: str = "auto"
    profile: str = ""
    form: Form = "text"
    explain: bool = False
    require_match: bool = False


def run(options: Options, context: AppContext) -> int:
    """Ask and print."""
    params = _params(options, context)
    if options.form == "json":
        context.options.json = True
    with context.reading() as client:
        result = client.recall(options.query, **params)
    context.output.recall(result, options.form)
    return EXIT_NOTHING if options.require_match and not result.memories else 0


def _params(options: Options, context: AppContext) -> dict[str, Any]:
    now = when.local_now()
    if options.budget_tokens is not None and options.budget_tokens < 1:
        raise UsageProblem(f"a budget of {options.budget_tokens} tokens holds nothing")
    return {
        "limit": options.limit,
        "budget_tokens": options.budget_tokens,
        "project": options.project,
        "all_projects": options.all_projects,
        "cwd": context.cwd,
        "layers": options.layers,
        "kinds": options.kinds,
        "task_type": options.task_type,
        "since": when.as_param(options.since, now),
        "until": when.as_param(options.until, now, "end"),
        "include": options.include,
        "rerank": options.rerank,
        "profile": options.profile,
        "explain": options.explain,
        "with_context": options.form == "context",
    }


def run_batch(file: str, options: Options, context: AppContext) -> int:
    """Answer every line of a file; exit 65 if some line was no query."""
    params = _params(options, context)
    failed = 0
    with context.reading() as client:
        for document, is_answer in batch.answers(client, batch.lines_of(file), params):
            failed += not is_answer
            context.output.json_line(document)
    if failed:
        context.output.warn(f"{failed} line(s) could not be answered: see their `message`")
    return batch.EXIT_DATA if failed else 0


@app.command(
    epilog="""\b
Examples:
  hindsight recall "why did the migration test hang"
  hindsight recall --kind decision --since 30d 缓存
  hindsight recall --format context "$PROMPT"
  git log -1 --format=%B | hindsight recall -
  hindsight recall --batch queries.jsonl > answers.jsonl
"""
)
def recall(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY|-", help="What to look for; `-` reads it from stdin."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="At most so many memories.")
    ] = 10,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="TOKENS", help="At most so many tokens of text."),
    ] = None,
    project: Project = "",
    all_projects: AllProjects = False,
    layer: Layers = None,
    kind: Kinds = None,
    task_type: Annotated[
        str, typer.Option("--task-type", metavar="T", help="Prefer this type of task.")
    ] = "",
    since: Since = "",
    until: Until = "",
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="|".join(INCLUDABLE),
            callback=each_of(INCLUDABLE),
            help="Also memories of this status; may be repeated.",
        ),
    ] = None,
    rerank: Annotated[
        Literal["auto", "on", "off"],
        typer.Option("--rerank", help="Whether a cross-encoder orders the best again."),
    ] = "auto",
    profile: Annotated[
        Literal["auto", "facts", "conversation", "continuity"] | None,
        typer.Option("--profile", help="What to weigh: as set, facts, talk, or recent work."),
    ] = None,
    form: Annotated[
        Form,
        typer.Option("--format", "-f", help="Text, a fenced block for a prompt, or JSON."),
    ] = "text",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each memory came to its place.")
    ] = False,
    require_match: Annotated[
        bool, typer.Option("--require-match", help="Exit with 1 if nothing is found.")
    ] = False,
    queries: Annotated[
        str,
        typer.Option("--batch", metavar="FILE|-", help="Answer queries in JSON Lines, in order."),
    ] = "",
) -> int:
    """Find memories that answer a query.

    Returns lessons, decisions, preferences, facts and past episodes, best first, each with its
    source and standing. Inside a repository only what holds there is looked at, and everything
    if that yields nothing. `--kind turn` searches what was said.

    `--batch` answers many at once: each line is a query as a JSON string, or an object with
    `query`, an `id` that comes back, and options of its own; each line of output is the JSON
    document of one answer.
    """
    options = Options(
        query="" if queries else text_or_stdin(query or [], "query", "`hindsight recall QUERY`"),
        limit=limit,
        budget_tokens=budget,
        project=project,
        all_projects=all_projects,
        layers=tuple(layer or ()),
        kinds=tuple(kind or ()),
        task_type=task_type,
        since=since,
        until=until,
        include=tuple(include or ()),
        rerank=rerank,
        profile=profile or "",
        form=form,
        explain=explain,
        require_match=require_match,
    )
    if queries and query:
        raise UsageProblem("`--batch` takes its queries from the file, none from the command line")
    if queries:
        return run_batch(queries, options, app_context(ctx))
    return run(options, app_context(ctx))
