"""A small command tree with every feature the reference generator has to cope with."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)
tools = typer.Typer(help="Tools `of` the trade.", rich_markup_mode=None)
app.add_typer(tools, name="tools")


@app.callback()
def root() -> None:
    """A sample."""


@app.command(
    epilog="""\b
Examples:
  hindsight paint --hue red 'it''s'
  .hidden \\back
"""
)
def paint(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="What to paint.")],
    hue: Annotated[
        Literal["red", "green"], typer.Option("--hue", "-u", help="Which; `-1` is none.")
    ] = "red",
    layer: Annotated[
        list[str] | None, typer.Option("--layer", metavar="base|top", help="May be repeated.")
    ] = None,
    file: Annotated[str, typer.Option("--file", metavar="FILE", help="[To] write: it's.")] = "",
    secret: Annotated[str, typer.Option("--secret", hidden=True)] = "",
) -> None:
    """Paint things.

    .dots and 'quotes' at the start, a back\\slash, and 中文.
    """


@tools.command("mend-all")
def mend_all(
    folder: Annotated[str, typer.Argument(metavar="FOLDER")] = "",
    force: Annotated[bool, typer.Option("--force", help="Do not ask.")] = False,
) -> None:
    """Mend everything."""


@app.command("unseen", hidden=True)
def unseen() -> None:
    """Not to be shown."""


def command() -> Any:
    """Return the root command object."""
    return typer.main.get_command(app)
