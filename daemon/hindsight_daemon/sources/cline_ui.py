"""Tasks of Cline, Roo Code and Kilo Code as shown to the user: `tasks/<id>/ui_messages.json`.

A list of asks and says, rewritten whole. Streamed messages are marked `partial` until they are
complete; a file left by a crash may hold nothing but the partial form, which is then what was
said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser, decoded
from hindsight_daemon.sources.cline_store import WORKING_FOLDER
from hindsight_daemon.sources.fields import first_string, mapping, moment, names, sequence, string
from hindsight_daemon.sources.json_text import object_in
from hindsight_daemon.sources.port import TranscriptContext
from hindsight_daemon.sources.tools import DENIED

HISTORY_ITEM, HISTORY = "history_item.json", "api_conversation_history.json"
_LINE_END = re.compile(r"(?<!\\)\\n")
_PROMPTS = names("task user_feedback user_feedback_diff")
_ERRORS = names(
    "error diff_error rooignore_error clineignore_error api_req_failed mistake_limit_reached "
    "auto_approval_max_req_reached"
)
_QUIET = names(
    "api_req_started api_req_finished api_req_retried api_req_retry_delayed checkpoint_created "
    "checkpoint_saved mcp_server_request_started load_mcp_documentation info task_progress "
    "browser_action_launch browser_action browser_action_result subtask_result resume_task "
    "resume_completed_task command_output followup new_task plan_mode_respond act_mode_respond "
    "shell_integration_warning deleted_api_reqs hook hook_output_stream generate_explanation "
    "codebase_search_result condense_context_error sliding_window_truncation todo report_bug "
    "conversation_history_index interactive_session condense summarize_task user_edit_todos"
)
_TOOLS = {
    "readFile": "read_file",
    "editedExistingFile": "replace_in_file",
    "appliedDiff": "apply_diff",
    "newFileCreated": "write_to_file",
    "fileDeleted": "delete_file",
    "listFilesTopLevel": "list_files",
    "listFilesRecursive": "list_files",
    "searchFiles": "search_files",
    "codebaseSearch": "codebase_search",
    "webFetch": "web_fetch",
    "webSearch": "web_search",
}
_APPROVED = re.compile(r"(?:COMMAND_)?REQ_APP$")
_STOPS = names("user_cancelled")


class ClineUiParser(BlockDocumentParser):
    """Reads one task."""

    agent = "cline"

    def __init__(self, context: TranscriptContext, agent: str = "cline") -> None:
        super().__init__(context)
        self.agent = agent
        self._command = ""
        self._printed: list[str] = []

    def told_beside(self, texts: Mapping[str, str]) -> None:
        """Take folder and caller from `history_item.json`, else the folder told to the model."""
        item, state = object_in(texts.get(HISTORY_ITEM)), self._state
        state.cwd = first_string(item, "workspace", "cwdOnTaskInitialization")
        state.parent = string(item.get("parentTaskId"))
        # The history may be long and is cut, so that it is searched as the JSON text that it is.
        sent = _LINE_END.sub("\n", texts.get(HISTORY, ""))
        if not state.cwd and (match := WORKING_FOLDER.search(sent)):
            state.cwd = match[1].replace("\\\\", "\\")

    def session_of_path(self, path: PurePosixPath) -> str:
        """The folder is the task."""
        return path.parent.name if path.parent.parent.name == "tasks" else ""

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the events of the whole task."""
        messages = [message for message in sequence(value) if isinstance(message, dict)]
        for number, message in enumerate(messages, 1):
            following = messages[number] if number < len(messages) else {}
            self.at(number)
            self._ts = moment(message.get("ts"))
            if message.get("partial") is True and _is_same(message, following):
                continue
            yield from self._message(message, f"{number}@{message.get('ts')}", number == 1)

    def _message(self, message: dict[str, Any], native: str, is_first: bool) -> Iterator[Event]:
        kind = string(message.get("say")) or string(message.get("ask"))
        text = string(message.get("text"))
        is_ask = message.get("type") == "ask"
        thought = string(message.get("reasoning"))
        yield from self.said("reasoning", "assistant", thought, native=native)
        if kind in _PROMPTS or (is_first and kind == "text"):
            yield from self._refused()
            yield from self.said("prompt", "user", text, native=native)
        elif kind in ("text", "reasoning"):
            what: Any = "text" if kind == "text" else "reasoning"
            yield from self.said(what, "assistant", text, native=native)
        elif kind == "completion_result":
            yield from self.said("text", "assistant", text, native=native, ends_turn=True)
            if not text.strip():
                yield from self.end_turn(native=native)
        elif kind == "command":
            command = re.sub(_APPROVED, "", text)
            self._command, self._printed = native, []
            yield from self.call("execute_command", native, {"command": command}, native=native)
        elif kind == "command_output" and text:
            yield from self._output(text)
        elif kind == "tool":
            yield from self._tool(mapping(decoded(text)), native)
        elif kind in ("use_mcp_server", "mcp_server_response"):
            yield from self._mcp(kind, text, native)
        elif kind in _ERRORS:
            ends = is_ask
            yield from self.event("error", "system", text or kind, native=native, ends_turn=ends)
        elif kind in ("followup", "plan_mode_respond", "act_mode_respond"):
            asked = mapping(decoded(text))
            words = first_string(asked, "question", "response") or text
            yield from self.said("text", "assistant", words, native=native, ends_turn=is_ask)
        else:
            yield from self._mark(kind, message, text, native)

    def _mark(self, kind: str, message: dict[str, Any], text: str, native: str) -> Iterator[Event]:
        if kind == "api_req_started":
            request = mapping(decoded(text))
            reason = string(request.get("cancelReason"))
            if reason in _STOPS:
                yield from self.event("interrupt", "user", reason, native=native, ends_turn=True)
            elif reason:
                failure = string(request.get("streamingFailedMessage")) or reason
                yield from self.event("error", "system", failure, native=native, ends_turn=True)
        elif kind == "resume_task":
            text = "the task was interrupted"
            yield from self.event("interrupt", "user", text, native=native, ends_turn=True)
        elif kind in ("condense_context", "summarize_task"):
            summary = string(mapping(message.get("contextCondense")).get("summary")) or text
            yield from self.event("compaction", "system", summary, native=native, is_synthetic=True)
        elif kind not in _QUIET:
            self.count(kind or "(no kind)")

    def _output(self, text: str) -> Iterator[Event]:
        """Yield the output of the latest command; its portions grow one result."""
        call = self._state.calls.get(self._command)
        if call is None:
            return
        self._printed.append(text)
        native = self._command
        yield from self.outcome(native, "\n".join(self._printed), None, native=native)
        self._state.calls[native] = call

    def _refused(self) -> Iterator[Event]:
        """Yield the end of a command that the user answered with words instead of leave."""
        if self._command in self._state.calls and not self._printed:
            native = self._command
            yield from self.outcome(native, "", True, status=DENIED, native=native)

    def _tool(self, tool: dict[str, Any], native: str) -> Iterator[Event]:
        name = string(tool.get("tool"))
        if not name:
            return
        arguments = {key: value for key, value in tool.items() if key not in ("tool", "content")}
        if "content" in tool and "diff" not in tool:
            arguments["content"] = tool["content"]
        yield from self.call(_TOOLS.get(name, name), native, arguments, native=native)
        self._state.calls.pop(native, None)  # its result is shown to the model only

    def _mcp(self, kind: str, text: str, native: str) -> Iterator[Event]:
        if kind == "use_mcp_server":
            use = mapping(decoded(text))
            tool = first_string(use, "toolName", "uri")
            name = f"mcp__{string(use.get('serverName'))}__{tool}"
            yield from self.call(name, native, decoded(use.get("arguments")), native=native)
            return
        calls = self._state.calls
        call_id = next((one for one, call in calls.items() if call.category == "mcp"), "")
        yield from self.outcome(call_id, text, None, native=native)


def _is_same(message: dict[str, Any], following: dict[str, Any]) -> bool:
    """Tell whether the next message is the continued form of a partial one."""
    begin, whole = string(message.get("text")), string(following.get("text"))
    same_kind = all(message.get(name) == following.get(name) for name in ("type", "say", "ask"))
    return same_kind and whole.startswith(begin.rstrip(". …"))
