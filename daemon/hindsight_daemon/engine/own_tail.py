"""Keeps us from learning what we said ourselves: recalled memories, our own commands, probes.

Pure. Every event passes `OwnTail.take` on its way from reading to storing, and nowhere else is
anything cut for this reason. Recalled blocks, ours and those of other memory tools, are cut out of
all texts; what our own commands and memory servers answered is left out; what belongs to a probe
or to a session that hindsight itself runs is marked as synthetic, which nothing is learned from.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from hindsight_daemon.engine.commands import parse
from hindsight_daemon.engine.packing import FENCE
from hindsight_daemon.model import Event, ToolUse

T = TypeVar("T")

OWN_SESSION_MARK = "hindsight:own-session"
"""What prompts of commands that hindsight itself runs (a configured LLM) must contain."""

_SESSIONS_IN_MIND = 1024
_LT, _GT = r"(?:<|&lt;|\\u003[cC])", r"(?:>|&gt;|\\u003[eE])"
_BLOCKS = (
    rf"{re.escape(FENCE)}|hindsight[\w-]*|claude-mem[\w-]*|mem0[\w-]*|supermemory[\w-]*"
    r"|(?:relevant|recalled|retrieved|past|user|saved|stored|agent|long[-_]?term|auto)[-_]memor(?:y|ies)"
    r"|memor(?:y|ies)[-_](?:context|block|recall|results?|bank)|memories|recall(?:ed)?[-_]context"
)
_OPENING = re.compile(rf"{_LT}({_BLOCKS})(?:\s[^<>]{{0,200}})?{_GT}", re.I)
_OUR_HEADER = re.compile(r"(?:\s|\\n)*Past experience recalled by hindsight\b")
_OUR_CLOSING = re.compile(rf"{_LT}/{re.escape(FENCE)}{_GT}", re.I)
_OUR_LABEL = re.compile(r"(?:^|\n|\\n)[ \t>]*- \[[0-9a-f][0-9a-f-]{5,}\] \w+ · ")
_OUR_DOCUMENT = re.compile(r"\"schema\\?\":\s*\\?\"hindsight\.(?:recall|memory|list|why|search)/")
_OUR_COMMAND = re.compile(
    r"(?:^|[;&|(\n`])\s*(?:\w+=\S*\s+)*(?:(?:sudo|time|env|command|exec|nohup|uvx|(?:uv|pipx|poetry)"
    r" run)\s+)*(?:[\w.~/-]*/)?hindsight(?:-daemon)?(?=$|[\s;&|)])"
    r"|\s-m\s+hindsight_(?:cli|daemon)\b"
)
_OUR_PROGRAMS = frozenset({"hindsight", "hindsight-daemon"})
_MEMORY_SERVER = re.compile(r"hindsight|memor(?:y|ies)|mem0|claude-mem", re.I)
_PROBE = re.compile(
    r"(?:warm-?\s?up|ping|/(?:usage|cost|status|context|stats|help|clear|compact|exit|quit|login"
    r"|logout|model|doctor|mcp|config|resume))[\s.!]*",
    re.I,
)


def without_memories(text: str) -> str:
    """Return the text without the blocks that memory tools put into it, in one pass.

    A block of ours whose end is missing ends with the text; one whose beginning is missing begins
    with its first label.
    """
    if not _may_hold(text):
        return text
    kept: list[str] = []
    position = 0
    for match in _OPENING.finditer(text):
        if match.start() < position:
            continue
        closing = _closing_of(match[1]).search(text, match.end())
        if closing is None:
            if match[1].lower() != FENCE or not _OUR_HEADER.match(text, match.end()):
                continue
            end = len(text)
        else:
            end = closing.end()
        kept.append(text[position : match.start()])
        position = end
    rest = "".join([*kept, text[position:]])
    while closing := _OUR_CLOSING.search(rest):
        label = _OUR_LABEL.search(rest, 0, closing.start())
        start = label.start() if label is not None else closing.start()
        rest = rest[:start] + rest[closing.end() :]
    return rest


def _may_hold(text: str) -> bool:
    lowered = text.lower()
    return "mem" in lowered or "hindsight" in lowered or "recall" in lowered


def _closing_of(tag: str) -> re.Pattern[str]:
    return re.compile(rf"{_LT}/{re.escape(tag)}\s*{_GT}", re.I)


def is_own_command(line: str) -> bool:
    """Tell whether a shell line runs `hindsight` itself, alone or among other commands."""
    if "hindsight" not in line:
        return False
    if _OUR_COMMAND.search(line):
        return True
    return any(command.program in _OUR_PROGRAMS for command in parse(line))


def is_memory_tool(tool: ToolUse) -> bool:
    """Tell whether a tool call asks a memory: a server whose name says so, or our command line."""
    if tool.category == "mcp" or tool.name.startswith("mcp__"):
        server = re.split(r"__|[./]", tool.name.removeprefix("mcp__"))[0]
        return bool(_MEMORY_SERVER.search(server))
    return tool.category == "shell" and is_own_command(tool.command or tool.arguments)


def is_probe(text: str) -> bool:
    """Tell whether a prompt asks for nothing: a warm-up, or a command about the agent itself."""
    return bool(_PROBE.fullmatch(text.strip()))


class OwnTail:
    """Takes events in order; remembers by session what its last prompt was and which calls we own.

    Bounded and not durable: after a restart the answer to a probe may pass for one.
    """

    def __init__(self) -> None:
        self._idle: OrderedDict[str, bool] = OrderedDict()
        self._calls: OrderedDict[str, None] = OrderedDict()

    def take(self, events: Iterable[Event], own_folders: Sequence[str] = ()) -> tuple[Event, ...]:
        """Return the events as they are to be stored; `own_folders` are where only we work."""
        return tuple(self._one(event, own_folders) for event in events)

    def _one(self, event: Event, own_folders: Sequence[str]) -> Event:
        is_left_out = self._is_left_out(event, own_folders)
        tool, text = event.tool, without_memories(event.text)
        if tool is not None:
            if self._is_ours(event.session_id, tool):
                is_left_out, text = True, ""
            tool = _cleaned(tool)
        if event.kind == "tool_result" and _OUR_DOCUMENT.search(text):
            text = ""
        if text == event.text and tool is event.tool and not is_left_out:
            return event
        return msgspec.structs.replace(
            event, text=text, tool=tool, is_synthetic=event.is_synthetic or is_left_out
        )

    def _is_left_out(self, event: Event, own_folders: Sequence[str]) -> bool:
        here = f"{event.cwd}/"
        if event.cwd and any(here.startswith(f"{folder}/") for folder in own_folders):
            return True
        if event.kind == "prompt" and event.role == "user" and not event.is_synthetic:
            is_own = OWN_SESSION_MARK in event.text
            _put(self._idle, event.session_id, is_own or is_probe(event.text))
        is_said = event.kind in ("prompt", "text", "reasoning", "tool_call", "tool_result")
        return is_said and self._idle.get(event.session_id, False)

    def _is_ours(self, session_id: str, tool: ToolUse) -> bool:
        call = f"{session_id}\0{tool.call_id}"
        is_ours = is_memory_tool(tool) or (bool(tool.call_id) and call in self._calls)
        if is_ours and tool.call_id:
            _put(self._calls, call, None)
        return is_ours


def _put(kept: OrderedDict[str, T], key: str, value: T) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _SESSIONS_IN_MIND:
        kept.popitem(last=False)


def _cleaned(tool: ToolUse) -> ToolUse:
    arguments, command = without_memories(tool.arguments), without_memories(tool.command)
    if (arguments, command) == (tool.arguments, tool.command):
        return tool
    return msgspec.structs.replace(tool, arguments=arguments, command=command)
