"""The table of commands: name, module and place in `--help`. Imports nothing."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """A command at top level; `module` lies in `hindsight_cli.commands`."""

    module: str
    section: str


DAILY = "Memory"
LOOK = "Insight"
AGENTS = "Agents"
ADMIN = "Set-up"

VERBS: dict[str, Verb] = {
    "recall": Verb("recall", DAILY),
    "ingest": Verb("ingest", DAILY),
    "remember": Verb("remember", DAILY),
    "show": Verb("show", DAILY),
    "list": Verb("list", DAILY),
    "search": Verb("search", DAILY),
    "why": Verb("why", DAILY),
    "working": Verb("working", DAILY),
    "forget": Verb("forget", DAILY),
    "unforget": Verb("unforget", DAILY),
    "watch": Verb("watch", LOOK),
    "consolidate": Verb("consolidate", LOOK),
    "stats": Verb("stats", LOOK),
    "doctor": Verb("doctor", LOOK),
    "reindex": Verb("reindex", LOOK),
    "audit": Verb("audit", LOOK),
    "demo": Verb("demo", LOOK),
    "mcp": Verb("mcp", AGENTS),
    "hook": Verb("hook", AGENTS),
    "config": Verb("config", ADMIN),
    "daemon": Verb("daemon", ADMIN),
    "model": Verb("model", ADMIN),
    "judge": Verb("judge", ADMIN),
    "completion": Verb("completion", ADMIN),
    "man": Verb("man", ADMIN),
}

HIDDEN: dict[str, str] = {
    "ls": "list",
}
"""Names that work but are not shown."""
