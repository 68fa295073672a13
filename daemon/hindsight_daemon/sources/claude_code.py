"""Claude Code transcripts: where they are and how they are told; reading is `claude_parser`'s."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.sources.claude_parser import AGENT, KNOWN_TYPES, ClaudeParser
from hindsight_daemon.sources.json_text import decode_object, head_lines
from hindsight_daemon.sources.port import Parser, TranscriptContext


class ClaudeCode:
    """The Claude Code family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records that have this family's shape."""
        good = bad = 0
        for text in head_lines(head):
            try:
                record = decode_object(text)
            except ValueError:
                continue
            if is_claude_record(record):
                good += 2 if "message" in record or "sessionId" in record else 1
            else:
                bad += 2
        if not good:
            return 0.0
        hint = 0.05 if "/.claude/" in path.replace("\\", "/") else 0.0
        return min(1.0, 0.95 * good / (good + bad) + hint)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `projects` below the configuration folders (a comma list is accepted)."""
        configured = env.get("CLAUDE_CONFIG_DIR", "")
        folders = [Path(part.strip()) for part in configured.split(",") if part.strip()]
        folders = folders or [home / ".claude", home / ".config" / "claude"]
        return [folder / "projects" for folder in folders]

    def matches(self, path: Path) -> bool:
        """Accept session and subagent files, not side files of the same folders."""
        if path.suffix != ".jsonl" or path.name in ("journal.jsonl", "history.jsonl"):
            return False
        return not {"memory", "tool-results"} & set(path.parts[-3:-1])

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return ClaudeParser(context)


def is_claude_record(record: dict[str, Any]) -> bool:
    """Tell whether a record has the envelope of a Claude Code transcript."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in KNOWN_TYPES or "payload" in record:
        return False
    if kind in ("user", "assistant"):
        message = record.get("message")
        return isinstance(message, dict) and "content" in message and "parts" not in message
    if kind in ("tool_use", "tool_result"):
        return "sessionId" in record
    if kind == "system":
        return isinstance(record.get("subtype"), str) and "systemPayload" not in record
    if kind in ("started", "result", "mode", "progress"):
        return "sessionId" in record or "agentId" in record
    return True


SOURCE = ClaudeCode()
