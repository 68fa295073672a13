"""Builds small Claude Code transcripts line by line, in the format of version 2.1."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

_START = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)


class ClaudeSession:
    """Collects records; every call adds one and returns the session, so that calls chain."""

    def __init__(
        self, session_id: str, *, cwd: str = "/work/shop", start: datetime = _START
    ) -> None:
        self.session_id = session_id
        self._cwd = cwd
        self._at = start
        self._count = 0
        self._parent: str | None = None
        self.records: list[dict[str, Any]] = []

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> ClaudeSession:
        self._count += 1
        self._at += timedelta(seconds=7)
        seed = f"{self.session_id}:{self._count}".encode().ljust(16, b"0")[-16:]
        uuid = str(UUID(bytes=seed))
        self.records.append(
            {
                "type": kind,
                "uuid": uuid,
                "parentUuid": self._parent,
                "sessionId": self.session_id,
                "cwd": self._cwd,
                "gitBranch": "main",
                "version": "2.1.230",
                "isSidechain": False,
                "userType": "external",
                "timestamp": self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "message": message,
                **more,
            }
        )
        self._parent = uuid
        return self

    def prompt(self, text: str) -> ClaudeSession:
        """Add what the user typed."""
        return self._add("user", {"role": "user", "content": text})

    def says(self, text: str) -> ClaudeSession:
        """Add what the assistant answered at the end of its turn."""
        return self._assistant([{"type": "text", "text": text}], "end_turn")

    def _assistant(self, content: list[dict[str, Any]], stop: str) -> ClaudeSession:
        message = {
            "id": f"msg_{self.session_id}_{self._count}",
            "role": "assistant",
            "model": "claude-x",
            "stop_reason": stop,
            "content": content,
            "usage": {"output_tokens": 5},
        }
        return self._add("assistant", message, requestId=f"req_{self._count}")

    def _tool(
        self, name: str, arguments: dict[str, Any], output: str, failed: bool
    ) -> ClaudeSession:
        call_id = f"toolu_{self.session_id}_{self._count}"
        self._assistant(
            [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}], "tool_use"
        )
        block = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        if failed:
            block["is_error"] = True  # type: ignore[assignment]
        result: Any = f"Error: {output}" if failed else {"stdout": output, "stderr": ""}
        return self._add("user", {"role": "user", "content": [block]}, toolUseResult=result)

    def runs(self, command: str, output: str, *, exit_code: int = 0) -> ClaudeSession:
        """Add a shell command with its result."""
        text = output if exit_code == 0 else f"Exit code {exit_code}\n{output}"
        return self._tool("Bash", {"command": command}, text, exit_code != 0)

    def edits(self, path: str, old: str, new: str) -> ClaudeSession:
        """Add an edit of a file."""
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        return self._tool("Edit", arguments, f"The file {path} has been updated.", False)

    def text(self) -> str:
        """Return the transcript."""
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records)


def fixed_migration(session_id: str = "5e551000-0000-4000-8000-000000000001") -> ClaudeSession:
    """Return a session in which a hanging test is fixed, with the reason stated."""
    return (
        ClaudeSession(session_id)
        .prompt("The migration test hangs, please fix it")
        .runs(
            "pytest tests/test_migrations.py -x",
            "E   TimeoutError: lock wait timeout on table invoices\n1 failed in 61.02s",
            exit_code=1,
        )
        .says(
            "The test hangs because the fixture leaves a second connection open, "
            "and that connection still holds the table lock."
        )
        .edits(
            "tests/conftest.py", "    yield engine\n", "    yield engine\n    engine.dispose()\n"
        )
        .runs("pytest tests/test_migrations.py -x", "1 passed in 0.84s")
        .says(
            "Fixed: the fixture now disposes of its engine, so no idle connection holds the lock."
        )
        .prompt("perfect, thanks")
    )
