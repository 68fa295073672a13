"""`hindsight __ids PREFIX` (hidden): memory ids for completion scripts.

Never starts a daemon, waits at most a moment, and stays silent whatever happens: a failing
completion must not disturb a command line that is being typed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import clip, plain
from hindsight_daemon.client import Client
from hindsight_daemon.errors import HindsightError

_TIMEOUT_S = 0.2
_MOST = 50
_SUMMARY_COLUMNS = 60

app = command_app()


def candidates(context: AppContext, prefix: str) -> list[str]:
    """Return lines of id, tab, summary for the newest memories whose id begins so."""
    try:
        with Client(
            paths=context.paths, timeout_s=_TIMEOUT_S, autostart=False, client_name="complete"
        ) as client:
            found = client.list(limit=_MOST, all_projects=True).memories
    except (HindsightError, OSError):
        return []
    lines = []
    for memory in found:
        name = memory["id"] if len(prefix) > len(memory["short_id"]) else memory["short_id"]
        if name.startswith(prefix):
            lines.append(f"{name}\t{clip(plain(memory['text']), _SUMMARY_COLUMNS)}")
    return lines


@app.command()
def complete_ids(
    ctx: typer.Context, prefix: Annotated[str, typer.Argument(metavar="PREFIX")] = ""
) -> int:
    """Print ids of memories with a word about each, for completion scripts."""
    context = app_context(ctx)
    context.output.lines(candidates(context, prefix))
    return 0
