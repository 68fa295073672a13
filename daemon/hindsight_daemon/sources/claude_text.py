"""How Claude Code wraps texts: envelopes around prompts, wordings of tool results.

For the Claude Code source only; pure functions over text.
"""

from __future__ import annotations

import re

from hindsight_daemon.model import EventKind, Record
from hindsight_daemon.sources.fields import names
from hindsight_daemon.sources.tools import DENIED, INTERRUPTED, INVALID, RUNNING, TIMEOUT

_IDE_NOTE = re.compile(r"\s*<(ide_[a-z_]+)>.*?</\1>\s*", re.DOTALL)
_MAX_TAG_CHARS = 16 * 1024
_TAG = r"<{0}>(.*?)</{0}>"
_COMMAND_NAME = re.compile(_TAG.format("command-name"), re.DOTALL)
_COMMAND_ARGS = re.compile(_TAG.format("command-args"), re.DOTALL)
_BASH_INPUT = re.compile(_TAG.format("bash-input"), re.DOTALL)
_TOOL_ERROR = re.compile(r"\s*<tool_use_error>(.*?)(?:</tool_use_error>\s*)?\Z", re.DOTALL)
_EXIT_CODE = re.compile(r"\s*(?:Error: )?Exit code (-?\d+)\b")
_TASK_FIELD = {
    name: re.compile(_TAG.format(name), re.DOTALL)
    for name in ("task-id", "tool-use-id", "status", "summary", "result")
}
_SUMMARY_EXIT = re.compile(r"exit code (-?\d+)")

_BUILT_IN_COMMANDS = names(
    "add-dir agents bashes bug clear color compact config context copy cost cwd doctor effort exit "
    "export extra-usage fast feedback fork help hooks ide install-github-app keybindings login "
    "logout mcp memory mobile model output-style passes permissions plan plugin privacy-settings "
    "quit reload-plugins remote-control rename resume rewind sandbox skills stats status "
    "statusline tasks terminal-setup theme todos upgrade usage vim"
)
_ENVELOPES = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<teammate-message",
    "<channel",
    "<environment_context>",
    "<user-memory-input>",
    "<user-prompt-submit-hook>",
    "<session-start-hook>",
    "Stop hook feedback:",
    "Caveat: The messages below were generated",
)
_DENIALS = (
    "The user doesn't want to",
    "The user rejected",
    "Permission to use",
    "Claude requested permissions to",
    "User rejected",
    "This command requires approval",
)


class TaskNotice(Record, frozen=True, kw_only=True):
    """The end of a background task as the harness reports it."""

    task_id: str
    call_id: str
    status: str
    text: str
    exit_code: int | None


def without_reminders(text: str) -> str:
    """Remove `<system-reminder>` passages; an unclosed one stays."""
    kept: list[str] = []
    position = 0
    while (start := text.find("<system-reminder>", position)) >= 0:
        end = text.find("</system-reminder>", start)
        if end < 0:
            break
        kept.append(text[position:start])
        position = end + len("</system-reminder>")
    return "".join([*kept, text[position:]])


def read_prompt(text: str) -> tuple[EventKind, str, bool] | None:
    """Tell what a user text is: kind, cleaned text, whether the harness wrote it.

    None if nothing of it was said by anybody (reminders and IDE notes only).
    """
    if "<system-reminder>" in text:
        text = without_reminders(text)
    while match := _IDE_NOTE.match(text):
        text = text[match.end() :]
    text = text.strip()
    if not text:
        return None
    if text.startswith("[Request interrupted"):
        return "interrupt", text, False
    if text.startswith("This session is being continued from a previous conversation"):
        return "compaction", text, True
    if text.startswith("<command-") and (name := _COMMAND_NAME.search(text, 0, _MAX_TAG_CHARS)):
        command = name[1].strip().lstrip("/")
        match = _COMMAND_ARGS.search(text)
        arguments = match[1].strip() if match else ""
        # What follows a command of the user's own is what the user wants done.
        is_housekeeping = not arguments or command in _BUILT_IN_COMMANDS
        return "prompt", f"/{command} {arguments}".strip(), is_housekeeping
    if match := _BASH_INPUT.match(text):
        return "prompt", f"!{match[1].strip()}", True
    return "prompt", text, text.startswith(_ENVELOPES)


def read_result(text: str, is_error: bool | None) -> tuple[str, str, int | None]:
    """Return text, status and exit code that a tool result tells by its wording."""
    if "<tool_use_error>" in text and (match := _TOOL_ERROR.match(text)):
        return match[1].strip(), INVALID, None
    if "<system-reminder>" in text:
        text = without_reminders(text).rstrip()
    if text.startswith("Command running in background with ID"):
        return text, RUNNING, None
    if not is_error:
        return text, "", None
    if text.startswith(_DENIALS) or "but you haven't granted it" in text[:400]:
        return text, DENIED, None
    if text.startswith("[Request interrupted by user"):
        return text, INTERRUPTED, None
    if text.startswith(("InputValidationError", "Error: No such tool available")):
        return text, INVALID, None
    match = _EXIT_CODE.match(text)
    status = TIMEOUT if "Command timed out after" in text[:400] else ""
    return text, status, int(match[1]) if match else None


def read_task_notice(text: str) -> TaskNotice | None:
    """Read a `<task-notification>` envelope, None if the text is none."""
    if not text.lstrip().startswith("<task-notification>"):
        return None
    found = {name: pattern.search(text, 0, _MAX_TAG_CHARS) for name, pattern in _TASK_FIELD.items()}
    value = {name: match[1].strip() if match else "" for name, match in found.items()}
    code = _SUMMARY_EXIT.search(value["summary"])
    said = "\n".join(part for part in (value["summary"], value["result"]) if part)
    return TaskNotice(
        task_id=value["task-id"],
        call_id=value["tool-use-id"],
        status=value["status"],
        text=said or value["status"],
        exit_code=int(code[1]) if code else None,
    )
