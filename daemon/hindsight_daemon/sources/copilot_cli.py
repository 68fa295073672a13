"""Copilot CLI sessions: where they are and how they are told; reading is `copilot_parser`'s."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.sources.copilot_parser import AGENT, WORKSPACE, CopilotParser
from hindsight_daemon.sources.fields import string
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

_PREFIXES = ("session.", "user.", "assistant.", "tool.", "subagent.", "hook.", "system.")


def _weigh(record: dict[str, Any]) -> float:
    kind = string(record.get("type"))
    if not isinstance(record.get("data"), dict) or "id" not in record:
        return 0
    return float(kind.startswith(_PREFIXES) or kind in ("abort", "skill.invoked"))


class CopilotCli:
    """The Copilot CLI family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records in the envelope of session events."""
        return line_share(head, path, _weigh, hint="/.copilot/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `session-state` below `$COPILOT_HOME` or `~/.copilot`."""
        base = Path(env["COPILOT_HOME"]) if env.get("COPILOT_HOME") else home / ".copilot"
        return [base / "session-state"]

    def matches(self, path: Path) -> bool:
        """Accept event logs, the older ones named after their session too."""
        if path.suffix != ".jsonl":
            return False
        return path.name == "events.jsonl" or path.parent.name == "session-state"

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the description of the session."""
        return (path.with_name(WORKSPACE),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return CopilotParser(context)


SOURCE = CopilotCli()
