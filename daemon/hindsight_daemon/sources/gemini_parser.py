"""Gemini CLI sessions: the log of messages and patches, and the older whole document.

A message that is written again replaces its former self: its events come again under their ids.
What a rewind took back was said all the same and stays; the rewind itself is an event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.fields import (
    attachment_note,
    first_string,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.log_parser import DocumentParser, LogParser
from hindsight_daemon.sources.shell_text import stated_exit_code
from hindsight_daemon.sources.tools import INTERRUPTED

AGENT = "gemini-cli"
PROJECT_ROOT, PROJECTS = ".project_root", "projects.json"
_MODEL_TYPES = names("gemini model assistant")
_QUIET_TYPES = names("info warning")
_DONE = names("success error cancelled")
_ENVELOPES = ("<session_context>", "This is the Gemini CLI. We are setting up the context")


def parts_text(content: Any) -> str:
    """Return the readable text of Gemini content: a string, a part or a list of parts."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else [content]:
        fields = mapping(part)
        inline = mapping(fields.get("inlineData"))
        if isinstance(part, str):
            texts.append(part)
        elif data := string(inline.get("data")):
            texts.append(attachment_note("image", string(inline.get("mimeType")), data))
        elif fields.get("thought") is not True:
            texts.append(string(fields.get("text")))
    return "\n".join(text for text in texts if text)


def response_text(response: Any) -> str:
    """Return the text of a function response."""
    fields = mapping(response)
    found = first_string(fields, "error", "output", "content")
    return found or first_string(mapping(fields.get("error")), "message")


class GeminiParser(LogParser):
    """Reads one session log."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """Subagents have a folder named after their caller's session."""
        if path.parent.parent.name == "chats":
            self._state.parent = path.parent.name
        return ""

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take the folder from `.project_root`, else from the list of projects.

        Before 2026 the folder of a project was named by the hash of its path.
        """
        self._state.cwd = texts.get(PROJECT_ROOT, "").strip()
        if not self._state.cwd:
            above = set(PurePosixPath(self._context.path).parts[-5:])
            for path, slug in mapping(object_in(texts.get(PROJECTS)).get("projects")).items():
                digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
                if {string(slug), digest} & above:
                    self._state.cwd = path

    def record(self, record: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a header, a message or a patch."""
        if "$set" in record:
            patch = mapping(record["$set"])
            self.header(patch)
            yield from self.messages(patch.get("messages"))
        elif "$rewindTo" in record:
            yield from self.event(
                "interrupt",
                "user",
                "rewound to an earlier message",
                native=string(record["$rewindTo"]),
                is_synthetic=True,
            )
        elif "type" in record or "role" in record:
            yield from self.message(record)
        elif "sessionId" in record:
            self.header(record)
            yield from self.messages(record.get("messages"))
        else:
            self.count("(no type)")

    def header(self, record: dict[str, Any]) -> None:
        """Take what a header or patch says of the session."""
        state = self._state
        state.session = string(record.get("sessionId")) or state.session
        state.is_sidechain = state.is_sidechain or record.get("kind") == "subagent"
        if not state.is_sidechain:
            state.parent = ""
        folders = [one for one in sequence(record.get("directories")) if isinstance(one, str)]
        state.cwd = folders[0] if folders else state.cwd
        state.model = string(mapping(record.get("meta")).get("model")) or state.model

    def messages(self, values: Any) -> Iterator[Event]:
        """Yield the events of a whole list of messages."""
        for message in sequence(values):
            if isinstance(message, dict):
                yield from self.message(message)

    def message(self, message: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of one message."""
        kind = first_string(message, "type", "role")
        native = string(message.get("id"))
        time = message.get("timestamp", message.get("ts"))
        self._ts = moment(time)
        native = native or (f"{time}" if isinstance(time, str | int | float) else "")
        content = message.get("content", message.get("parts"))
        if kind == "user":
            text = parts_text(message.get("displayContent")) or parts_text(content)
            yield from self.said(
                "prompt",
                "user",
                text,
                native=native,
                key="prompt",
                is_synthetic=text.startswith(_ENVELOPES),
            )
        elif kind in _MODEL_TYPES:
            yield from self._answer(message, native, parts_text(content))
        elif kind == "error":
            yield from self.said("error", "system", parts_text(content), native=native)
        elif kind == "info" and parts_text(content).startswith("Request cancelled"):
            text = parts_text(content)
            yield from self.event("interrupt", "user", text, native=native, ends_turn=True)
        elif kind not in _QUIET_TYPES:
            self.count(kind or "(no type)")

    def _answer(self, message: dict[str, Any], native: str, text: str) -> Iterator[Event]:
        self._state.model = string(message.get("model")) or self._state.model
        for number, thought in enumerate(map(mapping, sequence(message.get("thoughts")))):
            heading, body = string(thought.get("subject")), string(thought.get("description"))
            words = f"{heading}: {body}" if heading and body else heading or body
            ts = moment(thought.get("timestamp")) or self._ts
            key = f"thought {number}"
            yield from self.said("reasoning", "assistant", words, native=native, key=key, ts=ts)
        calls = [call for call in sequence(message.get("toolCalls")) if isinstance(call, dict)]
        yield from self.said(
            "text", "assistant", text, native=native, key="text", ends_turn=not calls
        )
        for number, call in enumerate(calls):
            yield from self._tool(call, native, number)

    def _tool(self, call: dict[str, Any], native: str, number: int) -> Iterator[Event]:
        name = string(call.get("name"))
        call_id = string(call.get("id")) or f"{native}.{number}"
        status = string(call.get("status"))
        ts = moment(call.get("timestamp")) or self._ts
        yield from self.call(name, call_id, call.get("args"), native=native, ts=ts)
        if status not in _DONE:
            return
        answers = [mapping(one) for one in sequence(call.get("result"))]
        responses = [mapping(answer.get("functionResponse")) for answer in answers]
        texts = [response_text(response.get("response")) for response in responses]
        text = "\n".join(one for one in texts if one) or string(call.get("resultDisplay"))
        is_shell = self._state.calls[call_id].category == "shell"
        exit_code = stated_exit_code(text) if is_shell else None
        yield from self.result(
            call_id,
            text,
            name=name,
            native=native,
            ts=ts,
            exit_code=exit_code,
            is_error=bool(exit_code) or status != "success",
            status=INTERRUPTED if status == "cancelled" else "",
        )


class GeminiDocumentParser(GeminiParser, DocumentParser):
    """Reads one session of the generation before the log."""

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole session."""
        record = mapping(value)
        self.header(record)
        messages = sequence(record.get("messages")) or sequence(record.get("history"))
        for number, message in enumerate(messages, 1):
            self.at(number)
            if isinstance(message, dict):
                yield from self.message(message)
