"""Goose sessions of the JSON Lines generation: `~/.local/share/goose/sessions/<session>.jsonl`.

The first line describes the session; the file is written anew at every save.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    flag,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "goose"
_QUIET = names(
    "toolConfirmationRequest frontendToolRequest systemNotification redactedThinking "
    "actionRequired toolConfirmationResponse"
)


class GooseParser(BlockParser):
    """Reads one session."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The file is named after its session."""
        return path.stem if path.parent.name == "sessions" else ""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of the description or of one message."""
        role = string(record.get("role"))
        if not role:
            self._state.session = string(record.get("id")) or self._state.session
            self._state.cwd = string(record.get("working_dir")) or self._state.cwd
            return
        created = record.get("created")
        self._ts = moment(created)
        native = string(record.get("id")) or f"{role}@{created}"
        if mapping(record.get("metadata")).get("userVisible") is False:
            return
        parts = [mapping(part) for part in sequence(record.get("content"))]
        has_call = any(part.get("type") == "toolRequest" for part in parts)
        for part in parts:
            yield from self._part(part, role, native, ends=not has_call)

    def _part(self, part: dict[str, Any], role: str, native: str, *, ends: bool) -> Iterator[Event]:
        kind = string(part.get("type"))
        if kind in ("text", "image"):
            if kind == "image" and "data" in part:
                source = {"data": part["data"], "media_type": part.get("mimeType")}
                part = {"type": "image", "source": source}
            text = content_text(part)
            if role == "assistant":
                yield from self.said("text", "assistant", text, native=native, ends_turn=ends)
            else:
                yield from self.said("prompt", "user", text, native=native)
        elif kind == "thinking":
            yield from self.said(
                "reasoning", "assistant", string(part.get("thinking")), native=native
            )
        elif kind == "toolRequest":
            call = mapping(part.get("toolCall"))
            value = mapping(call.get("value"))
            name, call_id = string(value.get("name")), string(part.get("id"))
            yield from self.call(name, call_id, value.get("arguments"), native=native)
        elif kind == "toolResponse":
            yield from self._response(part, native)
        elif kind == "contextLengthExceeded":
            text = string(part.get("msg")) or "the context is too long"
            yield from self.event("error", "system", text, native=native)
        elif kind == "summarizationRequested":
            text = string(part.get("msg"))
            yield from self.event("compaction", "system", text, native=native, is_synthetic=True)
        elif kind not in _QUIET:
            self.count(f"content {kind or '(no type)'}")

    def _response(self, part: dict[str, Any], native: str) -> Iterator[Event]:
        result = mapping(part.get("toolResult"))
        value = result.get("value")
        inner = mapping(value)
        text = content_text(inner.get("content") if inner else value)
        is_error = flag(inner.get("isError", inner.get("is_error")))
        if result.get("status") == "error":
            error = result.get("error")
            text, is_error = string(error) or first_string(mapping(error), "message"), True
        elif is_error is None and result.get("status") == "success":
            is_error = False
        yield from self.outcome(string(part.get("id")), text, is_error, native=native)


def _weigh(record: dict[str, Any]) -> float | None:
    if "role" not in record:
        return 2.0 * ({"working_dir", "description"} <= record.keys())
    has_parts = isinstance(record.get("content"), list)
    return float(has_parts and isinstance(record.get("created"), int))


class Goose:
    """The Goose family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of messages with a time of creation in seconds."""
        return line_share(head, path, _weigh, hint="/goose/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `sessions` in the data folder; `GOOSE_PATH_ROOT` comes first."""
        if env.get("GOOSE_PATH_ROOT"):
            return [Path(env["GOOSE_PATH_ROOT"]) / "data" / "sessions"]
        data = env.get("XDG_DATA_HOME", "")
        return [(Path(data) if data else home / ".local" / "share") / "goose" / "sessions"]

    def matches(self, path: Path) -> bool:
        """Accept sessions."""
        return path.suffix == ".jsonl" and path.parent.name == "sessions"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return GooseParser(context)


SOURCE = Goose()
