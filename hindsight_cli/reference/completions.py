"""Completion scripts for bash, zsh and fish, static but for the ids of memories.

Pressing TAB starts no interpreter for commands, options and fixed words; ids are asked of a running
daemon through `hindsight __ids PREFIX`, which is silent on any trouble.
"""

from __future__ import annotations

from collections.abc import Callable

from hindsight_cli.reference.completion_bash import bash_script
from hindsight_cli.reference.completion_fish import fish_script
from hindsight_cli.reference.completion_zsh import zsh_script
from hindsight_cli.reference.tree import Command

SCRIPTS: dict[str, Callable[[Command], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
FILES: dict[str, str] = {"bash": "hindsight.bash", "zsh": "_hindsight", "fish": "hindsight.fish"}
"""Names of the scripts in `completions/`."""

PLACES: dict[str, str] = {
    "bash": "bash-completion/completions/hindsight",
    "zsh": "zsh/site-functions/_hindsight",
    "fish": "fish/vendor_completions.d/hindsight.fish",
}
"""Where each shell looks, below the data folder of a user or a system."""


def scripts(root: Command) -> dict[str, str]:
    """Return every script by its name in `completions/`."""
    return {FILES[shell]: make(root) for shell, make in SCRIPTS.items()}
