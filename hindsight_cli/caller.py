"""Who runs a command: a person, or a coding agent in its shell. Imports nothing.

Agents mark the shells they open by environment variables. That is no protection against one that
hides itself, but it keeps an agent that was talked into something from acting as its user.
"""

from __future__ import annotations

from collections.abc import Mapping

AGENT_MARKS: dict[str, str] = {
    "CLAUDECODE": "Claude Code",
    "CODEX_SANDBOX": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "CURSOR_AGENT": "Cursor",
    "QWEN_CODE": "Qwen Code",
    "OPENCODE": "OpenCode",
    "GOOSE_TERMINAL": "Goose",
}
"""Variables that agents set for the commands they run, and whose they are."""


def agent_behind(environment: Mapping[str, str]) -> str:
    """Return the name of the agent that runs this command, empty if a person does."""
    return next((name for mark, name in AGENT_MARKS.items() if environment.get(mark)), "")
