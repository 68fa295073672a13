"""`hindsight completion …`: tab completion for the shell."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from hindsight_cli import filing
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import InstallDocument, TextDocument
from hindsight_cli.reference.completions import FILES, PLACES, SCRIPTS
from hindsight_daemon.errors import UsageProblem

Shell = Literal["bash", "zsh", "fish"]

app = command_app(help="Tab completion for bash, zsh and fish.")


def script_for(shell: str) -> str:
    """Return the completion script of a shell, made from the command tree."""
    from hindsight_cli.app import root_command
    from hindsight_cli.reference.tree import read_tree

    return SCRIPTS[shell](read_tree(root_command()))


def shell_in_use(env: Mapping[str, str]) -> str:
    """Return the login shell's name; raises `UsageProblem` if we have no script for it."""
    name = Path(env.get("SHELL", "")).name
    if name not in SCRIPTS:
        raise UsageProblem(
            f"no completion for the shell `{name}`" if name else "the shell is not known",
            hint=f"name one: `hindsight completion install {'|'.join(SCRIPTS)}`",
        )
    return name


def data_home(env: Mapping[str, str]) -> Path:
    """Return the user's XDG data folder."""
    value = env.get("XDG_DATA_HOME", "")
    return Path(value) if value.startswith("/") else Path.home() / ".local" / "share"


@app.command("show")
def show(
    ctx: typer.Context,
    shell: Annotated[Shell, typer.Argument(help="The shell.")],
) -> int:
    """Print the completion script."""
    out = app_context(ctx).output
    text = script_for(shell)
    document = TextDocument(name=FILES[shell], text=text)
    out.result(document, lambda: text.splitlines())
    return 0


def install_script(context: AppContext, shell: str, *, dry_run: bool) -> int:
    """Put the script where the shell looks, and say what else is needed."""
    path = data_home(os.environ) / PLACES[shell]
    file = filing.install_file(path, script_for(shell), dry_run=dry_run)
    commands = []
    if shell == "zsh":
        commands = [f"fpath=({path.parent} $fpath)  # in ~/.zshrc, before compinit"]
    document = InstallDocument(files=[file], dry_run=dry_run, commands=commands)
    out = context.output
    out.result(document, lambda: [f"{file.state} {file.path}"])
    if not out.is_json:
        for command in commands:
            out.note(f"zsh needs this folder: `{command}`")
        if shell == "bash":
            out.note("new shells use it if the package bash-completion is installed")
    return 0


@app.command("install")
def install(
    ctx: typer.Context,
    shell: Annotated[
        Shell | None, typer.Argument(help="The shell (default: your login shell).")
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Put the completion script where your shell looks for it."""
    return install_script(app_context(ctx), shell or shell_in_use(os.environ), dry_run=dry_run)
