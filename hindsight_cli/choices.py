"""Option types that several commands share, with their help texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from hindsight_daemon.model import LAYERS, MEMORY_KINDS


def each_of(allowed: tuple[str, ...]) -> Callable[[list[str] | None], list[str] | None]:
    """Return a callback that checks every value of a repeatable option.

    Typer takes a `Literal` for one value but not for a list of them. The words of such an option
    stand in its metavar, from where help, man pages and completions take them.
    """

    def check(values: list[str] | None) -> list[str] | None:
        for value in values or ():
            if value not in allowed:
                raise typer.BadParameter(f"`{value}` is none of {', '.join(allowed)}")
        return values

    return check


Project = Annotated[
    str,
    typer.Option(
        "--project",
        "-p",
        metavar="NAME|PATH",
        help="Only this project (default: the repository around the current folder).",
    ),
]
AllProjects = Annotated[
    bool, typer.Option("--all-projects", help="Do not keep to the project of this folder.")
]
Layers = Annotated[
    list[str] | None,
    typer.Option(
        "--layer",
        metavar="|".join(LAYERS),
        callback=each_of(LAYERS),
        help="Only this layer; may be repeated.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        "-k",
        metavar="|".join(MEMORY_KINDS),
        callback=each_of(MEMORY_KINDS),
        help="Only this kind of memory; may be repeated.",
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since", metavar="WHEN", help="Not older: `7d`, `2h`, `yesterday`, `2026-03-09`."
    ),
]
Until = Annotated[
    str, typer.Option("--until", metavar="WHEN", help="Not newer; a day is included whole.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
