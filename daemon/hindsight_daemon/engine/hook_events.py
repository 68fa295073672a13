"""What an agent's hook tells us, and the answer in the form that agent accepts.

Pure. Agents name the same moments differently (`UserPromptSubmit`, `userPromptSubmitted`,
`BeforeAgent`) and give the same facts under different names; unknown events and fields mean
nothing and are no error, because a hook must never be in its agent's way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from hindsight_daemon.model import Record

Moment = Literal["session_start", "prompt", "tool_result", "compaction", "task_end", "other"]

_MOMENTS: dict[str, Moment] = {
    "sessionstart": "session_start",
    "userpromptsubmit": "prompt",
    "userpromptsubmitted": "prompt",
    "beforesubmitprompt": "prompt",
    "beforeagent": "prompt",
    "posttoolusefailure": "tool_result",
    "posttooluse": "tool_result",
    "aftertool": "tool_result",
    "precompact": "compaction",
    "precompress": "compaction",
    "stop": "task_end",
    "agentstop": "task_end",
    "afteragent": "task_end",
    "stopfailure": "task_end",
    "sessionend": "task_end",
    "agentturncomplete": "task_end",
}
_MAX_CHARS = 8000
_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: (?:code|status))?[: ]+([1-9]\d{0,2})\b", re.I)
_LIKE_CLAUDE = frozenset({"claude-code", "codex", "gemini-cli", "qwen-code", "factory-droid"})


class HookEvent(Record, frozen=True, kw_only=True):
    """A hook's payload in our words; empty where the agent does not say.

    `prompt` is what the user asked, `failure` the command and error of a tool that failed.
    """

    moment: Moment
    agent: str
    name: str
    session_id: str = ""
    cwd: str = ""
    transcript: str = ""
    prompt: str = ""
    failure: str = ""
    last_message: str = ""


def read_hook(agent: str, name: str, payload: Mapping[str, Any]) -> HookEvent:
    """Read a payload; `name` is the event's name as configured, else the payload's own counts."""
    told = _text(payload, "hook_event_name", "hookEventName", "type") or name
    moment = _MOMENTS.get(_plain(name)) or _MOMENTS.get(_plain(told), "other")
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return HookEvent(
        moment=moment,
        agent=agent,
        name=told,
        session_id=_text(
            payload, "session_id", "sessionId", "conversation_id", "thread-id", "thread_id"
        )[:200],
        cwd=_text(payload, "cwd", "workspaceRoot") or root,
        transcript=_text(payload, "transcript_path", "transcriptPath", "agent_transcript_path"),
        prompt=_text(payload, "prompt", "initialPrompt", "user_prompt")[:_MAX_CHARS],
        failure=_failure(payload) if moment == "tool_result" else "",
        last_message=_text(
            payload, "last_assistant_message", "last-assistant-message", "finalMessage",
            "prompt_response",
        )[:_MAX_CHARS],
    )  # fmt: skip


def answer_to(event: HookEvent, context: str) -> str:
    """Return what to print so that the agent takes `context` in; empty where it takes nothing."""
    if not context or event.moment in ("compaction", "task_end", "other"):
        return ""
    if event.agent in _LIKE_CLAUDE:
        body: dict[str, Any] = {
            "hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}
        }
    elif event.agent == "copilot-cli":
        body = {"additionalContext": context}
    elif event.agent == "cursor":
        # Of the hooks that Cursor runs, only the session's start may bring context along.
        if event.moment != "session_start":
            return ""
        body = {"additional_context": context}
    else:
        return context
    return json.dumps(body, ensure_ascii=False)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _text(payload: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _failure(payload: Mapping[str, Any]) -> str:
    """Return command and error of a failed tool call, empty if it did not fail."""
    if payload.get("is_interrupt") is True:
        return ""
    result = next(
        (payload[n] for n in ("tool_response", "toolResult", "tool_output") if n in payload), None
    )
    error = _text(payload, "error") or _error_in(result)
    if not error:
        return ""
    given = next((payload[n] for n in ("tool_input", "toolArgs") if n in payload), None)
    return f"{_command_in(given)}\n{error}".strip()[:_MAX_CHARS]


def _error_in(result: Any) -> str:
    if isinstance(result, str):
        # Some agents hand over the text that the model saw, with the exit code in words.
        return result if _EXIT.search(result[:400]) or _EXIT.search(result[-400:]) else ""
    if not isinstance(result, Mapping):
        return ""
    code = next((result[n] for n in ("exit_code", "exitCode", "code") if n in result), None)
    failed = (
        (isinstance(code, int) and not isinstance(code, bool) and code != 0)
        or result.get("is_error") is True
        or result.get("success") is False
        or result.get("resultType") in ("failure", "error", "denied")
    )
    told = _text(result, "error", "stderr", "textResultForLlm", "output", "stdout", "llmContent")
    return told or f"exit code {code}" if failed else ""


def _command_in(given: Any) -> str:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return given if isinstance(given, str) else ""
    if not isinstance(given, Mapping):
        return ""
    command = given.get("command", given.get("cmd", given.get("file_path", "")))
    if isinstance(command, list):
        return " ".join(str(part) for part in command)
    return str(command)
