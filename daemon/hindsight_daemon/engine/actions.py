"""The tool calls of a task paired with their results, and whether each one succeeded.

Pure; imports records and `commands`. A transcript often hides a failure (a pipe into `tail`
exits 0) or dresses up noise as one (a rejected permission, `grep` without a match); both are
told apart here, so that everything above can trust `state`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from hindsight_daemon.engine.commands import Command, decisive, parse
from hindsight_daemon.engine.prefilter import Prefilter
from hindsight_daemon.engine.task import Task
from hindsight_daemon.model import Event, Record, ToolCategory

ActionState = Literal["ok", "failed", "noise", "unknown"]


class Action(Record, frozen=True, kw_only=True):
    """One tool call with its result.

    `index` and `result_index` are positions in the task's events (-1: there is none); `command`
    is the decisive part of a shell line; `output` is the result's text.
    """

    index: int
    result_index: int
    call: Event
    result: Event | None
    category: ToolCategory
    state: ActionState
    output: str = ""
    line: str = ""
    command: Command | None = None
    files: tuple[str, ...] = ()

    @property
    def ends_at(self) -> int:
        return max(self.index, self.result_index)

    @property
    def is_edit(self) -> bool:
        return self.category == "edit" and self.state != "noise"

    @property
    def verifies(self) -> bool:
        return self.command is not None and self.command.verifies


def actions_of(task: Task) -> tuple[Action, ...]:
    """Return the task's actions in order of their calls; orphan results are left out."""
    calls: dict[str, int] = {}
    results: dict[int, int] = {}
    waiting: list[int] = []
    for index, event in enumerate(task.events):
        if event.kind == "tool_call":
            waiting.append(index)
            if event.tool is not None and event.tool.call_id:
                calls[event.tool.call_id] = index
        elif event.kind == "tool_result":
            call_id = event.tool.call_id if event.tool is not None else ""
            target = calls.get(call_id) if call_id else (waiting[0] if waiting else None)
            if target is not None:
                results[target] = index
                if target in waiting:
                    waiting.remove(target)
    return tuple(
        _action(task.events, index, results.get(index, -1))
        for index, event in enumerate(task.events)
        if event.kind == "tool_call"
    )


def _action(events: Sequence[Event], index: int, result_index: int) -> Action:
    call = events[index]
    result = events[result_index] if result_index >= 0 else None
    tool = call.tool
    line = tool.command if tool is not None else ""
    category: ToolCategory = tool.category if tool is not None else "other"
    if line and "*** Begin Patch" in line:
        category = "edit"
    elif line and category == "other":
        category = "shell"
    command = decisive(line, call.cwd) if category == "shell" and line else None
    if category == "shell" and command is not None and _writes_file(line, command):
        category = "edit"
    files = tuple(dict.fromkeys((*call.files, *(result.files if result is not None else ()))))
    if category == "edit" and not files:
        files = _written_files(tool.arguments if tool is not None else "", line)
    return Action(
        index=index,
        result_index=result_index,
        call=call,
        result=result,
        category=category,
        state=_state(category, command, result),
        output=result.text if result is not None else "",
        line=line,
        command=command,
        files=tuple(shorten_path(path, call.cwd) for path in files),
    )


def shorten_path(path: str, cwd: str) -> str:
    """Return `path` relative to `cwd` where it lies below it."""
    prefix = cwd.rstrip("/") + "/"
    return path[len(prefix) :] if cwd and path.startswith(prefix) else path


def arguments_of(action: Action) -> dict[str, Any]:
    """Return the call's input where it is a JSON object, else an empty one."""
    text = action.call.tool.arguments if action.call.tool is not None else ""
    if not text.startswith("{"):
        return {}
    try:
        decoded = json.loads(text)
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


_NOISE = frozenset(("invalid", "denied", "interrupted", "cancelled", "canceled"))
"""Result statuses of `sources` that say nothing about the project."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.M)
_HARNESS = re.compile(
    r"<tool_use_error>|The user doesn.t want to proceed|doesn.t want to take this action"
    r"|requested permissions? to|haven.t granted it|\[Request interrupted|rejected by (?:the )?user"
    r"|user rejected|denied by (?:the )?(?:user|policy|sandbox)|File has not been read yet"
    r"|has been modified since read|String to replace not found|operation was aborted"
    r"|approval (?:was )?(?:denied|required)|tool call (?:was )?(?:cancelled|canceled)"
    r"|Found \d+ matches of the string",
    re.I,
)
_SERIOUS = re.compile(
    r"fatal:|panic:|Traceback|No such file|not found|denied|cannot connect|refused|unauthori[sz]ed"
    r"|expired|\berror\b|错误|失败|无法",
    re.I,
)
_FAILED_RUN = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED\b|^FAIL\b|--- FAIL:|\bFAILURES!"
    r"|^E {3}|Traceback \(most recent call last\)|error TS\d+:|error\[E\d+\]|^error: (?!.*0 )"
    r"|BUILD FAILED|BUILD FAILURE|Build failed|npm ERR!|npm error|ELIFECYCLE|Failed to compile"
    r"|make: \*\*\*|make\[\d+\]: \*\*\*|test result: FAILED|Tests:.*\b[1-9]\d* failed"
    r"|Segmentation fault|command not found|: fatal error|timed out after|Found [1-9]\d* errors?\b"
    r"|(?:测试|构建|编译)失败",
    re.M,
)
_MAY_HAVE_FAILED = Prefilter([_FAILED_RUN])
_PASSED_RUN = re.compile(
    r"\b\d+ (?:passed|passing)\b|^ok\s+\S+|^PASS\b|test result: ok|BUILD SUCCESS|Build succeeded"
    r"|Tests:\s+\d+ passed|All checks passed|no issues found|^OK\b|Compiled successfully"
    r"|0 errors|测试通过|构建成功|Finished `?(?:dev|test|release)|All tests passed|0 failed",
    re.M | re.I,
)
_MAY_HAVE_PASSED = Prefilter([_PASSED_RUN])
_RAN_NOTHING = re.compile(
    r"No files were processed|no tests ran|collected 0 items|No tests? (?:found|files found"
    r"|suites found)|no test files\]\s*\Z|0 tests? (?:run|found)"
    r"|No test specified|没有找到测试",
    re.I,
)
_MAY_BE_EMPTY = Prefilter([_RAN_NOTHING])
"""A verification that checked nothing says nothing."""
_TIMED_OUT = re.compile(
    r"command timed out|timed out after \d+|^Timeout >|Timeout \(>", re.I | re.M
)
_WRITES = re.compile(
    r"(?:^|[;&|]\s*)(?:cat|tee|echo|printf)\b[^|;&]*?(?:>|tee\s)\s*(?!/dev/|&)([\w./~-]+)"
)
_EDIT_SCRIPT = re.compile(r"(?:\d|\$|/.*/)*(?:[sy]([/|#,@!:]).*\1.*\1|[aicd]\b)")
_IN_PLACE = re.compile(r"\b(?:sed|perl)\s+(?:-\w+\s+)*-\w*i\b")


def _writes_file(line: str, command: Command) -> bool:
    if command.verifies or command.role == "commit":
        return False
    return bool(_WRITES.search(line) or _IN_PLACE.search(line) or "apply_patch" in line[:200])


def _written_files(arguments: str, line: str) -> tuple[str, ...]:
    found = _PATCHED.findall(line) or _PATCHED.findall(arguments.replace("\\n", "\n"))
    if not found:
        found = _WRITES.findall(line)
    if not found and _IN_PLACE.search(line):
        named = [target for c in parse(line) for target in c.targets]
        found = [one for one in named if "." in one and not _EDIT_SCRIPT.match(one)]
    return tuple(dict.fromkeys(name.strip().strip("\"'\\") for name in found))


def _state(category: ToolCategory, command: Command | None, result: Event | None) -> ActionState:
    if result is None:
        return "unknown"
    text, tool = result.text, result.tool
    status = tool.status if tool is not None else ""
    if status in _NOISE:
        return "noise"
    if status in ("timeout", "error", "failed"):
        return "failed"
    code = tool.exit_code if tool is not None else None
    flagged = tool.is_error if tool is not None else None
    if (flagged or code) and _HARNESS.search(text[:600]):
        return "noise"
    if category != "shell":
        if flagged:
            return "failed"
        return "ok" if flagged is False or code == 0 else "unknown"
    verifies = command is not None and command.verifies
    if verifies and _MAY_BE_EMPTY.may_match(text) and _RAN_NOTHING.search(text):
        return "noise"
    if code:
        weak = code == 1 and command is not None and command.role == "read"
        return "noise" if weak and not _SERIOUS.search(text[:2000]) else "failed"
    if flagged:
        return "failed"
    if _TIMED_OUT.search(text[:300]):
        return "failed"
    if verifies and _MAY_HAVE_FAILED.may_match(text) and _FAILED_RUN.search(text):
        return "failed"
    if code == 0 or flagged is False:
        return "ok"
    if verifies and _MAY_HAVE_PASSED.may_match(text) and _PASSED_RUN.search(text):
        return "ok"
    return "unknown"
