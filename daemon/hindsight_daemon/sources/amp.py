"""Amp threads: `~/.local/share/amp/threads/T-<uuid>.json`, rewritten whole.

Results of tools are blocks of the user's messages with a `run` that tells how they ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser
from hindsight_daemon.sources.fields import (
    compact,
    first_string,
    folder_of_uri,
    integer,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has
from hindsight_daemon.sources.tools import DENIED, INTERRUPTED

AGENT = "amp"
_FINAL = {"done": "", "error": "", "cancelled": INTERRUPTED, "rejected-by-user": DENIED}


class AmpParser(BlockDocumentParser):
    """Reads one thread."""

    agent = AGENT

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole thread."""
        thread = mapping(value)
        self._state.session = string(thread.get("id"))
        trees = sequence(mapping(mapping(thread.get("env")).get("initial")).get("trees"))
        tree = mapping(trees[0]) if trees else {}
        self._state.cwd = folder_of_uri(string(tree.get("uri")))
        self._state.branch = string(mapping(tree.get("repository")).get("ref"))
        self._state.branch = self._state.branch.removeprefix("refs/heads/")
        created = moment(thread.get("created"))
        for number, message in enumerate(map(mapping, sequence(thread.get("messages"))), 1):
            self.at(number)
            usage = mapping(message.get("usage"))
            sent = moment(mapping(message.get("meta")).get("sentAt"))
            self._ts = sent or moment(usage.get("timestamp")) or (created if number == 1 else None)
            yield from self._message(message, usage, f"message {number}")

    def _message(
        self, message: dict[str, Any], usage: dict[str, Any], native: str
    ) -> Iterator[Event]:
        role = message.get("role")
        if role == "user":
            yield from self.user_message(message.get("content"), native=native)
            return
        if role != "assistant":
            self.count(f"role {string(role) or '(none)'}")
            return
        state = mapping(message.get("state"))
        self._state.model = string(usage.get("model")) or self._state.model
        is_done = state.get("type") in (None, "complete") and state.get("stopReason") != "tool_use"
        content = message.get("content")
        yield from self.assistant_message(content, ends=is_done, native=native)
        if state.get("type") == "cancelled":
            yield from self.event("interrupt", "user", "cancelled", native=native, ends_turn=True)
        elif state.get("type") == "error":
            text = first_string(mapping(state.get("error")), "message") or "error"
            yield from self.event("error", "system", text, native=native, ends_turn=True)

    def block_result(self, block: dict[str, Any], **fields: Any) -> Iterator[Event]:
        """Yield the result of a run that has ended."""
        run = mapping(block.get("run"))
        status = string(run.get("status"))
        if "run" in block and status not in _FINAL:
            return
        if "run" not in block:
            yield from super().block_result(block, **fields)
            return
        result = run.get("result")
        details = mapping(result)
        text = first_string(details, "output", "content", "diff") or compact(result)
        if status == "error":
            text = first_string(mapping(run.get("error")), "message") or text
        yield from self.outcome(
            first_string(block, "toolUseID", "toolUseId", "tool_use_id"),
            text,
            status != "done",
            exit_code=integer(details.get("exitCode")),
            status=_FINAL[status],
            **fields,
        )


class Amp:
    """The Amp family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept a thread: it has a version, a time of creation and messages."""
        if not has(head, "v", "id", "created") and "/T-" not in path:
            return 0.0
        return FULL if '"T-' in head[:4096] and has(head, "messages", "created") else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `amp/threads` in the data folder."""
        data = env.get("XDG_DATA_HOME", "")
        return [(Path(data) if data else home / ".local" / "share") / "amp" / "threads"]

    def matches(self, path: Path) -> bool:
        """Accept threads."""
        return path.suffix == ".json" and path.name.startswith("T-")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one thread."""
        return AmpParser(context)


SOURCE = Amp()
