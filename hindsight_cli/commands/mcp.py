"""`hindsight mcp`: the MCP server for agents, on standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli.context import command_app
from hindsight_cli.relay import relay
from hindsight_daemon.launch import check_platform

app = command_app()


@app.command()
def mcp(
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="NAME", help="Who reads and writes; else the client's own name."
        ),
    ] = "",
) -> int:
    """Serve MCP on standard input and output, for an agent to run.

    A thin relay to the daemon, which it starts if need be and finds again after a restart. Put
    `hindsight mcp --agent NAME` into the agent's MCP configuration, or let `hindsight setup` do
    it. `hindsight daemon --http` serves the same over HTTP.
    """
    check_platform()
    return relay(agent)
