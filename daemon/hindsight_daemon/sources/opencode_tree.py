"""OpenCode before 1.2: `~/.local/share/opencode/storage/{session,message,part}/`, small JSON files.

A session's own file is the transcript; its messages and parts have the ids they have in the later
database, so that sessions which were moved there are not told twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hindsight_daemon.sources.json_text import decode_object
from hindsight_daemon.sources.opencode import OpenCode
from hindsight_daemon.sources.opencode_parser import AGENT

_KEYS = frozenset(("id", "projectID", "directory", "time"))


class OpenCodeTree(OpenCode):
    """The OpenCode family, in its older files."""

    name = f"{AGENT}-tree"
    container: Literal["database", "tree"] = "tree"
    is_shallow = False

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - keys say it all
        """Accept a session's own file."""
        if not head.lstrip().startswith("{"):
            return 0.0
        try:
            found = decode_object(head)
        except ValueError:
            return 0.0
        return 0.95 if found.keys() >= _KEYS and "role" not in found else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folder of the sessions' own files."""
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local/share"
        return [data / AGENT / "storage/session"]

    def matches(self, path: Path) -> bool:
        """Accept `session/<project>/ses_….json`."""
        is_own = path.suffix == ".json" and path.name.startswith("ses_")
        return is_own and path.parent.parent.name == "session"


SOURCE = OpenCodeTree()
