"""`hindsight hook`: what an agent's hooks call; carried out by `hindsight_cli.hook`."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli import hook as hot
from hindsight_cli.context import command_app

app = command_app()


@app.command()
def hook(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="The agent's name for it, such as Stop.")
    ],
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Whose hook it is, such as codex.")
    ] = "",
) -> int:
    """Answer an agent's hook: its JSON on standard input, what it accepts on standard output.

    At the start of a session it prints a brief of the project, at a prompt relevant memories, after
    a failed tool what fixed that before; at the end of a task it has the session read. It takes
    a fifth of a second at most, prints nothing rather than too much, and always exits 0.
    """
    return hot.main([event, *(["--agent", agent] if agent else [])])
