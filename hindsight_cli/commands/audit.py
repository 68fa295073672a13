"""`hindsight audit …`: what waits for a person's decision."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import typer

from hindsight_cli.caller import agent_behind
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.stdin import ids_or_stdin
from hindsight_cli.wording import count, moment
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.errors import PermissionProblem, UsageProblem
from hindsight_daemon.protocol.conflict_documents import ConflictsResult
from hindsight_daemon.protocol.documents import HeldView, MemoryView, QuarantineResult

EXIT_DECLINED = 1
_HEADINGS = ("ID", "SINCE", "WHAT", "FROM", "REASON", "TEXT")

app = command_app(help="Look through what waits for your decision.")

HeldIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID…|-", help="Ids or unique prefixes; `-` reads them from stdin."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the history.")]


def lines_of(result: QuarantineResult, out: Output) -> list[str]:
    """Return the table of what is held."""
    rows = [
        [one.id, moment(one.since, out), one.what, one.trust, _reason(one), one.text]
        for one in result.held
    ]
    return out.table(_HEADINGS, rows)


def _reason(held: HeldView) -> str:
    return held.reason if held.state == "held" else f"{held.state}: {held.reason}"


def run_list(context: AppContext, *, limit: int, decided: bool) -> int:
    """Ask and print."""
    with context.reading() as client:
        result = client.quarantine(limit=limit, decided=decided)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    if not out.is_json:
        if not result.held:
            out.say("nothing waits for you")
        elif result.total > len(result.held):
            out.note(f"{result.total - len(result.held)} more: a larger `--limit` shows them")
    return 0


@app.command(
    "quarantine",
    epilog="""\b
Examples:
  hindsight audit quarantine
  hindsight audit quarantine --json | jq -r '.held[] | "\\(.id) \\(.reason)"'
""",
)
def quarantine(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="At most so many.")
    ] = 100,
    decided: Annotated[
        bool, typer.Option("--all", help="Also what was released or dropped.")
    ] = False,
) -> int:
    """List what was held back because it seems to steer agents.

    Nothing of it is recalled or shown to an agent. Release what is right, drop the rest.
    """
    return run_list(app_context(ctx), limit=limit, decided=decided)


def _check_person(what: str) -> None:
    if agent := agent_behind(os.environ):
        raise PermissionProblem(
            f"{agent} runs this command, and only a person may {what}",
            hint="run it in a terminal of your own",
        )


def run_release(context: AppContext, ids: tuple[str, ...], reason: str, *, dry_run: bool) -> int:
    """Let in what the ids name and tell; raises `PermissionProblem` for an agent."""
    if not dry_run:
        _check_person("release what was held")
    params: dict[str, Any] = {"reason": reason, "dry_run": dry_run}
    params["request_key"] = new_id(SystemClock().now())
    with context.writing() as client:
        result = client.release(ids, **params)
    verb = "would release" if dry_run else "released"
    context.output.result(result, lambda: [f"{verb} {one}" for one in result.released])
    return 0


@app.command(
    "release",
    epilog="""\b
Examples:
  hindsight audit release 019c1f0e
  hindsight audit release 019c1f0e --reason "our own deploy note"
""",
)
def release(
    ctx: typer.Context, ids: HeldIds = None, reason: Reason = "", dry_run: DryRun = False
) -> int:
    """Let held things in.

    They become memories with the mark `released`, and the same statement passes from now on.
    Refused in the shell of a coding agent: only a person may do it.
    """
    wanted = ids_or_stdin(ids or [], "`hindsight audit release ID…`")
    return run_release(app_context(ctx), wanted, reason, dry_run=dry_run)


def run_drop(
    context: AppContext, ids: tuple[str, ...], reason: str, *, dry_run: bool, yes: bool
) -> int:
    """Ask if need be, remove what the ids name and tell."""
    out = context.output
    if not dry_run and not yes:
        if not out.can_ask:
            raise UsageProblem(
                "nobody is here to confirm", hint="add `--yes`, or look first with `--dry-run`"
            )
        if not out.confirm(f"Drop {count(len(ids), 'held thing')} for good?"):
            out.say("nothing was dropped")
            return EXIT_DECLINED
    params: dict[str, Any] = {"reason": reason, "dry_run": dry_run}
    params["request_key"] = new_id(SystemClock().now())
    with context.writing() as client:
        result = client.drop(ids, **params)
    verb = "would drop" if dry_run else "dropped"
    out.result(result, lambda: [f"{verb} {one}" for one in result.dropped])
    return 0


@app.command(
    "drop",
    epilog="""\b
Examples:
  hindsight audit drop 019c1f0e --yes
  hindsight audit quarantine --json | jq -r '.held[].id' | hindsight audit drop - --dry-run
""",
)
def drop(
    ctx: typer.Context,
    ids: HeldIds = None,
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")
    ] = False,
) -> int:
    """Refuse held things for good.

    Their text is removed; what says the same is refused from now on without being held again.
    """
    wanted = ids_or_stdin(ids or [], "`hindsight audit drop ID…`")
    return run_drop(app_context(ctx), wanted, reason, dry_run=dry_run, yes=yes)


def conflict_lines(result: ConflictsResult, out: Output) -> list[str]:
    """Return each pair with both texts and why they exclude each other."""
    lines: list[str] = []
    for one in result.conflicts:
        for side, view in (("newer", one.newer), ("older", one.older)):
            lines.append(out.style(_side(side, view, out), "bold"))
            lines += out.wrapped(view.text, "  ")
        lines += [*out.wrapped(one.reason, "  "), ""]
    return lines[:-1]


def _side(side: str, view: MemoryView, out: Output) -> str:
    parts = (side, view.short_id, moment(view.created_at, out), view.trust, view.kind)
    return " · ".join(part for part in parts if part)


def run_conflicts(context: AppContext, *, limit: int) -> int:
    """Ask and print."""
    with context.reading() as client:
        result = client.conflicts(limit=limit)
    out = context.output
    out.result(result, lambda: conflict_lines(result, out))
    if not out.is_json:
        if not result.conflicts:
            out.say("nothing contradicts anything else")
        elif result.total > len(result.conflicts):
            out.note(f"{result.total - len(result.conflicts)} more: a larger `--limit` shows them")
    return 0


def run_resolve(
    context: AppContext, ids: tuple[str, ...], decision: str, reason: str, *, dry_run: bool
) -> int:
    """Carry out the decision and tell; raises `PermissionProblem` for an agent."""
    if not dry_run:
        _check_person("decide a conflict")
    params: dict[str, Any] = {"reason": reason, "dry_run": dry_run}
    params["request_key"] = new_id(SystemClock().now())
    with context.writing() as client:
        result = client.resolve(ids, decision, **params)
    verb = "would be replaced" if dry_run else "replaced"
    kept = [one for one in result.resolved if one not in result.superseded]
    context.output.result(
        result,
        lambda: [f"{one} kept" for one in kept] + [f"{one} {verb}" for one in result.superseded],
    )
    return 0


@app.command(
    "conflicts",
    epilog="""\b
Examples:
  hindsight audit conflicts
  hindsight audit conflicts --json | jq -r '.conflicts[] | "\\(.newer.id) \\(.reason)"'
""",
)
def conflicts(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="At most so many.")
    ] = 100,
) -> int:
    """List memories that say otherwise than each other.

    Newer statements replace older ones by themselves. What waits here is what only you can say:
    key facts (identity, permissions, credentials, destructive actions) and the word of a weaker
    source against yours. Until you decide with `hindsight audit resolve` both are recalled.
    """
    return run_conflicts(app_context(ctx), limit=limit)


@app.command(
    "resolve",
    epilog="""\b
Examples:
  hindsight audit resolve keep-new 019c1f0e
  hindsight audit resolve keep-both 019c1f0e --reason "one is for CI only"
""",
)
def resolve(
    ctx: typer.Context,
    decision: Annotated[
        Literal["keep-new", "keep-old", "keep-both"],
        typer.Argument(help="Whether the newer holds, the older, or both do."),
    ],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…|-", help="Either side; `-` reads ids from stdin."),
    ] = None,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> int:
    """Decide between memories that say otherwise than each other.

    The one that does not hold is replaced by the other: it stays, linked, out of recall. Refused
    in the shell of a coding agent: only a person may do it.
    """
    wanted = ids_or_stdin(ids or [], "`hindsight audit resolve keep-new ID…`")
    return run_resolve(app_context(ctx), wanted, decision, reason, dry_run=dry_run)
