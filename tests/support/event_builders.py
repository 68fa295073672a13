"""Builds the events of made-up sessions, one method for each thing that happens in one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_daemon.engine.segment import segment
from hindsight_daemon.engine.task import Task
from hindsight_daemon.model import Event, EventKind, Role, ToolUse


class Session:
    """Collects events; every method returns the session so that calls chain."""

    def __init__(self, session_id: str = "s1", *, cwd: str = "/w/app") -> None:
        self.events: list[Event] = []
        self._session_id = session_id
        self._cwd = cwd
        self._at = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def add(self, role: Role, kind: EventKind, text: str = "", **fields: Any) -> Session:
        self._at += timedelta(seconds=3)
        seq = len(self.events)
        defaults: dict[str, Any] = {"id": f"{self._session_id}:{seq}", "ts": self._at}
        self.events.append(
            Event(
                agent="claude-code",
                session_id=self._session_id,
                seq=seq,
                role=role,
                kind=kind,
                text=text,
                cwd=self._cwd,
                **(defaults | fields),
            )
        )
        return self

    def user(self, text: str, **fields: Any) -> Session:
        return self.add("user", "prompt", text, **fields)

    def say(self, text: str, *, ends_turn: bool = False, **fields: Any) -> Session:
        return self.add("assistant", "text", text, ends_turn=ends_turn, **fields)

    def run(self, command: str, output: str = "", code: int | None = 0, **fields: Any) -> Session:
        call_id = f"c{len(self.events)}"
        tool = ToolUse(
            name="Bash",
            category="shell",
            call_id=call_id,
            arguments=json.dumps({"command": command}),
            command=command,
        )
        self.add("assistant", "tool_call", tool=tool, **fields)
        result = ToolUse(
            name="Bash",
            category="shell",
            call_id=call_id,
            command=command,
            exit_code=code,
            is_error=bool(code) if code is not None else None,
        )
        return self.add("tool", "tool_result", output, tool=result, **fields)

    def edit(self, path: str, old: str = "a", new: str = "b", **fields: Any) -> Session:
        full = f"{self._cwd}/{path}"
        call_id = f"c{len(self.events)}"
        arguments = json.dumps({"file_path": full, "old_string": old, "new_string": new})
        tool = ToolUse(name="Edit", category="edit", call_id=call_id, arguments=arguments)
        self.add("assistant", "tool_call", tool=tool, files=(full,), **fields)
        result = ToolUse(name="Edit", category="edit", call_id=call_id, is_error=False)
        return self.add("tool", "tool_result", "updated", tool=result, files=(full,), **fields)

    def read(self, path: str, text: str = "") -> Session:
        full = f"{self._cwd}/{path}"
        call_id = f"c{len(self.events)}"
        tool = ToolUse(name="Read", category="read", call_id=call_id)
        self.add("assistant", "tool_call", tool=tool, files=(full,))
        result = ToolUse(name="Read", category="read", call_id=call_id, is_error=False)
        return self.add("tool", "tool_result", text, tool=result, files=(full,))

    def interrupt(self) -> Session:
        return self.add("user", "interrupt", "[Request interrupted by user]", ends_turn=True)

    def tasks(self) -> list[Task]:
        return list(segment(self.events))

    def task(self) -> Task:
        (task,) = self.tasks()
        return task
