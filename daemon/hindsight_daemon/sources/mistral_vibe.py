"""Mistral Vibe sessions: `~/.vibe/logs/session/<session>/messages.jsonl`.

Messages carry ids but no times; folder, branch, commit, model and the calling session are in
`meta.json` beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import content_text, mapping, names, string
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "mistral-vibe"
_ROLES = names("system user assistant tool")
_META = "meta.json"
_FAILED = "<tool_error>"
_STOPPED = "<user_cancellation>"


class VibeParser(BlockParser):
    """Reads the messages of one session."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder is the session."""
        return path.parent.name if path.name == "messages.jsonl" else ""

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder, branch, commit, model and caller from `meta.json`."""
        meta, state = object_in(texts.get(_META)), self._state
        state.cwd = string(mapping(meta.get("environment")).get("working_directory"))
        state.branch, state.commit = string(meta.get("git_branch")), string(meta.get("git_commit"))
        state.model, state.parent = string(meta.get("model")), string(meta.get("parent_session_id"))

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one message."""
        role = string(record.get("role"))
        native = string(record.get("message_id"))
        text = content_text(record.get("content"))
        if role == "user":
            is_machine = record.get("injected") is True
            yield from self.said("prompt", "user", text, native=native, is_synthetic=is_machine)
        elif role == "assistant":
            thought = string(record.get("reasoning_content"))
            yield from self.said("reasoning", "assistant", thought, native=native)
            calls = record.get("tool_calls")
            yield from self.assistant_message(text, tool_calls=calls, native=native)
        elif role == "tool":
            yield from self.outcome(
                string(record.get("tool_call_id")),
                text,
                True if _FAILED in text[:64] or _STOPPED in text[:64] else None,
                name=string(record.get("name")),
                status=INTERRUPTED if _STOPPED in text[:64] else "",
                native=native,
            )
        elif role not in _ROLES:
            self.count(f"role {role or '(none)'}")


def _weigh(record: dict[str, Any]) -> float | None:
    if record.get("role") == "tool":
        return float("tool_call_id" in record and "timestamp" not in record)
    is_message = string(record.get("role")) in _ROLES and "content" in record
    if record.get("role") == "system":
        return None
    return float(is_message and isinstance(record.get("message_id"), str))


class MistralVibe:
    """The Mistral Vibe family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of messages with an id of their own."""
        if '"message_id"' not in head:
            return 0.0
        return line_share(head, path, _weigh, hint="/.vibe/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `logs/session` below `$VIBE_HOME` or `~/.vibe`."""
        base = Path(env["VIBE_HOME"]) if env.get("VIBE_HOME") else home / ".vibe"
        return [base / "logs" / "session"]

    def matches(self, path: Path) -> bool:
        """Accept the messages, not what is kept beside them."""
        return path.name == "messages.jsonl"

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name what is known of the session."""
        return (path.with_name(_META),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return VibeParser(context)


SOURCE = MistralVibe()
