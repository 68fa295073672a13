"""`hindsight remember`: keep what somebody states."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from msgspec import Struct, structs

from hindsight_cli import when
from hindsight_cli.caller import agent_behind
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.later import keep_for_later
from hindsight_cli.stdin import text_or_stdin
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.errors import DaemonUnavailable, UsageProblem
from hindsight_daemon.model import DISTILLED_KINDS, Importance, Scope
from hindsight_daemon.protocol.documents import RememberResult

EXIT_REFUSED = 1
_SAID = {
    "added": "remembered",
    "merged": "known already, made firmer:",
    "superseded": "remembered, in place of an older memory:",
    "spooled": "kept for the next daemon",
}

app = command_app()


class Options(Struct):
    """The command line of a remember; field names are those of the method."""

    text: str
    kind: str = "fact"
    project: str = ""
    scope: Scope = "shared"
    importance: Importance = "medium"
    ttl_s: int | None = None
    pin: bool = False
    tags: tuple[str, ...] = ()


def run(options: Options, context: AppContext) -> int:
    """Write and tell the outcome."""
    if not options.text.strip():
        raise UsageProblem("there is no text to remember", hint="`hindsight remember TEXT`")
    params: dict[str, Any] = {**structs.asdict(options), "cwd": context.cwd}
    if agent_behind(os.environ):
        params["trust"] = "agent"
    params["request_key"] = new_id(SystemClock().now())
    try:
        with context.writing() as client:
            result = client.remember(**params)
    except DaemonUnavailable as exc:
        notice = keep_for_later(context, exc, "memory.remember", params)
        result = RememberResult(id="", outcome="spooled", warnings=[notice])
    out = context.output
    if not out.is_json:
        for notice in result.warnings:
            out.note(notice.message)
    if result.outcome == "refused":
        if out.is_json:
            out.document(result)
        else:
            hint = "audit quarantine" if "quarantined" in result.reason else "list --tombstones"
            out.error(f"refused: {result.reason}", f"`hindsight {hint}`")
        return EXIT_REFUSED
    out.result(result, lambda: [f"{_SAID.get(result.outcome, result.outcome)} {result.id}".strip()])
    return 0


def _kind(value: str) -> str:
    if value not in DISTILLED_KINDS:
        raise typer.BadParameter(f"`{value}` is none of {', '.join(DISTILLED_KINDS)}")
    return value


@app.command(
    epilog="""\b
Examples:
  hindsight remember "The staging database listens on port 5433"
  hindsight remember 以后提交前先跑测试 --kind preference --importance high
  hindsight remember "CI is frozen until Friday" --ttl 4d
  pbpaste | hindsight remember - --kind decision
"""
)
def remember(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|-", help="What to keep; `-` reads it from stdin."),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            metavar="|".join(DISTILLED_KINDS),
            callback=_kind,
            help="What sort of memory this is.",
        ),
    ] = "fact",
    scope: Annotated[
        Scope, typer.Option("--scope", help="Who may read it: its writer, the project, everyone.")
    ] = "shared",
    importance: Annotated[
        Importance, typer.Option("--importance", help="How much it matters.")
    ] = "medium",
    ttl: Annotated[
        str, typer.Option("--ttl", metavar="TIME", help="Forget by itself after `12h`, `30d`, …")
    ] = "",
    pin: Annotated[bool, typer.Option("--pin", help="Never let it expire or fade.")] = False,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="WORD", help="A label; may be repeated.")
    ] = None,
    project: Annotated[
        str,
        typer.Option(
            "--project",
            "-p",
            metavar="NAME|PATH",
            help="Where it holds (default: the repository around the current folder).",
        ),
    ] = "",
) -> int:
    """Keep a memory that you state yourself.

    Secrets are replaced before anything is stored. What is known already is made firmer rather
    than stored twice; what was forgotten is refused.
    """
    options = Options(
        text=text_or_stdin(text or [], "text", "`hindsight remember TEXT`"),
        kind=kind,
        project=project,
        scope=scope,
        importance=importance,
        ttl_s=when.time_to_live(ttl) if ttl else None,
        pin=pin,
        tags=tuple(tag or ()),
    )
    return run(options, app_context(ctx))
