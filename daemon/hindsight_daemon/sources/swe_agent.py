"""SWE-agent trajectories (`<instance>.traj`) and those of mini-SWE-agent (`<instance>.traj.json`).

Neither has times. The working folder is one of a container. How a run ended is told, not whether
it was right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.model import Event
from hindsight_daemon.sources.block_messages import BlockDocumentParser
from hindsight_daemon.sources.fields import (
    content_text,
    integer,
    mapping,
    moment,
    names,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import decode_json
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has

_COMMANDS = {
    **dict.fromkeys(("create", "edit", "insert", "append", "str_replace"), "edit"),
    **dict.fromkeys(("open", "goto", "scroll_up", "scroll_down"), "read"),
    **dict.fromkeys(("find_file", "search_file", "search_dir"), "search"),
    **dict.fromkeys(("submit", "exit_forfeit"), "submit"),
}
_EDITOR = "str_replace_editor"
_PROMPT = re.compile(r"\n?(?:\(Open file: [^\n]*\)\n\(Current directory: [^\n]*\)\n)?bash-\$\s*\Z")
_ENDED = names("submitted Submitted")
_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"\s*<returncode>(-?\d+)</returncode>\s*")
_OUTPUT = re.compile(r"<output(?:_head)?>\n?(.*)</output(?:_tail)?>", re.DOTALL)
_FINAL = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class SweParser(BlockDocumentParser):
    """Reads one trajectory of SWE-agent."""

    agent = "swe-agent"

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the task, the steps and the end."""
        document = mapping(value)
        history = [mapping(one) for one in sequence(document.get("history"))]
        steps = [mapping(one) for one in sequence(document.get("trajectory"))]
        self.at(1)
        for message in history:
            if message.get("role") == "user" and not message.get("is_demo"):
                text = _without_shell_prompt(content_text(message.get("content")))
                yield from self.said("prompt", "user", text, native="task")
                break
        for number, step in enumerate(steps or _steps_of(history), 2):
            self.at(number)
            yield from self._step(step, f"step {number - 1}")
        yield from self._end(mapping(document.get("info")))

    def _step(self, step: dict[str, Any], native: str) -> Iterator[Event]:
        state = step.get("state")
        if isinstance(state, str):
            try:
                state = decode_json(state)
            except ValueError:
                state = {}
        state = mapping(state)
        self._state.cwd = string(state.get("working_dir")) or self._state.cwd
        thought = string(step.get("thought")) or string(step.get("response"))
        yield from self.said("text", "assistant", thought, native=native)
        action = string(step.get("action")).strip()
        if not action:
            return
        name, arguments = _read_action(action, string(state.get("open_file")))
        yield from self.call(name, native, arguments, native=native)
        observation = _without_shell_prompt(content_text(step.get("observation")))
        yield from self.outcome(native, observation, None, native=native)

    def _end(self, info: dict[str, Any]) -> Iterator[Event]:
        status = string(info.get("exit_status"))
        if status in _ENDED:
            text = f"exit status: {status}"
            yield from self.event(
                "text", "system", text, native="end", is_synthetic=True, ends_turn=True
            )
        elif status:
            text = f"exit status: {status}"
            yield from self.event("error", "system", text, native="end", ends_turn=True)


def _steps_of(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rebuild the steps from the messages, where only these are kept."""
    steps: list[dict[str, Any]] = []
    for message in history:
        if message.get("is_demo"):
            continue
        content = content_text(message.get("content"))
        if message.get("role") == "assistant":
            steps.append({"response": content, **message})
        elif steps and message.get("role") in ("user", "tool"):
            steps[-1] = {**steps[-1], "observation": content}
    return steps


def _without_shell_prompt(text: str) -> str:
    return _PROMPT.sub("", text)


def _read_action(action: str, open_file: str) -> tuple[str, Any]:
    """Return tool name and arguments of an action; what is no command of the agent is a shell's."""
    words = action.split(None, 2)
    kind = _COMMANDS.get(words[0], "")
    if words[0] == _EDITOR and len(words) > 2:
        name = "view" if words[1] == "view" else _EDITOR
        return name, {"path": words[2].split()[0].strip("\"'"), "command": action}
    named = words[1].strip("\"'") if len(words) > 1 else ""
    if kind == "edit":
        path = named if words[0] == "create" else "" if open_file == "n/a" else open_file
        return words[0], {"path": path, "text": action}
    if kind == "read":
        return "open_file", {"path": named if words[0] == "open" else open_file, "text": action}
    if kind:
        return words[0], action
    return "bash", {"command": action}


class MiniParser(BlockDocumentParser):
    """Reads one trajectory of mini-SWE-agent: a list of messages, bare or with its end."""

    agent = "mini-swe-agent"

    def document(self, value: Any) -> Iterator[Event]:
        """Yield the task, the commands with their results, and the end."""
        info = mapping(mapping(value).get("info"))
        messages = sequence(value) or sequence(mapping(value).get("messages"))
        model = mapping(mapping(info.get("config")).get("model"))
        self._state.model = string(model.get("model_name"))
        is_first = True
        for number, message in enumerate(map(mapping, messages), 1):
            self.at(number)
            native = f"message {number}"
            self._ts = moment(mapping(message.get("extra")).get("timestamp"))
            role, text = string(message.get("role")), content_text(message.get("content"))
            if role == "assistant":
                yield from self._command(message, text, native)
            elif role in ("user", "tool"):
                if is_first:
                    yield from self.said("prompt", "user", text, native=native)
                else:
                    yield from self._observation(message, text, native)
                is_first = False
            elif role not in ("system", "exit"):
                self.count(f"role {role or '(none)'}")
        status = string(info.get("exit_status"))
        if status and status not in _ENDED:
            yield from self.event(
                "error", "system", f"exit status: {status}", native="end", ends_turn=True
            )
        elif status or self._state.last_kind == "tool_result":
            yield from self.end_turn(native="end")

    def _command(self, message: dict[str, Any], text: str, native: str) -> Iterator[Event]:
        calls = sequence(message.get("tool_calls"))
        match = None if calls else _FENCE.search(text)
        is_end = match is None and not calls
        self._state.calls.clear()
        yield from self.assistant_message(text, tool_calls=calls, ends=is_end, native=native)
        if match:
            yield from self.call("bash", native, {"command": match[1]}, native=native)

    def _observation(self, message: dict[str, Any], text: str, native: str) -> Iterator[Event]:
        match = _CODE.match(text)
        extra = mapping(message.get("extra"))
        code = int(match[1]) if match else integer(extra.get("returncode"))
        waiting = next(iter(self._state.calls), "")
        if not waiting:  # what the harness says when an answer held no command
            yield from self.said("prompt", "user", text, native=native, is_synthetic=True)
            return
        call = self._state.calls[waiting]
        if code is None and call.command.lstrip().startswith(f"echo {_FINAL}"):
            code = 0  # only a command that succeeded submits
        output = _OUTPUT.search(text)
        text = output[1].strip("\n") if output else text
        call_id = string(message.get("tool_call_id"))
        call_id = call_id if call_id in self._state.calls else waiting
        yield from self.result(call_id, text, exit_code=code, native=native)


class SweAgent:
    """The SWE-agent family."""

    name = "swe-agent"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept a document with a trajectory of steps, or with a history of messages."""
        if has(head, "trajectory[].action", "trajectory[].observation"):
            return FULL
        is_history = has(head, "history[].role", "history[].agent") or (
            has(head, "history[].role") and path.endswith(".traj")
        )
        return FULL if is_history else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """They lie where they were run; nobody has a default place."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept trajectories."""
        return path.suffix == ".traj"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one trajectory."""
        return SweParser(context)


class MiniSweAgent:
    """The mini-SWE-agent family."""

    name = "mini-swe-agent"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept messages of a run whose commands come back with their return codes."""
        is_run = has(head, "messages[].role", "info") or has(head, "[].role", "[].content")
        is_own = "<returncode>" in head or "mswea_bash_command" in head or _FINAL in head
        is_own = is_own or '"mini-swe-agent' in head
        return 0.96 if is_run and (is_own or path.endswith(".traj.json")) else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folder where the interactive tool leaves its last runs."""
        if env.get("MSWEA_GLOBAL_CONFIG_DIR"):
            return [Path(env["MSWEA_GLOBAL_CONFIG_DIR"])]
        config = env.get("XDG_CONFIG_HOME", "")
        return [(Path(config) if config else home / ".config") / "mini-swe-agent"]

    def matches(self, path: Path) -> bool:
        """Accept trajectories."""
        return path.name.endswith(".traj.json")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one trajectory."""
        return MiniParser(context)


SOURCE = SweAgent()
MINI = MiniSweAgent()
