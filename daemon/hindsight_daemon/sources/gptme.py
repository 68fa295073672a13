"""gptme conversations: `~/.local/share/gptme/logs/<date-name>/conversation.jsonl`.

Tools are called by fenced blocks in the answers (or by `@tool(id): {…}`); what they give back is
told by messages of the system or of a tool. Times have no zone and count as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockParser, decoded
from hindsight_daemon.sources.fields import content_text, mapping, moment, names, string
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import line_share

AGENT = "gptme"
_ROLES = names("system user assistant tool")
_OWN = names("pinned hide quiet files file_hashes call_id")
_BLOCK = re.compile(
    r"^```(shell|ipython|save|append|patch|tmux|browser|gh|morph)[ \t]*([^\n`]*)\n(.*?)^```\s*$",
    re.MULTILINE | re.DOTALL,
)
_NAMED_CALL = re.compile(r"^@(\w+)\(([\w.-]+)\):\s*(\{.*)", re.MULTILINE | re.DOTALL)
_WRITES = names("save append patch morph")
_INTERRUPTED = ("Interrupted", "User aborted", "Execution aborted")


class GptmeParser(BlockParser):
    """Reads one conversation."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder is the conversation."""
        return path.parent.name if path.name == "conversation.jsonl" else ""

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one message."""
        role = string(record.get("role"))
        time = record.get("timestamp")
        self._ts = moment(time)
        native = f"{role}@{time}" if self._ts else ""
        text = content_text(record.get("content"))
        if role == "user":
            yield from self.said("prompt", "user", text, native=native)
        elif role == "assistant":
            model = string(mapping(record.get("metadata")).get("model"))
            self._state.model = model or self._state.model
            yield from self._answer(text, native)
        elif role == "tool" or (role == "system" and self._state.calls):
            yield from self._back(text, string(record.get("call_id")), native)
        elif role not in _ROLES:
            self.count(f"role {role or '(none)'}")

    def _answer(self, text: str, native: str) -> Iterator[Event]:
        self._state.calls.clear()
        blocks = list(_BLOCK.finditer(text))
        named = _NAMED_CALL.search(text)
        ends = not blocks and named is None
        yield from self.said("text", "assistant", text, native=native, ends_turn=ends)
        for number, block in enumerate(blocks):
            name, argument, body = block[1], block[2].strip(), block[3]
            given = {"path": argument, "content": body}
            if name not in _WRITES:
                given = {"command": f"{argument}\n{body}".strip()}
            yield from self.call(name, f"{native}.{number}", given, native=native)
        if named is not None:
            yield from self.call(named[1], named[2], decoded(named[3]), native=native)

    def _back(self, text: str, call_id: str, native: str) -> Iterator[Event]:
        if text.startswith(_INTERRUPTED):
            yield from self.event("interrupt", "user", text, native=native, ends_turn=True)
            self._state.calls.clear()
            return
        call_id = call_id if call_id in self._state.calls else next(iter(self._state.calls), "")
        is_error = True if text.startswith(("Error", "Traceback")) else None
        yield from self.outcome(call_id, text, is_error, native=native)


def _weigh(record: dict[str, Any]) -> float | None:
    if string(record.get("role")) not in _ROLES or not isinstance(record.get("timestamp"), str):
        return 0
    usage = mapping(record.get("metadata"))
    if _OWN & record.keys() or {"usage", "model"} <= usage.keys():
        return 3
    return 1.0 if record.keys() <= _OWN | {"role", "content", "timestamp", "metadata"} else 0


class Gptme:
    """The gptme family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of messages, some with fields that only gptme writes."""
        if not any(f'"{name}"' in head for name in (*_OWN, "metadata")):
            return 0.0
        return line_share(head, path, _weigh, hint="/gptme/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return `$GPTME_LOGS_HOME`, or `gptme/logs` in the data folder."""
        if env.get("GPTME_LOGS_HOME"):
            return [Path(env["GPTME_LOGS_HOME"])]
        data = env.get("XDG_DATA_HOME", "")
        return [(Path(data) if data else home / ".local" / "share") / "gptme" / "logs"]

    def matches(self, path: Path) -> bool:
        """Accept conversations."""
        return path.name == "conversation.jsonl"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one conversation."""
        return GptmeParser(context)


SOURCE = Gptme()
