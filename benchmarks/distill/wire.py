"""Scripts as the records that the agents themselves write, so that the real sources read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.distill.cases import Case, ScriptStep

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_STEP_SECONDS = 20
_FILE_NAMES = {
    "claude-code": "{name}.jsonl",
    "codex": "rollout-2026-03-02T09-00-00-{name}.jsonl",
    "gemini-cli": "session-{name}.jsonl",
    "cline": "{name}.messages.json",
    "generic": "{name}.jsonl",
}


def file_name(case: Case) -> str:
    """Return the name under which the agent would keep the session."""
    return _FILE_NAMES[case.format].format(name=case.name)


def render(case: Case) -> str:
    """Return the transcript of a case in its format."""
    if case.format == "cline":
        return json.dumps(_cline(case), ensure_ascii=False, indent=1)
    records = {
        "claude-code": _claude,
        "codex": _codex,
        "gemini-cli": _gemini,
        "generic": _generic,
    }[case.format](case)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _times(case: Case) -> Iterator[tuple[int, str, ScriptStep]]:
    for number, step in enumerate(case.steps):
        at = _START + timedelta(seconds=_STEP_SECONDS * number)
        yield number, at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), step


def _printed(step: ScriptStep) -> str:
    return "\n".join(step.output)


def _lines(lines: list[str]) -> str:
    return "\n".join(lines)


def _is_last_word(case: Case, number: int) -> bool:
    after = case.steps[number + 1 : number + 2]
    return not after or after[0].kind == "prompt"


def _claude(case: Case) -> Iterator[dict[str, Any]]:
    tools = {"shell": "Bash", "read": "Read", "grep": "Grep", "edit": "Edit", "write": "Write"}
    parent: str | None = None
    for number, at, step in _times(case):
        shared = {
            "parentUuid": parent,
            "sessionId": case.name,
            "cwd": case.cwd,
            "gitBranch": "main",
            "version": "2.1.80",
            "userType": "external",
            "isSidechain": case.sidechain,
            "timestamp": at,
        }
        uuid = f"{case.name}-{number}"

        def user(content: Any, uuid: str = uuid, shared: Any = shared, **more: Any) -> Any:
            message = {"role": "user", "content": content}
            return {"type": "user", "uuid": uuid, "message": message, **shared, **more}

        def answer(block: Any, end: str, uuid: str = uuid, shared: Any = shared) -> Any:
            message = {
                "id": f"msg_{uuid}",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [block],
                "stop_reason": end,
                "usage": {"input_tokens": 900, "output_tokens": 60},
            }
            return {"type": "assistant", "uuid": uuid, "message": message, **shared}

        if step.kind == "prompt":
            yield user(step.text)
        elif step.kind == "said":
            end = "end_turn" if _is_last_word(case, number) else "tool_use"
            yield answer({"type": "text", "text": step.text}, end)
        elif step.kind == "interrupt":
            text = "[Request interrupted by user]"
            yield user([{"type": "text", "text": text}])
        else:
            call = f"toolu_{uuid}"
            arguments = {
                "shell": {"command": step.text, "description": "Run a command"},
                "read": {"file_path": f"{case.cwd}/{step.text}"},
                "grep": {"pattern": step.text},
                "edit": {
                    "file_path": f"{case.cwd}/{step.text}",
                    "old_string": _lines(step.old),
                    "new_string": _lines(step.new),
                },
                "write": {"file_path": f"{case.cwd}/{step.text}", "content": _lines(step.new)},
            }[step.kind]
            use = {"type": "tool_use", "id": call, "name": tools[step.kind], "input": arguments}
            yield answer(use, "tool_use")
            if step.is_cut_off:
                continue
            text = _printed(step)
            if step.kind in ("edit", "write"):
                text = f"The file {case.cwd}/{step.text} has been updated successfully."
            failed = bool(step.exit_code or step.refusal)
            if step.exit_code:
                text = f"Exit code {step.exit_code}\n{text}"
            text = step.refusal or text
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            more: Any = {"stdout": text, "stderr": "", "interrupted": False}
            if failed:
                result["is_error"] = True  # type: ignore[assignment]
                more = f"Error: {text}"
            elif step.kind in ("edit", "write"):
                more = {"filePath": f"{case.cwd}/{step.text}", "structuredPatch": []}
            yield user([result], uuid=f"{uuid}-r", toolUseResult=more)
        parent = uuid


def _codex(case: Case) -> Iterator[dict[str, Any]]:
    meta = {
        "id": case.name,
        "timestamp": _START.isoformat(),
        "cwd": case.cwd,
        "originator": "codex_cli_rs",
        "cli_version": "0.106.0",
        "source": "cli",
        "git": {"branch": "main", "commit_hash": "4f0c1d2e"},
    }
    start = _START.isoformat()
    yield {"timestamp": start, "type": "session_meta", "payload": meta}
    context = {"cwd": case.cwd, "model": "gpt-5.2-codex", "approval_policy": "never"}
    yield {"timestamp": start, "type": "turn_context", "payload": context}
    for number, at, step in _times(case):

        def item(at: str = at, **payload: Any) -> Any:
            return {"timestamp": at, "type": "response_item", "payload": payload}

        def event(at: str = at, **payload: Any) -> Any:
            return {"timestamp": at, "type": "event_msg", "payload": payload}

        call = f"call_{number}"
        if step.kind == "prompt":
            yield event(type="user_message", message=step.text, images=[])
            content = [{"type": "input_text", "text": step.text}]
            yield item(type="message", role="user", content=content)
        elif step.kind == "said":
            yield event(type="agent_message", message=step.text)
            content = [{"type": "output_text", "text": step.text}]
            yield item(type="message", role="assistant", content=content)
            if _is_last_word(case, number):
                yield event(type="task_complete", last_agent_message=step.text)
        elif step.kind == "interrupt":
            yield event(type="turn_aborted", reason="interrupted")
        elif step.kind in ("edit", "write"):
            verb = "Update" if step.kind == "edit" else "Add"
            body = [f"-{line}" for line in step.old] + [f"+{line}" for line in step.new]
            patch = [f"*** {verb} File: {step.text}", "@@", *body]
            text = "\n".join(["*** Begin Patch", *patch, "*** End Patch"])
            yield item(type="custom_tool_call", call_id=call, name="apply_patch", input=text)
            done = f"Success. Updated the following files:\nM {step.text}\n"
            output = json.dumps({"output": done, "metadata": {"exit_code": 0}})
            yield item(type="custom_tool_call_output", call_id=call, output=output)
        else:
            command = {"read": f"cat {step.text}", "grep": f"rg -n '{step.text}'"}.get(
                step.kind, step.text
            )
            arguments = {"command": ["bash", "-lc", command], "workdir": case.cwd}
            yield item(
                type="function_call", name="shell", call_id=call, arguments=json.dumps(arguments)
            )
            if not step.is_cut_off:
                ended = {"exit_code": step.exit_code, "duration_seconds": 1.4}
                output = json.dumps({"output": _printed(step) + "\n", "metadata": ended})
                yield item(type="function_call_output", call_id=call, output=output)


def _gemini(case: Case) -> Iterator[dict[str, Any]]:
    names = {
        "shell": "run_shell_command",
        "read": "read_file",
        "grep": "search_file_content",
        "edit": "replace",
        "write": "write_file",
    }
    yield {
        "sessionId": case.name,
        "projectHash": "0b7dfb1274ee51b3",
        "startTime": _START.isoformat(),
        "lastUpdated": _START.isoformat(),
        "kind": "main",
        "directories": [case.cwd],
    }
    for number, at, step in _times(case):
        record: dict[str, Any] = {"id": f"m{number}", "timestamp": at}
        if step.kind == "prompt":
            yield {**record, "type": "user", "content": [{"text": step.text}]}
        elif step.kind == "said":
            yield {**record, "type": "gemini", "content": step.text, "model": "gemini-3-pro"}
        elif step.kind == "interrupt":
            yield {**record, "type": "info", "content": "Request cancelled."}
        else:
            arguments = {
                "shell": {"command": step.text},
                "read": {"absolute_path": f"{case.cwd}/{step.text}"},
                "grep": {"pattern": step.text},
                "edit": {
                    "file_path": f"{case.cwd}/{step.text}",
                    "old_string": _lines(step.old),
                    "new_string": _lines(step.new),
                },
                "write": {"file_path": f"{case.cwd}/{step.text}", "content": _lines(step.new)},
            }[step.kind]
            text = _printed(step)
            if step.kind == "shell":
                text = f"Output: {text or '(empty)'}\nExit Code: {step.exit_code}"
            elif step.kind in ("edit", "write"):
                text = f"Successfully modified file: {case.cwd}/{step.text} (1 replacements)."
            call = {"id": f"t{number}", "name": names[step.kind], "args": arguments}
            call["status"] = "cancelled" if step.is_cut_off else "success"
            if not step.is_cut_off:
                answer = {"id": call["id"], "name": call["name"], "response": {"output": text}}
                call["result"] = [{"functionResponse": answer}]
            yield {**record, "type": "gemini", "content": "", "toolCalls": [call]}


def _cline(case: Case) -> dict[str, Any]:
    names = {
        "shell": "execute_command",
        "read": "read_file",
        "grep": "search_files",
        "edit": "replace_in_file",
        "write": "write_to_file",
    }
    messages: list[dict[str, Any]] = []
    for number, _, step in _times(case):
        ts = int((_START.timestamp() + _STEP_SECONDS * number) * 1000)

        def add(role: str, block: dict[str, Any], suffix: str = "", ts: int = ts) -> None:
            name = f"m{len(messages)}{suffix}"
            message = {"id": name, "role": role, "ts": ts, "content": [block]}
            if role == "assistant":
                message["modelInfo"] = {"id": "claude-sonnet-4-6", "provider": "anthropic"}
                message["metrics"] = {"inputTokens": 900, "outputTokens": 60, "cost": 0.0125}
            messages.append(message)

        if step.kind == "prompt":
            add("user", {"type": "text", "text": step.text})
        elif step.kind == "said":
            add("assistant", {"type": "text", "text": step.text})
        elif step.kind == "interrupt":
            add("user", {"type": "text", "text": "[Request interrupted by user]"})
        else:
            diff = "\n".join(["------- SEARCH", *step.old, "=======", *step.new, "+++++++ REPLACE"])
            arguments = {
                "shell": {"command": step.text},
                "read": {"path": step.text},
                "grep": {"regex": step.text, "path": "."},
                "edit": {"path": step.text, "diff": diff},
                "write": {"path": step.text, "content": _lines(step.new)},
            }[step.kind]
            call = f"call_{number}"
            use = {"type": "tool_use", "id": call, "name": names[step.kind], "input": arguments}
            add("assistant", use)
            text = _printed(step)
            if step.kind == "shell" and step.exit_code:
                text = f"Command failed with exit code {step.exit_code}.\nOutput:\n{text}"
            elif step.kind == "shell":
                text = f"Command executed.\nOutput:\n{text}"
            elif step.kind in ("edit", "write"):
                text = f"The content was successfully saved to {step.text}."
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            add("user", {**result, "is_error": bool(step.exit_code)})
    return {
        "version": 1,
        "updated_at": _START.isoformat(),
        "agent": "lead",
        "sessionId": case.name,
        "cwd": case.cwd,
        "messages": messages,
    }


def _generic(case: Case) -> Iterator[dict[str, Any]]:
    names = {
        "shell": "bash",
        "read": "read_file",
        "grep": "grep",
        "edit": "edit_file",
        "write": "write_file",
    }
    for number, at, step in _times(case):
        shared = {"id": f"{case.name}-{number}", "session": case.name, "ts": at, "cwd": case.cwd}
        if step.kind == "prompt":
            yield {**shared, "role": "user", "text": step.text}
        elif step.kind == "said":
            yield {**shared, "role": "assistant", "text": step.text}
        elif step.kind == "interrupt":
            yield {**shared, "role": "user", "text": "[Request interrupted by user]"}
        else:
            arguments = {
                "shell": {"command": step.text},
                "read": {"path": step.text},
                "grep": {"pattern": step.text},
                "edit": {"path": step.text, "old": _lines(step.old), "new": _lines(step.new)},
                "write": {"path": step.text, "content": _lines(step.new)},
            }[step.kind]
            tool: dict[str, Any] = {
                "name": names[step.kind],
                "call_id": f"c{number}",
                "input": arguments,
                "output": _printed(step) or "(no output)",
            }
            if step.kind == "shell":
                tool["exit_code"] = step.exit_code
            yield {**shared, "role": "tool", "tool": tool}
