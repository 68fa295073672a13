"""Cline, Roo Code and Kilo Code: where their tasks are and how they are told.

Reading is done by `cline_ui` (the classic task folders) and `cline_store` (the session store of
2026). The classic folders tell a task twice; `ui_messages.json`, which has the times, is read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hindsight_daemon.sources.cline_store import ClineHistoryParser, ClineStoreParser
from hindsight_daemon.sources.cline_ui import HISTORY, HISTORY_ITEM, ClineUiParser
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import has

AGENTS = {
    "roo-code": ("rooveterinaryinc.roo-cline", "roo-cline", "roo-code"),
    "kilo-code": ("kilocode.kilo-code", "kilo-code"),
    "cline": ("saoudrizwan.claude-dev", ".cline", "cline"),
}
"""Agents by their names, with the parts of a path that tell them apart; the last is any."""
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def editor_storage(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return the user folders of the editors of the VS Code family."""
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    local = [base / editor / "User" for editor in _EDITORS]
    return [*local, home / ".vscode-server" / "data" / "User"]


def cline_data(env: Mapping[str, str], home: Path) -> Path:
    """Return the folder in which Cline keeps what is no editor's."""
    base = Path(env["CLINE_DIR"]) if env.get("CLINE_DIR") else home / ".cline"
    return Path(env["CLINE_DATA_DIR"]) if env.get("CLINE_DATA_DIR") else base / "data"


def agent_of_path(path: str) -> str:
    """Return the agent whose folder a path goes through, Cline if none is named."""
    parts = path.replace("\\", "/").lower().split("/")
    for agent, marks in AGENTS.items():
        if any(mark in parts for mark in marks):
            return agent
    return "cline"


class ClineTask:
    """Tasks of one of the three agents in their classic form."""

    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def __init__(self, agent: str) -> None:
        self.name = agent

    def score(self, head: str, path: str) -> float:
        """Accept a list of asks and says, of this agent as far as the path tells."""
        if agent_of_path(path) != self.name:
            return 0.0
        if has(head, "[].ts", "[].type") and (has(head, "[].say") or has(head, "[].ask")):
            return 0.95
        is_history = path.endswith("api_conversation_history.json")
        return 0.93 if is_history and has(head, "[].role", "[].content") else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the task folders below the storage of the editors' extension."""
        extension = AGENTS[self.name][0]
        users = editor_storage(env, home)
        tasks = [user / "globalStorage" / extension / "tasks" for user in users]
        return [*tasks, cline_data(env, home) / "tasks"] if self.name == "cline" else tasks

    def matches(self, path: Path) -> bool:
        """Accept what the agent shows, not what it sends to the model."""
        return path.name == "ui_messages.json"

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the task's item in the list of tasks, and what was sent to the model."""
        return path.with_name(HISTORY_ITEM), path.with_name(HISTORY)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one task."""
        if context.path.endswith("api_conversation_history.json"):
            return ClineHistoryParser(context, self.name)
        return ClineUiParser(context, self.name)


class ClineStore:
    """Sessions of Cline's store of 2026."""

    name = "cline-store"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept the messages of a session."""
        return 0.95 if has(head, "sessionId", "agent", "updated_at", "messages") else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return sessions and tasks below `$CLINE_DATA_DIR`, `$CLINE_DIR/data` or `~/.cline`."""
        data = cline_data(env, home)
        return [data / "sessions", data / "tasks"]

    def matches(self, path: Path) -> bool:
        """Accept the messages of sessions."""
        return path.name.endswith(".messages.json")

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the session's own file."""
        return (path.with_name(f"{path.name.removesuffix('.messages.json')}.json"),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return ClineStoreParser(context)


ROO = ClineTask("roo-code")
KILO = ClineTask("kilo-code")
SOURCE = ClineTask("cline")
STORE = ClineStore()
