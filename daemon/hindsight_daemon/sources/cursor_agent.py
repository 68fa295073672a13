"""Cursor: `~/.cursor/projects/<folder>/agent-transcripts/<id>/<id>.jsonl`, or `.txt`.

They carry no times, ids or calls' ids, and mostly no results; what is redacted there is left out.
The editor's own database is another source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser, TextParser
from hindsight_daemon.sources.fields import first_string, mapping, string
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "cursor"
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*(?:</user_query>|\Z)", re.DOTALL)
_WRAPPER = re.compile(
    r"<(timestamp|attached_files|system_reminder|open_and_recently_viewed_files|user_info|"
    r"rules|git_status|project_layout|additional_data)>.*?</\1>\s*",
    re.DOTALL,
)
_REDACTED = "[REDACTED]"
_FOLDER = "agent-transcripts"
_LABEL = re.compile(r"^(user|assistant):\s*$|^\[(Thinking|Tool call|Tool result)\]\s*(.*)$")


class CursorParser(BlockParser):
    """Reads one JSON Lines transcript."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The file is named after its session; subagents lie in a folder of their caller's."""
        if _FOLDER not in path.parts:
            return ""
        if path.parent.name == "subagents":
            self._state.parent, self._state.is_sidechain = path.parent.parent.name, True
        return path.stem

    def clean(self, text: str) -> str:
        """Return the query without what Cursor put around it."""
        if queries := _QUERY.findall(text):
            return "\n".join(queries).strip()
        text = _WRAPPER.sub("", text).strip()
        return "" if text == _REDACTED else text

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one message or mark."""
        role, kind = string(record.get("role")), string(record.get("type"))
        content = mapping(record.get("message")).get("content", record.get("content"))
        if role == "user":
            yield from self.user_message(self._paired(content))
        elif role == "assistant":
            self._state.model = string(record.get("model")) or self._state.model
            self._state.calls.clear()
            # An answer may go on in the next record, so that nothing here ends the turn.
            yield from self.assistant_message(self._shown(content), ends=False)
        elif kind == "turn_ended":
            yield from self._turn_end(record)
        elif kind == "error":
            error = record.get("error")
            text = string(error) or first_string(mapping(error), "message")
            yield from self.event("error", "system", text or "error", ends_turn=True)
        else:
            self.count(kind or f"role {role or '(none)'}")

    def _turn_end(self, record: dict[str, Any]) -> Iterator[Event]:
        status = string(record.get("status"))
        if status in ("aborted", "cancelled", "interrupted"):
            yield from self.event("interrupt", "user", status, ends_turn=True)
        elif status == "error":
            text = string(record.get("error")) or status
            yield from self.event("error", "system", text, ends_turn=True)
        else:
            yield from self.end_turn()

    def _shown(self, content: Any) -> Any:
        if not isinstance(content, list):
            return "" if content == _REDACTED else content
        return [part for part in content if mapping(part).get("text") != _REDACTED]

    def _paired(self, content: Any) -> Any:
        """Let results stand for the oldest open call, since calls have no ids."""
        if not isinstance(content, list):
            return content
        paired = []
        for part in content:
            known = string(mapping(part).get("tool_use_id")) in self._state.calls
            if "tool_use_id" in mapping(part) and not known:
                part = {name: value for name, value in part.items() if name != "tool_use_id"}
            paired.append(part)
        return paired


class CursorTextParser(CursorParser, TextParser):
    """Reads one transcript in the older text form."""

    def text(self, text: str) -> Iterator[Event]:
        """Yield the events of the whole text."""
        for number, (label, detail, body) in enumerate(split_text(text), 1):
            self.at(number)
            if label == "user":
                yield from self.said("prompt", "user", self.clean(body))
            elif label == "assistant":
                yield from self.said("text", "assistant", "" if body == _REDACTED else body)
            elif label == "Thinking":
                yield from self.said("reasoning", "assistant", f"{detail}\n{body}")
            elif label == "Tool call":
                self._state.calls.clear()
                yield from self.call(detail.split(" ")[0], "", text_arguments(body) or detail)
            else:
                yield from self.outcome("", f"{detail}\n{body}".strip(), None)


def split_text(text: str) -> list[tuple[str, str, str]]:
    """Return the (label, detail, body) portions of a transcript in text form."""
    portions: list[tuple[str, str, list[str]]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if match := _LABEL.match(line):
            portions.append((match[1] or match[2], (match[3] or "").strip(), []))
        elif portions:
            portions[-1][2].append(line)
    return [(label, detail, "\n".join(lines).strip()) for label, detail, lines in portions]


def text_arguments(body: str) -> dict[str, str]:
    """Read the `name: value` lines that follow a call."""
    pairs = (line.strip().partition(": ") for line in body.split("\n"))
    return {name: value for name, mark, value in pairs if mark and name.isidentifier()}


def _weigh(record: dict[str, Any]) -> float | None:
    if "role" in record:
        content = mapping(record.get("message")).get("content")
        return 2.0 * (isinstance(content, list | str) and "type" not in record)
    if record.get("type") == "turn_ended":
        return 1.0
    return 0.5 if record.keys() == {"type", "error"} and record["type"] == "error" else 0


class CursorAgent:
    """The transcripts of Cursor's agent."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of messages without any envelope."""
        return line_share(head, path, _weigh, hint=f"/{_FOLDER}/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `projects` below `$CURSOR_CONFIG_DIR` or `~/.cursor`."""
        base = env.get("CURSOR_CONFIG_DIR", "")
        return [(Path(base) if base else home / ".cursor") / "projects"]

    def matches(self, path: Path) -> bool:
        """Accept transcripts."""
        return path.suffix == ".jsonl" and _FOLDER in path.parts

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return CursorParser(context)


class CursorAgentText(CursorAgent):
    """The older transcripts in text form."""

    name = f"{AGENT}-text"
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept texts with Cursor's labels on lines of their own."""
        labels = {label for label, _, _ in split_text(head)} if head[:1] not in "{[" else set()
        if "user" not in labels or not head.lstrip().startswith(("user:", "assistant:")):
            return 0.0
        is_own = labels & {"Tool call", "Tool result", "Thinking"} or _FOLDER in path
        return 0.93 if is_own or "<user_query>" in head else 0.0

    def matches(self, path: Path) -> bool:
        """Accept transcripts."""
        return path.suffix == ".txt" and _FOLDER in path.parts

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one transcript."""
        return CursorTextParser(context)


SOURCE = CursorAgent()
TEXT = CursorAgentText()
