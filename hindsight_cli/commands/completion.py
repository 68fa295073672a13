"""`hindsight completion …`: install or show the completion script of a shell."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

import typer

from hindsight_cli import filing
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import InstallDocument, TextDocument
from hindsight_cli.reference.completions import FILES, PLACES, SCRIPTS
from hindsight_cli.reference.places import data_folder
from hindsight_cli.reference.tree import Command, read_tree
from hindsight_daemon.errors import UsageProblem

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

app = command_app(help="Install tab completion for your shell, or show the script.")


def shell_of(env: Mapping[str, str]) -> Shell:
    """Return the shell that `SHELL` names; raises `UsageProblem` if it is none of ours."""
    name = env.get("SHELL", "").rpartition("/")[2]
    for shell in SHELLS:
        if shell == name:
            return shell
    said = f"`SHELL` is `{name}`" if name else "`SHELL` is not set"
    raise UsageProblem(
        f"no completion for this shell: {said}", hint="`hindsight completion install bash|zsh|fish`"
    )


def advice(shell: Shell, folder: str) -> list[str]:
    """Return what the person has to do for the shell to find the script."""
    if shell == "zsh":
        return [f"fpath=({folder} $fpath)", "autoload -Uz compinit && compinit"]
    return []


def install_script(
    root: Command, shell: Shell, context: AppContext, env: Mapping[str, str], *, dry_run: bool
) -> int:
    """Write the script below the data folder of the user."""
    path = data_folder(env) / PLACES[shell]
    file = filing.install_file(path, SCRIPTS[shell](root), dry_run=dry_run)
    commands = advice(shell, str(path.parent))
    document = InstallDocument(files=[file], dry_run=dry_run, commands=commands)
    out = context.output
    out.result(document, lambda: [f"{file.state} {file.path}"])
    if not out.is_json:
        if commands:
            out.say("add to your ~/.zshrc, before anything else that calls compinit:")
            for command in commands:
                out.say(f"  {command}")
        elif shell == "bash":
            out.say("new shells have it if the package bash-completion is installed;")
            out.say(f"without that, add to your ~/.bashrc: source {path}")
        else:
            out.say("new shells have it")
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight completion install
  hindsight completion install zsh --dry-run
"""
)
def install(
    ctx: typer.Context,
    shell: Annotated[
        Shell | None,
        typer.Argument(metavar="bash|zsh|fish", help="Whose (default: the shell in `SHELL`)."),
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Write the completion script where the shell finds it.

    It goes below `~/.local/share`, or `$XDG_DATA_HOME`. What else is to be done is told.
    """
    root = read_tree(ctx.find_root().command)
    chosen = shell or shell_of(os.environ)
    return install_script(root, chosen, app_context(ctx), os.environ, dry_run=dry_run)


@app.command(
    epilog="""\b
Examples:
  source <(hindsight completion show bash)
  hindsight completion show fish > ~/.config/fish/completions/hindsight.fish
"""
)
def show(
    ctx: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Whose script.")],
) -> int:
    """Print the completion script of a shell."""
    text = SCRIPTS[shell](read_tree(ctx.find_root().command))
    document = TextDocument(name=FILES[shell], text=text)
    app_context(ctx).output.result(document, lambda: text.splitlines())
    return 0
