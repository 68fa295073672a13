"""Codex rollouts: where they are and how they are told; reading is `codex_parser`'s."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.sources.codex_parser import AGENT, ENVELOPE_TYPES, FLAT_TYPES, CodexParser
from hindsight_daemon.sources.fields import string
from hindsight_daemon.sources.json_text import decode_object, head_lines
from hindsight_daemon.sources.port import Parser, TranscriptContext


def is_flat_item(record: dict[str, Any]) -> bool:
    """Tell whether a record is an item of the generations without envelope."""
    kind = string(record.get("type"))
    if kind == "message":
        return "role" in record and "content" in record
    if kind.endswith(("_call", "_output", "_result")):
        return kind in FLAT_TYPES and bool({"call_id", "name", "function", "action"} & set(record))
    return kind == "reasoning" and "summary" in record


class Codex:
    """The Codex family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records with an envelope of this family."""
        good = weak = bad = 0
        for text in head_lines(head):
            try:
                record = decode_object(text)
            except ValueError:
                continue
            kind = string(record.get("type"))
            if isinstance(record.get("payload"), dict) and kind in ENVELOPE_TYPES:
                good += 2
            elif is_flat_item(record) or "record_type" in record:
                good += 1
            elif {"id", "timestamp", "instructions"} <= record.keys():
                good += 2
            elif "role" in record and ("timestamp" in record or "created_at" in record):
                weak += 1
            else:
                bad += 1
        if not good:
            return 0.0
        hint = 0.05 if "/rollout-" in path.replace("\\", "/") else 0.0
        return min(1.0, 0.95 * (good + weak) / (good + weak + bad) + hint)

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return live and archived sessions below `$CODEX_HOME` or `~/.codex`."""
        base = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
        return [base / "sessions", base / "archived_sessions"]

    def matches(self, path: Path) -> bool:
        """Accept rollouts, compressed ones too."""
        return path.name.startswith("rollout-") and path.name.endswith((".jsonl", ".jsonl.zst"))

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one rollout."""
        return CodexParser(context)


SOURCE = Codex()
