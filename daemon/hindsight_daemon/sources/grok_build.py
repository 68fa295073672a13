"""Grok Build sessions: `~/.grok/sessions/<working folder>/<session>/chat_history.jsonl`.

Records carry neither time nor id; the working folder is known from the path and from what the
agent told the model about its environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import unquote

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import content_text, mapping, names, sequence, string
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "grok-build"
_SUMMARY = "summary.json"
_TYPES = names("system user reasoning assistant tool_result backend_tool_call")
_WORKSPACE = re.compile(r"^Workspace Path: (.+)$", re.MULTILINE)


class GrokParser(BlockParser):
    """Reads one chat history."""

    agent = AGENT

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder, branch, commit and model from `summary.json`."""
        summary, state = object_in(texts.get(_SUMMARY)), self._state
        state.cwd = string(mapping(summary.get("info")).get("cwd"))
        state.branch = string(summary.get("head_branch"))
        state.commit = string(summary.get("head_commit")).strip("0")
        state.model = state.model or string(summary.get("current_model_id"))

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder is the session, the folder above it the working folder."""
        if path.name != "chat_history.jsonl":
            return ""
        cwd = unquote(path.parent.parent.name)
        self._state.cwd = cwd if cwd.startswith("/") else self._state.cwd
        return path.parent.name

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one record."""
        kind = string(record.get("type"))
        self._state.model = string(record.get("model_id")) or self._state.model
        if kind == "user":
            yield from self._prompt(record)
        elif kind == "reasoning":
            thought = content_text(record.get("summary"))
            yield from self.said("reasoning", "assistant", thought)
        elif kind == "assistant":
            calls = record.get("tool_calls")
            yield from self.assistant_message(record.get("content"), tool_calls=calls)
        elif kind == "tool_result":
            text = content_text(record.get("content"))
            is_error = True if text.startswith(("Error:", "Error executing")) else None
            yield from self.outcome(string(record.get("tool_call_id")), text, is_error)
        elif kind == "backend_tool_call":
            call = mapping(record.get("kind"))
            name, call_id = string(call.get("tool_type")), string(call.get("id"))
            yield from self.call(name, call_id, call.get("action"))
            self._state.calls.pop(call_id, None)  # what came back is not in the history
        elif kind not in _TYPES:
            self.count(kind or "(no type)")

    def _prompt(self, record: dict[str, Any]) -> Iterator[Event]:
        if record.get("prior_turn_interrupt"):
            text = string(record["prior_turn_interrupt"])
            yield from self.event("interrupt", "user", text, ends_turn=True)
        is_machine = bool(record.get("synthetic_reason"))
        texts = []
        for block in sequence(record.get("content")) or [record.get("content")]:
            fields = mapping(block)
            if fields.get("type") == "image":
                block = {"type": "image_url", "image_url": fields.get("url")}
            texts.append(content_text(block))
        text = "\n".join(part for part in texts if part)
        if is_machine and (match := _WORKSPACE.search(text)):
            self._state.cwd = match[1].strip()
        yield from self.said("prompt", "user", text, is_synthetic=is_machine)


def _weigh(record: dict[str, Any]) -> float | None:
    kind = string(record.get("type"))
    if kind not in _TYPES or "message" in record or "uuid" in record:
        return 0
    if kind in ("backend_tool_call", "reasoning"):
        return 2.0 * ("kind" in record or "encrypted_content" in record)
    if kind == "tool_result":
        return 2.0 * ("tool_call_id" in record)
    is_own = {"model_id", "prompt_index", "synthetic_reason", "prior_turn_interrupt"}
    return 2.0 if is_own & record.keys() else None


class GrokBuild:
    """The Grok Build family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of records of a chat history."""
        return line_share(head, path, _weigh, hint="/.grok/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` below `$GROK_HOME` or `~/.grok`."""
        base = Path(env["GROK_HOME"]) if env.get("GROK_HOME") else home / ".grok"
        return [base / "sessions"]

    def matches(self, path: Path) -> bool:
        """Accept chat histories."""
        return path.name == "chat_history.jsonl"

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the summary of the session."""
        return (path.with_name(_SUMMARY),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one chat history."""
        return GrokParser(context)


SOURCE = GrokBuild()
