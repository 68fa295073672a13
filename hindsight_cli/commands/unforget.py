"""`hindsight unforget`: lift tombstones."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.later import keep_for_later
from hindsight_cli.stdin import ids_or_stdin
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.errors import DaemonUnavailable
from hindsight_daemon.protocol.documents import UnforgetResult

_USAGE = "`hindsight unforget ID…`"

app = command_app()


def run(context: AppContext, ids: tuple[str, ...], reason: str, *, dry_run: bool) -> int:
    """Lift what the ids name and tell."""
    params: dict[str, Any] = {"ids": ids, "reason": reason, "dry_run": dry_run}
    params["request_key"] = new_id(SystemClock().now())
    out = context.output
    try:
        with context.writing() as client:
            result = client.unforget(**params)
    except DaemonUnavailable as exc:
        if dry_run:
            raise
        out.note(keep_for_later(context, exc, "memory.unforget", params).message)
        result = UnforgetResult(lifted=list(ids))
    verb = "would lift" if dry_run else "lifted"
    out.result(result, lambda: [f"{verb} {one}" for one in result.lifted])
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight list --tombstones
  hindsight unforget 019c1f0e --reason "the port is 8080 again"
"""
)
def unforget(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…|-",
            help="Ids of tombstones or of forgotten memories; `-` reads them from stdin.",
        ),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the history.")
    ] = "",
    dry_run: DryRun = False,
) -> int:
    """Let what was forgotten be learned again.

    Lifts tombstones. The memories themselves do not come back; what they said may be stated,
    learned and imported again.
    """
    wanted = ids_or_stdin(ids or [], _USAGE)
    return run(app_context(ctx), wanted, reason, dry_run=dry_run)
