"""`hindsight __ids PREFIX` (hidden): memory ids for completion scripts, see `complete_ids`."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli.complete_ids import lines_of, newest
from hindsight_cli.context import app_context, command_app

app = command_app()


@app.command()
def complete_ids(
    ctx: typer.Context, prefix: Annotated[str, typer.Argument(metavar="PREFIX")] = ""
) -> int:
    """Print ids of memories with a word about each, for completion scripts."""
    app_context(ctx).output.lines(lines_of(newest(), prefix))
    return 0
