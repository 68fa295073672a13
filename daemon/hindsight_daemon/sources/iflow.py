"""iFlow sessions: `~/.iflow/projects/<folder>/session-<uuid>.jsonl`, in the form of Claude Code.

Told from those of Claude Code by their folder only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hindsight_daemon.model import Event
from hindsight_daemon.sources.claude_code import ClaudeCode
from hindsight_daemon.sources.claude_parser import AGENT as CLAUDE
from hindsight_daemon.sources.claude_parser import ClaudeParser
from hindsight_daemon.sources.port import Parser, RawLine, TranscriptContext

AGENT = "iflow"


class IFlowParser(ClaudeParser):
    """Reads one session."""

    def feed_record(self, line: RawLine, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one decoded record under this agent's name."""
        for event in super().feed_record(line, record):
            own_id = event.id.replace(CLAUDE, AGENT, 1)
            yield msgspec.structs.replace(event, id=own_id, agent=AGENT)


class IFlow(ClaudeCode):
    """The iFlow family."""

    name = AGENT

    def score(self, head: str, path: str) -> float:
        """Rate like Claude Code below iFlow's own folder."""
        return super().score(head, path) if "/.iflow/" in path.replace("\\", "/") else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Return `projects` below `~/.iflow`."""
        return [home / ".iflow" / "projects"]

    def matches(self, path: Path) -> bool:
        """Accept sessions."""
        return path.suffix == ".jsonl" and path.name.startswith("session-")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return IFlowParser(context)


SOURCE = IFlow()
