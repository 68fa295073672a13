"""How Codex wraps texts: envelopes around prompts, and the shapes in which commands end.

For the Codex source only; pure functions.
"""

from __future__ import annotations

import re
from typing import Any

from hindsight_daemon.model import Record
from hindsight_daemon.sources.fields import content_text, flag, integer, mapping, string
from hindsight_daemon.sources.json_text import decode_json
from hindsight_daemon.sources.tools import DENIED, INTERRUPTED, INVALID, RUNNING, TIMEOUT

_ENVELOPE = re.compile(
    r"\s*<(user_instructions|environment_context|INSTRUCTIONS|turn_aborted|skill|"
    r"subagent_notification|recommended_plugins|goal_context|codex_internal_context|user_action|"
    r"permissions(?: instructions)?|collaboration_mode|apps_instructions|skills_instructions|"
    r"plugins_instructions|model_switch)\b[^>]*>.*?(?:</\1>|\Z)\s*",
    re.DOTALL,
)
_CWD = re.compile(r"<environment_context>.*?<cwd>(.*?)</cwd>", re.DOTALL)
_AGENTS_FILE = re.compile(r"\s*# AGENTS\.md instructions\b.*?(?:</INSTRUCTIONS>\s*|\Z)", re.DOTALL)
_IDE_CONTEXT = re.compile(
    r"\s*# Context from my IDE setup:.*?^## My request for Codex:\s*", re.DOTALL | re.MULTILINE
)

_EXIT_LINE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d+)", re.MULTILINE)
_STILL_RUNNING = re.compile(r"^Process running with session ID (\S+)", re.MULTILINE)
_TIMED_OUT = re.compile(r"command timed out after \d+ milliseconds", re.IGNORECASE)
_HEADER = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Exit code|Process exited|Process running|Original token count|"
    r"Total output lines)[^\n]*\n)*Output:\n"
)
_HEAD_CHARS = 600


class CallEnd(Record, frozen=True, kw_only=True):
    """What an output tells about how its call ended; `process` is set while it goes on."""

    text: str
    exit_code: int | None = None
    is_error: bool | None = None
    status: str = ""
    process: str = ""


def strip_envelopes(text: str) -> str:
    """Return what a person typed in a user text, without what Codex put in front of it."""
    for envelope in (_AGENTS_FILE, _IDE_CONTEXT):
        if match := envelope.match(text):
            text = text[match.end() :]
    while match := _ENVELOPE.match(text):
        text = text[match.end() :]
    return text.strip()


def environment_cwd(text: str) -> str:
    """Return the working folder that an `<environment_context>` names."""
    match = _CWD.search(text) if "<environment_context>" in text else None
    return match[1].strip() if match else ""


def read_output(output: Any) -> CallEnd:
    """Read the output of a function call in any of its shapes.

    No sign of an exit code means unknown, never success.
    """
    fields = mapping(output)
    if not isinstance(output, str | list) and "exit_code" in fields:
        return _with_code(content_text(output), integer(fields["exit_code"]))
    if isinstance(output, list):
        return _read_parts(output)
    text = content_text(output)
    if text.startswith("{"):
        try:
            decoded = mapping(decode_json(text))
        except ValueError:
            decoded = {}
        code = integer(mapping(decoded.get("metadata")).get("exit_code"))
        code = code if code is not None else integer(decoded.get("exit_code"))
        if isinstance(decoded.get("output"), str):
            inner = read_text(decoded["output"])
            if code is None:
                return inner
            return _with_code(inner.text, code, inner.status)
    return read_text(text)


def read_text(text: str) -> CallEnd:
    """Read the plain text of an output: header lines, then what the command wrote."""
    head = text[:_HEAD_CHARS]
    header = _HEADER.match(text)
    status_part = header.group(0) if header else head
    body = text[header.end() :] if header else text
    lowered = head.lower()
    if _TIMED_OUT.search(head):
        return _with_code(body, 124, TIMEOUT)
    if match := _STILL_RUNNING.search(status_part):
        return CallEnd(text=body, status=RUNNING, process=match[1])
    if match := _EXIT_LINE.search(status_part):
        return _with_code(body, int(match[1]))
    if "rejected by user" in lowered or "user denied" in lowered:
        return CallEnd(text=body, is_error=True, status=DENIED)
    if lowered.startswith(("aborted by user", "aborted\n")) or lowered == "aborted":
        return CallEnd(text=body, is_error=True, status=INTERRUPTED)
    if lowered.startswith(("failed to parse function arguments", "unsupported call")) or (
        "apply_patch verification failed" in lowered
    ):
        return CallEnd(text=body, is_error=True, status=INVALID)
    if lowered.startswith("success. updated the following files"):
        return CallEnd(text=body, is_error=False)
    return CallEnd(text=body)


def read_mcp_result(result: Any) -> CallEnd:
    """Read `{Ok: {content, isError}}` or `{Err: text}`, or the inner object itself."""
    fields = mapping(result)
    if "Err" in fields:
        return CallEnd(text=string(fields["Err"]) or content_text(fields["Err"]), is_error=True)
    inner = mapping(fields.get("Ok", fields))
    return CallEnd(text=content_text(inner.get("content")), is_error=flag(inner.get("isError")))


def _read_parts(parts: list[Any]) -> CallEnd:
    ends = [read_output(part if isinstance(part, str) else content_text(part)) for part in parts]
    text = "\n".join(end.text for end in ends if end.text)
    telling = [end for end in ends if end.exit_code is not None or end.status]
    failed = [end for end in telling if end.is_error]
    end = (failed or telling or [CallEnd(text="")])[-1]
    return CallEnd(
        text=text,
        exit_code=end.exit_code,
        is_error=end.is_error,
        status=end.status,
        process=end.process,
    )


def _with_code(text: str, code: int | None, status: str = "") -> CallEnd:
    is_error = None if code is None else code != 0
    return CallEnd(text=text, exit_code=code, is_error=is_error, status=status)
