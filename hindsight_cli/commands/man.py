"""`hindsight man …`: install or show the man pages, made from the command tree on the spot."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from hindsight_cli import filing
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import InstallDocument, TextDocument
from hindsight_cli.reference.man import pages
from hindsight_cli.reference.places import data_folder
from hindsight_cli.reference.tree import Command, read_tree
from hindsight_daemon.errors import NoInput

app = command_app(help="Install the man pages, or show one.")


def install_pages(
    root: Command, context: AppContext, env: Mapping[str, str], *, dry_run: bool
) -> int:
    """Write all pages below the data folder of the user; say how `man` finds them."""
    folder = data_folder(env) / "man"
    files = [
        filing.install_file(folder / name, text, dry_run=dry_run)
        for name, text in pages(root).items()
    ]
    commands = [] if _is_searched(folder, env) else [f'export MANPATH="{folder}:$MANPATH"']
    document = InstallDocument(files=files, dry_run=dry_run, commands=commands)
    out = context.output
    out.result(document, lambda: [f"{file.state} {file.path}" for file in files])
    if not out.is_json and commands:
        out.say("`man` does not look there yet; add to the start-up file of your shell:")
        for command in commands:
            out.say(f"  {command}")
    return 0


def _is_searched(folder: Path, env: Mapping[str, str]) -> bool:
    # man-db and macOS derive `X/share/man` from `X/bin` in PATH; MANPATH names folders itself.
    named = [Path(one) for one in env.get("MANPATH", "").split(":") if one]
    derived = [Path(one).parent / "share/man" for one in env.get("PATH", "").split(":") if one]
    return folder in named or folder in derived


def find_page(root: Command, name: str) -> tuple[str, str]:
    """Return file name and text of a page; `recall` and `hindsight-recall.1` mean the same."""
    found = {path.rpartition("/")[2]: text for path, text in pages(root).items()}
    for file, text in found.items():
        title = file.rpartition(".")[0]
        if name in (file, title, title.removeprefix("hindsight-")):
            return file, text
    raise NoInput(f"there is no man page `{name}`", hint=f"there are: {', '.join(sorted(found))}")


def show_page(root: Command, name: str, context: AppContext) -> int:
    """Hand a page to `man` on a terminal; print its source elsewhere."""
    file, text = find_page(root, name)
    out = context.output
    program = shutil.which("man")
    if out.is_json or not out.is_terminal or program is None:
        document = TextDocument(name=file, text=text)
        out.result(document, lambda: text.splitlines())
        return 0
    with tempfile.TemporaryDirectory(prefix="hindsight-man-") as folder:
        # A path with a slash is a file to `man`, whichever implementation it is.
        path = Path(folder) / file
        path.write_text(text, encoding="utf-8")
        return subprocess.run([program, str(path)], check=False).returncode


@app.command(
    epilog="""\b
Examples:
  hindsight man install
  hindsight man install --dry-run
"""
)
def install(ctx: typer.Context, dry_run: DryRun = False) -> int:
    """Write the man pages where `man` finds them.

    They go to `~/.local/share/man`, or below `$XDG_DATA_HOME`. Pages that are up to date stay
    as they are.
    """
    root = read_tree(ctx.find_root().command)
    return install_pages(root, app_context(ctx), os.environ, dry_run=dry_run)


@app.command(
    epilog="""\b
Examples:
  hindsight man show recall
  hindsight man show hindsight-config.5 | man -l -
"""
)
def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A command or a page, as `recall` or `config.5`.")
    ] = "hindsight",
) -> int:
    """Show one man page, without installing it.

    On a terminal it is handed to `man`; in a pipe its source is printed.
    """
    return show_page(read_tree(ctx.find_root().command), name, app_context(ctx))
