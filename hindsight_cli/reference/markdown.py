"""The README's command table."""

from __future__ import annotations

from hindsight_cli.reference.parts import PROGRAM
from hindsight_cli.reference.tree import Command
from hindsight_daemon.errors import BadInput

BEGIN = "<!-- begin command table -->"
END = "<!-- end command table -->"


def command_table(root: Command) -> str:
    """Return a Markdown table of the commands; groups list what is below them."""
    rows = ["| command | what it does |", "|---|---|"]
    for command in root.commands:
        names = "\\|".join(child.name for child in command.commands)
        typed = f"{PROGRAM} {command.name}{' ' + names if names else ''}"
        rows.append(f"| `{typed}` | {command.summary} |")
    return "\n".join(rows) + "\n"


def with_table(text: str, root: Command) -> str:
    """Return `text` with the table between its markers replaced; `BadInput` without markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadInput(f"the README lacks `{BEGIN}` or `{END}`")
    return f"{before}{BEGIN}\n{command_table(root)}{END}{after}"
