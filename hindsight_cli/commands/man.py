"""`hindsight man …`: the man pages, made from the command tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from hindsight_cli import filing
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import InstallDocument, TextDocument
from hindsight_daemon.errors import NoInput

app = command_app(help="The man pages.")


def all_pages() -> dict[str, str]:
    """Return every page as roff text by its place below a man folder."""
    from hindsight_cli.app import root_command
    from hindsight_cli.reference.man import pages
    from hindsight_cli.reference.tree import read_tree

    return pages(read_tree(root_command()))


def find_page(pages: dict[str, str], topic: str) -> str:
    """Return the place of the page for a command or topic; raises `NoInput`."""
    names = {Path(place).stem: place for place in pages}
    for name in (topic, f"hindsight-{topic}"):
        if name in names:
            return names[name]
    known = ", ".join(sorted(name.removeprefix("hindsight-") for name in names))
    raise NoInput(f"there is no page `{topic}`", hint=f"pages: {known}")


def _in_pager(text: str, name: str) -> bool:
    if shutil.which("man") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="hindsight-man-") as folder:
        file = Path(folder) / name
        file.write_text(text, encoding="utf-8")
        # An argument with a slash is a file for every man there is.
        return subprocess.run(["man", str(file)], check=False).returncode == 0


@app.command(
    "show",
    epilog="""\b
Examples:
  hindsight man show recall
  hindsight man show config
""",
)
def show(
    ctx: typer.Context,
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="A command, or config, protocol, glossary.")
    ] = "hindsight",
) -> int:
    """Show a page; in a pipe, its roff source."""
    out = app_context(ctx).output
    pages = all_pages()
    place = find_page(pages, page)
    document = TextDocument(name=place, text=pages[place])
    if out.is_json or not out.is_terminal or not _in_pager(pages[place], Path(place).name):
        out.result(document, lambda: pages[place].splitlines())
    return 0


def install_pages(context: AppContext, *, dry_run: bool) -> int:
    """Write the pages below the user's man folder."""
    value = os.environ.get("XDG_DATA_HOME", "")
    share = Path(value) if value.startswith("/") else Path.home() / ".local" / "share"
    folder = share / "man"
    files = [
        filing.install_file(folder / place, text, dry_run=dry_run)
        for place, text in all_pages().items()
    ]
    commands = [] if _is_searched(folder) else [f'export MANPATH="{folder}:$MANPATH"']
    document = InstallDocument(files=files, dry_run=dry_run, commands=commands)
    out = context.output
    out.result(document, lambda: [f"{file.state} {file.path}" for file in files])
    if not out.is_json:
        for command in commands:
            out.note(f"if `man hindsight` finds nothing: `{command}`")
    return 0


def _is_searched(folder: Path) -> bool:
    # man looks into `../share/man` of every folder on PATH, and where MANPATH says.
    places = os.environ.get("MANPATH", "").split(os.pathsep)
    on_path = os.environ.get("PATH", "").split(os.pathsep)
    places += [str(Path(one).parent / "share" / "man") for one in on_path if one]
    return str(folder) in places


@app.command("install")
def install(ctx: typer.Context, dry_run: DryRun = False) -> int:
    """Put the man pages where `man` looks for them."""
    return install_pages(app_context(ctx), dry_run=dry_run)
