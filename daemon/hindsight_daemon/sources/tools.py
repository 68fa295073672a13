"""What tools do: category, command and files of a call, whatever the agent calls them.

For `sources` only. The result statuses that do not count as failures of the project are here too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

from hindsight_daemon.model import Record, ToolCategory, ToolUse
from hindsight_daemon.sources.fields import (
    MESSAGE_CHARS,
    bounded,
    compact,
    mapping,
    sequence,
    string,
)
from hindsight_daemon.sources.json_text import decode_json

INVALID = "invalid"
"""The harness refused the call (bad arguments, file not read yet); says nothing of the project."""
DENIED = "denied"
"""The user or a policy did not permit the call."""
INTERRUPTED = "interrupted"
"""The user stopped the call."""
RUNNING = "running"
"""The command goes on in the background; its end comes as a later result."""
TIMEOUT = "timeout"
"""The call was stopped because it took too long."""

CARRIED_COMMAND_CHARS = 2048
"""Longest command repeated on the result of its call."""
CARRIED_FILES = 32
MAX_OPEN_CALLS = 256

_NAMES: dict[ToolCategory, str] = {
    "shell": "bash shell shell_command exec_command local_shell run_shell_command execute_command "
    "terminal bashoutput write_stdin container.exec unified_exec run_terminal_cmd powershell "
    "developer__shell run_command taskoutput execute_bash run_terminal run_terminal_command "
    "run_in_terminal run_command_in_terminal shell_exec execute cmd read_bash write_bash",
    "edit": "edit multiedit write notebookedit apply_patch str_replace str_replace_editor "
    "str_replace_based_edit_tool create_file write_file replace edit_file delete_file "
    "insert_edit_into_file write_to_file apply_diff search_replace replace_in_file create save "
    "append patch strreplace create_new_file edit_existing_file replace_file_content "
    "multi_replace_file_content file_editor write_files developer__text_editor editor applypatch "
    "single_find_and_replace multi_edit copilot_createfile copilot_replacestring "
    "copilot_applypatch copilot_insertedit copilot_editfile",
    "read": "read read_file notebookread view view_image read_many_files open_file cat read_files "
    "view_file get_file readfile copilot_readfile",
    "search": "grep glob ls find search list_dir list_directory list_files search_files "
    "codebase_search tool_search grep_search file_search glob_file_search toolsearch "
    "search_file_content code_search find_by_name list_code_definition_names semanticsearch "
    "search_code finder file_glob_search copilot_findtextinfiles copilot_findfiles "
    "copilot_listdirectory copilot_searchcodebase",
    "web": "webfetch websearch web_search web_fetch google_web_search fetch browser fetchurl "
    "read_web_page search_web read_url_content fetch_url_content",
    "task": "task agent todowrite todoread update_plan spawn_agent wait_agent send_input "
    "close_agent exitplanmode enterplanmode skill slashcommand taskcreate taskupdate tasklist "
    "taskget killshell askuserquestion",
}
_CATEGORIES: dict[str, ToolCategory] = {
    name: category for category, names in _NAMES.items() for name in names.split()
}
_PATCH_FILES = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE
)
_PATH_FIELDS = (
    "file_path",
    "path",
    "notebook_path",
    "filePath",
    "filename",
    "target_file",
    "filepath",
    "absolute_path",
    "TargetFile",
    "AbsolutePath",
)
_COMMAND_FIELDS = ("command", "cmd", "script", "CommandLine", "commandLine")


class OpenCall(Record, frozen=True, kw_only=True, array_like=True):
    """What the result of a call repeats of it; small, since it is part of the resume state."""

    name: str
    category: ToolCategory = "other"
    command: str = ""
    files: tuple[str, ...] = ()


def category_of(name: str) -> ToolCategory:
    """Return the category of a tool by its name."""
    lowered = name.lower()
    if lowered.startswith("mcp__"):
        return "mcp"
    if found := _CATEGORIES.get(lowered):
        return found
    return "web" if lowered.startswith(("browser_", "web_")) else "other"


def command_line(value: Any) -> str:
    """Return a shell command given as text or argument list; `bash -lc X` gives X."""
    if isinstance(value, str):
        return value
    words = [word for word in sequence(value) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc", "-Command", "/c"):
        return words[2]
    return shlex.join(words)


def patched_files(text: str) -> tuple[str, ...]:
    """Return the files that an `apply_patch` text names."""
    return unique(_PATCH_FILES.findall(text)) if "*** " in text else ()


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct non-empty values in their order, a bounded number."""
    return tuple(dict.fromkeys(value for value in values if value))[:CARRIED_FILES]


def read_call(name: str, call_id: str, arguments: Any) -> tuple[ToolUse, OpenCall]:
    """Describe a tool call; `arguments` is its input as decoded JSON or as text."""
    category = category_of(name)
    decoded = arguments
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        try:
            decoded = decode_json(arguments)
        except ValueError:
            decoded = arguments
    fields = mapping(decoded)
    command = ""
    if category == "shell":
        given = (fields[name] for name in _COMMAND_FIELDS if name in fields)
        command = command_line(next(given, None))
        if not command and isinstance(decoded, str):
            command = decoded
    files = _files_of(category, fields, decoded, command)
    if category == "shell" and "*** Begin Patch" in command:
        category = "edit"
    command = bounded(command, MESSAGE_CHARS)
    use = ToolUse(
        name=name,
        category=category,
        call_id=call_id,
        arguments=command or compact(arguments),
        command=command,
    )
    carried = bounded(command, CARRIED_COMMAND_CHARS)
    return use, OpenCall(name=name, category=category, command=carried, files=files)


def _files_of(
    category: ToolCategory, fields: dict[str, Any], decoded: Any, command: str
) -> tuple[str, ...]:
    if category == "shell":
        return patched_files(command)
    if category not in ("edit", "read"):
        return ()
    named = [string(fields.get(name)) for name in _PATH_FIELDS]
    patch = decoded if isinstance(decoded, str) else fields.get("patch", fields.get("input"))
    return unique([*named, *patched_files(string(patch))])
