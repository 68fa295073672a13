"""Made-up agent sessions of any size in the formats of real agents, the same for the same seed.

Texts are real code and prose: slices of Python's own library and language reference, so that words,
identifiers and line lengths are those of tool output. Sizes follow what agents write: results of
some KB (some of tens), answers of a few hundred bytes to several KB, most of a file in results.
Knows nothing of the product.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SHARES: dict[str, float] = {
    "claude-code": 0.45,
    "codex": 0.30,
    "pi": 0.12,
    "copilot-cli": 0.07,
    "gemini-cli": 0.06,
}
"""The part of all bytes that each family writes."""

MEDIAN_SESSION_BYTES = 400_000
SMALL_SESSION_BYTES = 6_000
_MODULES = (
    "argparse ast asyncio/base_events asyncio/tasks calendar collections/__init__ configparser "
    "copy csv dataclasses datetime decimal difflib doctest email/message enum ftplib functools "
    "gettext heapq http/client imaplib inspect ipaddress json/decoder locale logging/__init__ "
    "mailbox mimetypes multiprocessing/pool optparse os pathlib pdb pickle platform plistlib "
    "random selectors shutil smtplib socket ssl statistics subprocess tarfile tempfile textwrap "
    "threading tokenize traceback typing unittest/case urllib/parse uuid warnings weakref zipfile"
)
_CHINESE = (
    "先看一下报错的堆栈，再决定改哪里。",
    "这个测试在持续集成里会偶尔失败，本地跑不出来。",
    "以后提交之前都先跑一遍格式检查。",
    "数据库连接池的上限改成二十，超时改成三十秒。",
    "不要再用旧的接口了，已经换成新的客户端。",
    "部署脚本依赖环境变量，缺少的时候应该直接报错。",
)
_REQUESTS = (
    "fix the failing test in {file}",
    "why does {file} raise in production? find the cause and fix it",
    "add an option to {file} that turns the cache off, with a test",
    "refactor {file}, it has become too long; keep the public names",
    "from now on always run `ruff check` before you commit",
    "no, not like that: use the existing helper instead of writing a new one",
    "请修复 {file} 里的问题，然后把测试跑一遍",
)
_COMMANDS = (
    "python -m pytest -q tests/test_{name}.py",
    "grep -rn {name} src | head -40",
    "git diff --stat",
    "sed -n 1,120p src/{name}.py",
    "ls -la src",
    "git commit -am 'Fix {name}'",
    "make check",
)


class Material:
    """Draws slices of real text and code; each call draws further ones."""

    _code: list[tuple[str, str]] = []
    _prose: list[str] = []

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        if not self._code:
            library = Path(json.__file__).parent.parent
            for name in _MODULES.split():
                text = (library / f"{name}.py").read_text("utf-8", "replace")
                self._code.append((name.replace("/__init__", ""), text))
            self._prose.extend(text for _, text in sorted(topics.items()) if len(text) > 400)

    def size(self, median: int, spread: float, limit: int) -> int:
        """Return a size around `median` with a long tail up to `limit`."""
        return min(limit, int(self.random.lognormvariate(0, spread) * median))

    def prose(self, size: int) -> str:
        """Return about `size` characters of prose, now and then in Chinese."""
        if self.random.random() < 0.12:
            count = max(1, size // 60)
            return "".join(self.random.choice(_CHINESE) for _ in range(count))
        text = self.random.choice(self._prose)
        start = text.find(" ", self.random.randrange(max(1, len(text) - size))) + 1
        return text[start : start + size]

    def code(self, size: int) -> tuple[str, str]:
        """Return the name of a module and about `size` characters of its lines."""
        name, text = self.random.choice(self._code)
        start = text.find("\n", self.random.randrange(max(1, len(text) - size))) + 1
        return name, text[start : start + size]

    def noise(self, size: int) -> str:
        """Return base64 of random bytes, such as pictures and encrypted reasoning hold."""
        return base64.b64encode(self.random.randbytes(size * 3 // 4)).decode()

    def hex(self, size: int) -> str:
        """Return random hexadecimal digits."""
        return f"{self.random.getrandbits(4 * size):0{size}x}"


class Step:
    """One tool call with its result, before a format is chosen."""

    def __init__(self, draw: Material, number: int) -> None:
        kind = draw.random.random()
        size = draw.size(2500, 1.0, 60_000)
        self.name, text = draw.code(size)
        self.file = f"/home/dev/shop/src/{self.name}.py"
        self.is_error = False
        self.command = ""
        self.tool = "read"
        self.number = number
        self.answer = draw.prose(draw.size(250, 0.9, 4000)) if draw.random.random() < 0.5 else ""
        if kind < 0.35:
            lines = text.split("\n")
            self.result = "\n".join(f"{n + 1:6d}\u2192{line}" for n, line in enumerate(lines))
        elif kind < 0.55:
            self.tool = "edit"
            self.old, self.new = text[:300], text[:200] + "\n    # checked\n" + text[200:420]
            self.whole = text
            self.result = f"The file {self.file} has been updated.\n{text[:900]}"
        else:
            self.tool = "shell"
            command = draw.random.choice(_COMMANDS)
            self.command = command.format(name=self.name.split("/")[-1])
            self.is_error = draw.random.random() < 0.2
            lines = text.split("\n")
            where = f"src/{self.name}.py"
            self.result = "\n".join(f"{where}:{n}:{line}" for n, line in enumerate(lines, 1))
            if self.is_error:
                self.result += f"\nE   ValueError: bad value in {self.name}\n1 failed, 8 passed"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments as most agents name them."""
        if self.tool == "shell":
            return {"command": self.command}
        if self.tool == "edit":
            return {"file_path": self.file, "old_string": self.old, "new_string": self.new}
        return {"file_path": self.file}


def request_of(draw: Material) -> str:
    """Return what a user says."""
    text = draw.random.choice(_REQUESTS).format(file=f"src/{draw.code(1)[0]}.py")
    return text + ("\n\n" + draw.prose(600) if draw.random.random() < 0.3 else "")


def _clock(draw: Material) -> Callable[[], str]:
    at = START + timedelta(minutes=draw.random.randrange(60 * 24 * 90))

    def tick() -> str:
        nonlocal at
        at += timedelta(seconds=draw.random.randint(1, 20))
        return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"

    return tick


def claude_code(session: str, draw: Material) -> Iterator[dict[str, Any]]:
    """Yield records of Claude Code, one a content block, results twice as it writes them."""
    tick = _clock(draw)
    parent: str | None = None

    def record(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal parent
        uuid = f"{draw.hex(8)}-{draw.hex(4)}-4{draw.hex(3)}-8{draw.hex(3)}-{draw.hex(12)}"
        made = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/shop",
            "sessionId": session,
            "version": "2.1.60",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": tick(),
            **more,
        }
        parent = uuid
        return made

    def said(block: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": draw.random.randrange(9000),
            "cache_read_input_tokens": draw.random.randrange(90000),
            "output_tokens": draw.random.randrange(900),
            "service_tier": "standard",
        }
        message = {
            "id": f"msg_01{draw.hex(20)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        return record("assistant", message, requestId=f"req_01{draw.hex(20)}")

    tools = {"read": "Read", "edit": "Edit", "shell": "Bash"}
    while True:
        yield record("user", {"role": "user", "content": request_of(draw)})
        yield {
            "type": "file-history-snapshot",
            "messageId": parent,
            "snapshot": {"trackedFileBackups": {}, "timestamp": tick()},
            "isSnapshotUpdate": False,
        }
        for number in range(draw.random.randint(3, 14)):
            step = Step(draw, number)
            if step.answer:
                yield said({"type": "text", "text": step.answer})
            if draw.random.random() < 0.2:
                thought = {"type": "thinking", "thinking": draw.prose(900)}
                yield said({**thought, "signature": draw.noise(600)})
            call = f"toolu_01{draw.hex(22)}"
            use = {"type": "tool_use", "id": call, "name": tools[step.tool]}
            yield said({**use, "input": step.arguments()})
            if step.tool == "shell":
                extra: Any = {"stdout": step.result, "stderr": "", "interrupted": False}
                if step.is_error:
                    extra = f"Error: Exit code 1\n{step.result}"
            elif step.tool == "edit":
                extra = {
                    "filePath": step.file,
                    "oldString": step.old,
                    "newString": step.new,
                    "originalFile": step.whole,
                    "structuredPatch": [{"oldStart": 1, "lines": step.new.split("\n")}],
                    "userModified": False,
                }
            else:
                extra = {"type": "text", "file": {"filePath": step.file, "content": step.result}}
            result: dict[str, Any] = {"tool_use_id": call, "type": "tool_result"}
            result["content"] = f"Exit code 1\n{step.result}" if step.is_error else step.result
            if step.is_error:
                result["is_error"] = True
            if draw.random.random() < 0.01:
                picture = {"type": "base64", "media_type": "image/png", "data": draw.noise(90_000)}
                result["content"] = [{"type": "image", "source": picture}]
            message = {"role": "user", "content": [result]}
            yield record("user", message, toolUseResult=extra)
        yield said({"type": "text", "text": draw.prose(draw.size(1400, 0.7, 9000))}, "end_turn")


def codex(session: str, draw: Material) -> Iterator[dict[str, Any]]:
    """Yield records of Codex: envelopes, every message twice, token counts, sealed reasoning."""
    tick = _clock(draw)

    def item(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": tick(), "type": kind, "payload": payload}

    yield item(
        "session_meta",
        {
            "id": session,
            "timestamp": tick(),
            "cwd": "/home/dev/shop",
            "originator": "codex_cli_rs",
            "cli_version": "0.98.0",
            "source": "cli",
            "model_provider": "openai",
            "base_instructions": {"text": draw.prose(4000)},
            "git": {"commit_hash": draw.hex(40), "branch": "main"},
        },
    )
    while True:
        turn = draw.hex(32)
        asked = request_of(draw)
        context = {
            "turn_id": turn,
            "cwd": "/home/dev/shop",
            "model": "gpt-5-codex",
            "effort": "high",
            "approval_policy": "on-request",
            "user_instructions": draw.prose(2500),
        }
        yield item("event_msg", {"type": "task_started", "turn_id": turn})
        yield item("turn_context", context)
        content = [{"type": "input_text", "text": asked}]
        yield item("response_item", {"type": "message", "role": "user", "content": content})
        yield item("event_msg", {"type": "user_message", "message": asked, "images": []})
        for number in range(draw.random.randint(3, 14)):
            step = Step(draw, number)
            thought = {"type": "reasoning", "summary": [], "content": None}
            yield item("response_item", {**thought, "encrypted_content": draw.noise(900)})
            if step.answer:
                yield from _codex_said(item, step.answer)
            call = f"call_{draw.hex(24)}"
            command = step.command or f"sed -n 1,200p {step.file}"
            arguments = json.dumps({"cmd": command, "workdir": "/home/dev/shop"})
            use = {"type": "function_call", "name": "exec_command", "arguments": arguments}
            if step.tool == "edit":
                patch = "\n".join(f"+{line}" for line in step.new.split("\n"))
                text = f"*** Begin Patch\n*** Update File: {step.file}\n@@\n{patch}\n*** End Patch"
                use = {"type": "custom_tool_call", "name": "apply_patch", "input": text}
            yield item("response_item", {**use, "call_id": call})
            code = int(step.is_error)
            output = (
                f"Chunk ID: {draw.hex(6)}\nWall time: 0.4 seconds\n"
                f"Process exited with code {code}\n"
                f"Original token count: {len(step.result) // 4}\nOutput:\n{step.result}"
            )
            kind = f"{use['type']}_output"
            yield item("response_item", {"type": kind, "call_id": call, "output": output})
            usage = {"input_tokens": 9000, "cached_input_tokens": 8000, "output_tokens": 90}
            info = {"total_token_usage": usage, "last_token_usage": usage}
            yield item("event_msg", {"type": "token_count", "info": info, "rate_limits": None})
        answer = draw.prose(draw.size(1400, 0.7, 9000))
        yield from _codex_said(item, answer)
        done = {"type": "task_complete", "turn_id": turn, "last_agent_message": answer}
        yield item("event_msg", done)


def _codex_said(
    item: Callable[[str, dict[str, Any]], dict[str, Any]], text: str
) -> Iterator[dict[str, Any]]:
    yield item("event_msg", {"type": "agent_message", "message": text})
    content = [{"type": "output_text", "text": text}]
    yield item("response_item", {"type": "message", "role": "assistant", "content": content})


def pi(session: str, draw: Material) -> Iterator[dict[str, Any]]:
    """Yield records of Pi."""
    tick = _clock(draw)
    parent: str | None = None

    def message(body: dict[str, Any]) -> dict[str, Any]:
        nonlocal parent
        name, former = draw.hex(8), parent
        parent = name
        shared = {"type": "message", "id": name, "parentId": former, "timestamp": tick()}
        return {**shared, "message": body}

    header = {"type": "session", "version": 3, "id": session, "timestamp": tick()}
    yield {**header, "cwd": "/home/dev/shop"}
    usage = {"input": 3, "output": 120, "cacheRead": 20000, "cost": {"total": 0.01}}
    while True:
        yield message({"role": "user", "content": [{"type": "text", "text": request_of(draw)}]})
        for number in range(draw.random.randint(3, 14)):
            step = Step(draw, number)
            call = f"toolu_01{draw.hex(22)}"
            name = {"shell": "bash"}.get(step.tool, step.tool)
            use = {"type": "toolCall", "id": call, "name": name, "arguments": step.arguments()}
            blocks = [{"type": "text", "text": step.answer}] if step.answer else []
            body = {"role": "assistant", "content": [*blocks, use], "model": "claude-sonnet-4-5"}
            yield message({**body, "usage": usage, "stopReason": "toolUse"})
            result = {"role": "toolResult", "toolCallId": call, "toolName": name}
            said = step.result + ("\nCommand exited with code 1" if step.is_error else "")
            content = [{"type": "text", "text": said}]
            yield message({**result, "content": content, "isError": step.is_error})
        text = draw.prose(draw.size(1400, 0.7, 9000))
        body = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        yield message({**body, "usage": usage, "stopReason": "stop"})


def copilot_cli(session: str, draw: Material) -> Iterator[dict[str, Any]]:
    """Yield records of the Copilot CLI."""
    tick = _clock(draw)
    parent: str | None = None

    def record(kind: str, data: dict[str, Any]) -> dict[str, Any]:
        nonlocal parent
        name, former = draw.hex(32), parent
        parent = name
        shared = {"type": kind, "id": name, "parentId": former, "timestamp": tick()}
        return {**shared, "data": data}

    context = {"cwd": "/home/dev/shop", "branch": "main"}
    start = {"sessionId": session, "version": 1, "producer": "copilot-agent", "context": context}
    yield record("session.start", {**start, "copilotVersion": "1.0.77"})
    while True:
        asked = request_of(draw)
        changed = f"<current_datetime>{tick()}</current_datetime>\n\n{asked}"
        yield record("user.message", {"content": asked, "transformedContent": changed})
        for number in range(draw.random.randint(3, 14)):
            step = Step(draw, number)
            call = f"call_{draw.hex(24)}"
            name = {"shell": "bash", "read": "view"}.get(step.tool, step.tool)
            request = {"toolCallId": call, "name": name, "arguments": step.arguments()}
            said = {"content": step.answer, "toolRequests": [request]}
            yield record("assistant.message", said)
            use = {"toolCallId": call, "toolName": name, "arguments": step.arguments()}
            yield record("tool.execution_start", use)
            result = {"content": step.result, "detailedContent": step.result[:2000]}
            done: dict[str, Any] = {"toolCallId": call, "success": not step.is_error}
            key = "error" if step.is_error else "result"
            done[key] = {"message": step.result} if step.is_error else result
            yield record("tool.execution_complete", done)
        text = draw.prose(draw.size(1400, 0.7, 9000))
        yield record("assistant.message", {"content": text, "toolRequests": []})
        yield record("assistant.turn_end", {"turnId": draw.hex(8)})


def gemini_cli(session: str, draw: Material) -> Iterator[dict[str, Any]]:
    """Yield records of the Gemini CLI: a log of messages and patches."""
    tick = _clock(draw)
    header = {"sessionId": session, "projectHash": draw.hex(64), "startTime": tick()}
    yield {**header, "lastUpdated": tick(), "kind": "main"}

    def message(kind: str, content: Any, **more: Any) -> dict[str, Any]:
        shared = {"id": draw.hex(32), "timestamp": tick(), "type": kind}
        return {**shared, "content": content, **more}

    tools = {"read": "read_file", "edit": "replace", "shell": "run_shell_command"}
    tokens = {"input": 9000, "output": 81, "cached": 0, "total": 9081}
    while True:
        yield message("user", [{"text": request_of(draw)}])
        for number in range(draw.random.randint(3, 14)):
            step = Step(draw, number)
            name = tools[step.tool]
            output = f"Output: {step.result}\nExit Code: {int(step.is_error)}"
            response = {"id": f"{name}-{number}", "name": name, "response": {"output": output}}
            call = {
                "id": f"{name}-{draw.hex(12)}",
                "name": name,
                "args": step.arguments(),
                "status": "success",
                "result": [{"functionResponse": response}],
                "resultDisplay": step.result,
                "timestamp": tick(),
            }
            more = {"model": "gemini-3-pro", "tokens": tokens, "toolCalls": [call]}
            yield message("gemini", step.answer, **more)
            yield {"$set": {"lastUpdated": tick()}}
        text = draw.prose(draw.size(1400, 0.7, 9000))
        yield message("gemini", text, model="gemini-3-pro", tokens=tokens)


FAMILIES: dict[str, Callable[[str, Material], Iterator[dict[str, Any]]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "copilot-cli": copilot_cli,
    "gemini-cli": gemini_cli,
}


def session_id(number: int) -> str:
    """Return the id of a session, which is a valid UUID."""
    return f"{number:08x}-5eed-4000-8000-{number:012x}"


def lines_of(family: str, number: int, size_bytes: int) -> Iterator[str]:
    """Yield the lines of one session until it has about so many bytes."""
    draw = Material(seed=number)
    written = 0
    for record in FAMILIES[family](session_id(number), draw):
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        yield line
        written += len(line)
        if written >= size_bytes:
            return


def write_session(folder: Path, family: str, number: int, size_bytes: int) -> Path:
    """Write one session into a folder and return its path."""
    path = folder / f"{family}-{session_id(number)}.jsonl"
    with path.open("w", encoding="utf-8") as out:
        out.writelines(lines_of(family, number, size_bytes))
    return path


def write_mixed(folder: Path, size_bytes: int, *, first: int = 0) -> list[Path]:
    """Write sessions of all families, `size_bytes` in all, numbered from `first` on."""
    draw = random.Random(first)
    left = {family: share * size_bytes for family, share in SHARES.items()}
    paths: list[Path] = []
    while max(left.values()) > 0:
        family = max(left, key=lambda name: left[name])
        size = int(draw.lognormvariate(0, 1.1) * MEDIAN_SESSION_BYTES)
        size = min(max(size, 4_000), 20_000_000, int(left[family]) + 1)
        path = write_session(folder, family, first + len(paths), size)
        left[family] -= path.stat().st_size
        paths.append(path)
    return paths


def write_small(folder: Path, count: int, *, first: int = 0) -> list[Path]:
    """Write many small sessions of all families."""
    draw = random.Random(first)
    families = list(SHARES)
    return [
        write_session(
            folder,
            draw.choices(families, list(SHARES.values()))[0],
            first + number,
            int(draw.uniform(0.5, 1.5) * SMALL_SESSION_BYTES),
        )
        for number in range(count)
    ]
