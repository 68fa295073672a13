"""Cline's session store of 2026 (`<id>.messages.json`) and the history sent to the model.

Both are lists of messages made of content blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    mapping,
    moment,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.port import TranscriptContext

_NOTICE = "<SYSTEM_NOTICE>"
_ENVIRONMENT = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
WORKING_FOLDER = re.compile(r"^# Current (?:Working|Workspace) Directory \((.+?)\)", re.MULTILINE)
_TASK = re.compile(r"<(task|user_message|feedback|answer)>\s*(.*?)\s*</\1>", re.DOTALL)
_OUTCOME = re.compile(r"^\[([a-z_]+)(?: for '(.*)')?\] Result:?\s*", re.DOTALL)
_XML_CALL = re.compile(r"^<([a-z]+(?:_[a-z]+)+)>\n(.*?)^</\1>", re.MULTILINE | re.DOTALL)
_XML_FIELD = re.compile(r"<([a-z_]+)>(.*?)</\1>", re.DOTALL)


class ClineStoreParser(BlockDocumentParser):
    """Reads the messages of one session."""

    agent = "cline"

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder and model from the session's own file, whatever it is called."""
        for text in texts.values():
            session = object_in(text)
            self._state.cwd = first_string(session, "cwd", "workspace_root")
            self._state.model = string(session.get("model"))

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole session."""
        self._state.session = string(mapping(value).get("sessionId"))
        for number, message in enumerate(sequence(mapping(value).get("messages")), 1):
            self.at(number)
            yield from self._message(mapping(message))

    def _message(self, message: dict[str, Any]) -> Iterator[Event]:
        self._ts = moment(message.get("ts"))
        native = string(message.get("id"))
        metadata = mapping(message.get("metadata"))
        content = message.get("content")
        if message.get("role") == "assistant":
            model = string(mapping(message.get("modelInfo")).get("id"))
            yield from self.assistant_message(content, native=native, model=model)
            return
        if message.get("role") != "user":
            self.count(f"role {string(message.get('role')) or '(none)'}")
            return
        if metadata.get("kind") == "compaction_summary":
            text = first_string(metadata, "summary") or content_text(content)
            yield from self.event("compaction", "system", text, native=native, is_synthetic=True)
            return
        said: list[Any] = []
        for block in content if isinstance(content, list) else [content]:
            text = content_text(block)
            if text.startswith(_NOTICE):
                yield from self.event(
                    "compaction", "system", text, native=native, is_synthetic=True
                )
            elif mapping(block).get("type") == "file":
                said.append(f"[file {string(mapping(block).get('path'))}]")
            else:
                said.append(block)
        yield from self.user_message(said, native=native)


class ClineHistoryParser(BlockDocumentParser):
    """Reads what a classic task sent to the model, with tools as blocks or as XML in the text.

    Yields nothing for a file in a task folder: `ui_messages.json` beside it tells the same.
    """

    agent = "cline"

    def __init__(self, context: TranscriptContext, agent: str = "cline") -> None:
        super().__init__(context)
        self.agent = agent

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole task."""
        path = PurePosixPath(self._context.path.replace("\\", "/"))
        self.may_be_silent = path.parent.parent.name == "tasks"
        if self.may_be_silent:
            return
        for number, message in enumerate(map(mapping, sequence(value)), 1):
            self.at(number)
            self._ts = moment(message.get("ts"))
            content = message.get("content")
            if message.get("role") == "assistant":
                yield from self._answer(content)
            elif message.get("role") == "user":
                yield from self._turn(content)

    def clean(self, text: str) -> str:
        """Return what a person wrote; remember the working folder that is told beside it."""
        if match := WORKING_FOLDER.search(text):
            self._state.cwd = match[1]
        text = _ENVIRONMENT.sub("", text).strip()
        found = _TASK.findall(text)
        return "\n".join(words for _, words in found) if found else text

    def _turn(self, content: Any) -> Iterator[Event]:
        """Yield results told as text, then the rest."""
        rest = []
        for block in content if isinstance(content, list) else [content]:
            text = content_text(block)
            match = _OUTCOME.match(text)
            if match and mapping(block).get("type") != "tool_result":
                yield from self.outcome("", text[match.end() :], None, name=match[1])
            else:
                rest.append(block)
        yield from self.user_message(rest)

    def _answer(self, content: Any) -> Iterator[Event]:
        yield from self.assistant_message(content, ends=False)
        for match in _XML_CALL.finditer(content_text(content)):
            fields = {name: value.strip() for name, value in _XML_FIELD.findall(match[2])}
            if match[1] == "attempt_completion":
                yield from self.said("text", "assistant", fields.get("result", ""), ends_turn=True)
            else:
                yield from self.call(match[1], "", fields)
