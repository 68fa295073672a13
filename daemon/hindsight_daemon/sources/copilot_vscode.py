"""Copilot Chat of VS Code: `workspaceStorage/<hash>/chatSessions/<session>.json` or `.jsonl`.

The lines form is a log of operations on the document, which are replayed. The folder of the
workspace is in `workspace.json` above the sessions.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser, decoded
from hindsight_daemon.sources.cline import editor_storage
from hindsight_daemon.sources.fields import (
    content_text,
    first_string,
    folder_of_uri,
    integer,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import decode_object, object_in
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has, line_share

AGENT = "copilot-vscode"
_WORKSPACE = "workspace.json"
_WORDS = names("markdownContent markdownVuln")
_QUIET = names(
    "inlineReference codeblockUri textEditGroup notebookEditGroup undoStop prepareToolInvocation "
    "mcpServersStarting progressTaskSerialized progressMessage confirmation warning command "
    "treeData references usedContext codeCitation extensions pullRequest multiDiffData "
    "elicitation elicitationSerialized move progressTask clearToPreviousToolInvocation hook "
    "workspaceEdit questionCarousel toolInvocation externalEdit disabledClaudeHooks"
)


class VsCodeChatParser(BlockDocumentParser):
    """Reads one chat session."""

    agent = AGENT

    def session_of_path(self, path: PurePosixPath) -> str:
        """The file is named after its session."""
        return path.stem if path.parent.name.endswith("hatSessions") else ""

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take the folder of the workspace, or the one that holds the workspace's own file."""
        workspace = object_in(texts.get(_WORKSPACE))
        file = folder_of_uri(first_string(workspace, "workspace", "configuration"))
        self._state.cwd = folder_of_uri(string(workspace.get("folder"))) or posixpath.dirname(file)

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole session."""
        session = mapping(value)
        self._state.session = string(session.get("sessionId"))
        for number, request in enumerate(map(mapping, sequence(session.get("requests"))), 1):
            self.at(number)
            yield from self._request(request, string(request.get("requestId")))

    def _request(self, request: dict[str, Any], native: str) -> Iterator[Event]:
        self._ts = moment(request.get("timestamp"))
        self._state.model = string(request.get("modelId"))
        message = mapping(request.get("message"))
        text = string(message.get("text")) or content_text(message.get("parts"))
        yield from self.said("prompt", "user", text, native=native)
        result = mapping(request.get("result"))
        yield from self._response(sequence(request.get("response")), result, native)
        error = mapping(result.get("errorDetails"))
        if request.get("isCanceled") is True or error.get("responseIsIncomplete") is True:
            yield from self.event("interrupt", "user", "cancelled", native=native, ends_turn=True)
        elif error:
            text = string(error.get("message")) or "error"
            yield from self.event("error", "system", text, native=native, ends_turn=True)
        elif result:
            yield from self.end_turn(native=native)

    def _response(self, parts: list[Any], result: dict[str, Any], native: str) -> Iterator[Event]:
        """Yield the parts of an answer, neighbouring words joined."""
        rounds = sequence(mapping(result.get("metadata")).get("toolCallRounds"))
        calls = [
            mapping(one) for each in rounds for one in sequence(mapping(each).get("toolCalls"))
        ]
        arguments = {string(call.get("id")): call.get("arguments") for call in calls}
        words: list[str] = []
        place = 0
        for part in [*map(mapping, parts), {"kind": "end"}]:
            kind = string(part.get("kind"))
            if not kind or kind in _WORDS:
                words.append(string(part.get("value")) or _content(part.get("content")))
                continue
            if kind == "inlineReference":
                name = first_string(part, "name")
                words.append(f"`{name}`" if name else "")
                continue
            if kind not in ("thinking", "toolInvocationSerialized", "end"):
                if kind not in _QUIET:
                    self.count(f"part {kind}")
                continue
            key = f"text {place}"
            yield from self.said("text", "assistant", "".join(words), native=native, key=key)
            words, place = [], place + 1
            if kind == "thinking":
                thought = string(part.get("value")) or content_text(part.get("content"))
                thought = thought or _content(part.get("content"))
                yield from self.said("reasoning", "assistant", thought, native=native)
            elif kind == "toolInvocationSerialized":
                yield from self._invocation(part, arguments, native)

    def _invocation(
        self, part: dict[str, Any], arguments: dict[str, Any], native: str
    ) -> Iterator[Event]:
        call_id, name = string(part.get("toolCallId")), string(part.get("toolId"))
        specific = mapping(part.get("toolSpecificData"))
        line = specific.get("commandLine")
        command = string(line) or first_string(
            mapping(line), "userEdited", "toolEdited", "original"
        )
        command = command or string(specific.get("command"))
        if command and call_id not in arguments:
            given: Any = {"command": command}
            name = name if name.endswith("terminal") else "run_in_terminal"
        else:
            given = decoded(arguments.get(call_id, _content(part.get("invocationMessage"))))
        yield from self.call(name, call_id, given, native=native)
        if part.get("isComplete") is False:
            return
        state = mapping(specific.get("terminalCommandState"))
        output = mapping(specific.get("terminalCommandOutput"))
        details = part.get("resultDetails")
        text = string(output.get("text")) or _content(mapping(details).get("output"))
        text = text or _content(part.get("pastTenseMessage"))
        is_error = mapping(details).get("isError")
        yield from self.outcome(
            call_id,
            text,
            is_error if isinstance(is_error, bool) else None,
            name=name,
            exit_code=integer(state.get("exitCode")),
            native=native,
        )


class VsCodeLogParser(VsCodeChatParser):
    """Reads the log of operations on a session."""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of the document that the operations make."""
        self.begin(line)
        document: Any = None
        for number, text in enumerate(line.text.split("\n"), 1):
            if not text.strip():
                continue
            try:
                operation = decode_object(text)
            except ValueError as exc:
                self.skipped.append(Skipped(line=number, reason=str(exc)))
                continue
            document = replayed(document, operation)
        yield from self.document(document)


def replayed(document: Any, operation: dict[str, Any]) -> Any:
    """Apply one operation: 0 sets all, 1 sets, 2 appends from a place on, 3 deletes."""
    kind, path, value = operation.get("kind"), operation.get("k"), operation.get("v")
    if kind == 0:
        return value
    keys = sequence(path)
    if not keys or document is None:
        return document
    holder = document
    for key in keys[:-1]:
        holder = _child(holder, key)
    last = keys[-1]
    if kind == 2:
        target = _child(holder, last)
        if isinstance(target, list):
            start = integer(operation.get("i"))
            del target[len(target) if start is None else max(0, start) :]
            target.extend(sequence(value))
    elif isinstance(holder, dict) and isinstance(last, str):
        if kind == 1:
            holder[last] = value
        else:
            holder.pop(last, None)
    elif isinstance(holder, list) and isinstance(last, int) and 0 <= last < len(holder):
        if kind == 1:
            holder[last] = value
        else:
            del holder[last]
    return document


def _child(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict) and isinstance(key, str):
        return holder.get(key)
    if isinstance(holder, list) and isinstance(key, int) and -1 < key < len(holder):
        return holder[key]
    return None


def _content(value: Any) -> str:
    """Return text given as such, as `{value}`, or as a list of outputs."""
    if isinstance(value, list):
        return "\n".join(text for text in map(_content, value) if text)
    return string(value) or string(mapping(value).get("value"))


class CopilotVsCode:
    """The sessions that are one document."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a document with requests and responses."""
        is_session = has(head, "requests[].message", "requests[].requestId")
        is_empty = has(head, "requests", "sessionId", "responderUsername")
        return FULL if is_session or is_empty else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the storage of workspaces, and of windows without one, of the editors."""
        users = editor_storage(env, home)
        windows = [user / "globalStorage" / "emptyWindowChatSessions" for user in users]
        return [*(user / "workspaceStorage" for user in users), *windows]

    def matches(self, path: Path) -> bool:
        """Accept chat sessions."""
        return path.suffix == ".json" and path.parent.name.endswith("hatSessions")

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the description of the workspace."""
        return (path.parent.with_name(_WORKSPACE),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return VsCodeChatParser(context)


def _weigh(record: dict[str, Any]) -> float:
    kind = record.get("kind")
    if kind == 0:
        return 2.0 * ("requests" in mapping(record.get("v")))
    return float(kind in (1, 2, 3) and isinstance(record.get("k"), list))


class CopilotVsCodeLog(CopilotVsCode):
    """The sessions that are a log of operations."""

    name = f"{AGENT}-log"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of operations; the first gives the document."""
        if not head.lstrip().startswith('{"kind":'):
            return 0.0
        return line_share(head, path, _weigh)

    def matches(self, path: Path) -> bool:
        """Accept chat sessions."""
        return path.suffix == ".jsonl" and path.parent.name.endswith("hatSessions")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return VsCodeLogParser(context)


SOURCE = CopilotVsCode()
LOG = CopilotVsCodeLog()
