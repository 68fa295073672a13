"""Gemini CLI sessions: where they are and how they are told; reading is `gemini_parser`'s."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.sources.fields import names, string
from hindsight_daemon.sources.gemini_parser import (
    AGENT,
    PROJECT_ROOT,
    PROJECTS,
    GeminiDocumentParser,
    GeminiParser,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has, line_share

_TYPES = names("user gemini model info warning error")


def _weigh(record: dict[str, Any]) -> float:
    if "$set" in record or "$rewindTo" in record:
        return 1
    if "projectHash" in record and "sessionId" in record:
        return 2
    is_message = {"id", "timestamp", "content"} <= record.keys()
    return float(is_message and string(record.get("type")) in _TYPES and "sessionId" not in record)


class GeminiCli:
    """The session logs."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of headers, messages and patches."""
        begin = head.lstrip()[:2]
        if begin in ("{\n", "{\r") or '"sessionId"' not in head[:4096]:
            return 0.0
        return line_share(head, path, _weigh, hint="/.gemini/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `tmp` below the configuration folder; `GEMINI_CLI_HOME` stands for the home."""
        base = Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else home
        return [base / ".gemini" / "tmp"]

    def matches(self, path: Path) -> bool:
        """Accept session logs, those of subagents too."""
        return path.suffix == ".jsonl" and "chats" in (path.parent.name, path.parent.parent.name)

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the mark of the project's folder, and the list of all projects."""
        depth = next((n for n, folder in enumerate(path.parents) if folder.name == "chats"), 0)
        above = path.parents[depth + 1 : depth + 4]
        if len(above) < 3:
            return ()
        return above[0] / PROJECT_ROOT, above[2] / PROJECTS

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return GeminiParser(context)


class GeminiCliDocument(GeminiCli):
    """The whole documents of the versions before 0.40."""

    name = f"{AGENT}-document"
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a session with messages, or a history of the API's own shape."""
        if has(head, "sessionId", "projectHash", "messages"):
            return FULL
        return FULL if has(head, "history[].parts", "history[].role") else 0.0

    def matches(self, path: Path) -> bool:
        """Accept session documents, not the list of prompts beside them."""
        return path.suffix == ".json" and "chats" in (path.parent.name, path.parent.parent.name)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one document."""
        return GeminiDocumentParser(context)


SOURCE = GeminiCli()
DOCUMENT = GeminiCliDocument()
