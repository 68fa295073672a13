"""`hindsight model …`: the embedders and rerankers there are."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_daemon.protocol.documents import ModelListResult

app = command_app(help="See which models there are and make one usable.")


def lines_of(result: ModelListResult, out: Output) -> list[str]:
    """Return one line a model; the active ones are marked."""
    rows = [
        (
            "*" if model.active else "",
            model.name,
            model.role,
            str(model.dimension or ""),
            ",".join(model.languages),
            "ready" if model.available else "absent",
            model.where if model.available else model.hint,
        )
        for model in result.models
    ]
    headings = ("", "NAME", "ROLE", "DIM", "LANGUAGES", "STATE", "WHERE")
    return out.table(headings, rows, is_cut=False)


@app.command("list")
def list_(ctx: typer.Context) -> int:
    """List the models, which can be used now, and how to get the others."""
    context = app_context(ctx)
    with context.reading() as client:
        result = client.models()
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    return 0


def run_install(context: AppContext, name: str, *, allow_download: bool) -> int:
    """Have the daemon install a model."""
    out = context.output
    with context.writing() as client, out.progress("install") as on_progress:
        ack = client.model_install(name, allow_download=allow_download, on_progress=on_progress)
    out.result(ack, lambda: [ack.message])
    return 0


@app.command("install")
def install(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `hindsight model list`.")],
    allow_download: Annotated[
        bool, typer.Option("--download", help="Fetch it from its hub if need be.")
    ] = False,
) -> int:
    """Make a model usable now.

    Converts weights that an installed package carries. Nothing is fetched from the network
    without `--download`.
    """
    return run_install(app_context(ctx), name, allow_download=allow_download)
