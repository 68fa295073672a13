"""SpecStory: sessions of other agents rendered as Markdown in `.specstory/history`.

Every message has a heading with its time; tools are HTML elements around their output. Headings
inside of those belong to what a tool printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from hindsight_daemon.model import Event, Record
from hindsight_daemon.sources.block_messages import TextParser
from hindsight_daemon.sources.claude_text import read_prompt, read_result
from hindsight_daemon.sources.fields import moment
from hindsight_daemon.sources.port import Parser, TranscriptContext

AGENT = "specstory"
_HEADING = re.compile(
    r"^_\*\*(?P<who>User|Agent|Assistant)(?P<side> - sidechain)?(?: \((?P<inside>[^()]*)\))?\*\*_$"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:]+Z?")
_SESSION = re.compile(r"^<!-- (.{1,40}?) Session ([0-9A-Za-z_-]{6,}) \(")
_TOOL_BEGIN = re.compile(r'^<tool-use data-tool-type="([\w-]+)" data-tool-name="([^"]*)"')
_TOOL_END = "</details></tool-use>"
_THOUGHT = re.compile(
    r"<think><details><summary>.*?</summary>\n?(.*?)</details></think>", re.DOTALL
)
_FENCE = re.compile(r"^(`{3,})([\w+-]*)\s*$")
_CODE = re.compile(r"`([^`\n]+)`")
_NAMED_FILE = re.compile(r"(?:The file|created successfully at:|Wrote (?:to )?file) (/[^\s]+)")


class Message(Record, frozen=True, kw_only=True):
    """One message with its heading; `line` is where it begins."""

    who: str
    is_sidechain: bool
    model: str
    time: str
    line: int
    lines: list[str]


def split_messages(text: str) -> tuple[str, str, list[Message]]:
    """Return agent and id of the session, and its messages."""
    product = session = ""
    messages: list[Message] = []
    in_tool = False
    for number, line in enumerate(text.split("\n"), 1):
        if not messages and not session and (found := _SESSION.match(line)):
            product, session = found[1], found[2]
        is_tool = in_tool or line.startswith("<tool-use ")
        in_tool = is_tool and not line.endswith(_TOOL_END)
        match = _HEADING.match(line) if line.startswith("_**") and not is_tool else None
        if match:
            inside = match["inside"] or ""
            time = _TIME.search(inside)
            messages.append(
                Message(
                    who=match["who"],
                    is_sidechain=bool(match["side"]),
                    model=_TIME.sub("", inside).strip(),
                    time=time[0] if time else "",
                    line=number,
                    lines=[],
                )
            )
        elif messages:
            messages[-1].lines.append(line)
    return product, session, messages


class SpecStoryParser(TextParser):
    """Reads one rendered session."""

    agent = AGENT

    def text(self, text: str) -> Iterator[Event]:
        """Yield the events of the whole session."""
        product, session, messages = split_messages(text)
        self._state.session = session
        self._is_claude = product.startswith("Claude")
        expanded = ""
        for number, message in enumerate(messages, 1):
            self.at(message.line)
            self._ts = moment(message.time)
            is_side = message.is_sidechain
            self._state.is_sidechain = is_side
            base = session or self._state.fallback
            self._state.session = f"{base}/sidechain" if is_side else session
            self._state.parent = base if is_side else ""
            self._state.model = message.model or self._state.model
            words = "\n".join(message.lines).strip().removesuffix("\n---").strip()
            native = f"{number}@{message.time}"
            if message.who == "User" or (is_side and not message.model):
                # What a command stands for is put into the user's mouth at the same time.
                is_expansion = bool(expanded) and message.time == expanded
                if words.startswith(("<command-name>", "<command-message>")):
                    expanded = message.time
                yield from self._prompt(words, native, is_expansion=is_expansion)
            else:
                yield from self._answer(words, native)

    _is_claude: bool = False

    def _prompt(self, text: str, native: str, *, is_expansion: bool) -> Iterator[Event]:
        found = read_prompt(text)
        if found is None:
            return
        kind, said, is_wrapped = found
        if kind == "interrupt":
            yield from self.event("interrupt", "user", said, native=native, ends_turn=True)
        elif kind == "compaction":
            yield from self.event("compaction", "system", said, native=native, is_synthetic=True)
        else:
            is_machine = is_wrapped or is_expansion
            yield from self.said("prompt", "user", said, native=native, is_synthetic=is_machine)

    def _answer(self, text: str, native: str) -> Iterator[Event]:
        for thought in _THOUGHT.findall(text):
            yield from self.said("reasoning", "assistant", thought, native=native)
        lines = _THOUGHT.sub("", text).split("\n")
        words: list[str] = []
        block: list[str] = []
        number = 0
        for line in lines:
            if block or line.startswith("<tool-use "):
                block.append(line)
                if line.endswith(_TOOL_END):
                    yield from self.said("text", "assistant", "\n".join(words), native=native)
                    yield from self._tool(block, f"{native}.{number}")
                    words, block, number = [], [], number + 1
            else:
                words.append(line)
        yield from self.said("text", "assistant", "\n".join(words), native=native)
        if block:  # the file was cut inside of a tool
            yield from self._tool(block, f"{native}.{number}")

    def _tool(self, lines: list[str], native: str) -> Iterator[Event]:
        match = _TOOL_BEGIN.match(lines[0])
        kind, name = (match[1], match[2]) if match else ("", "")
        before, fences = split_fences(lines[1:], kind)
        output = fences[-1] if fences else "" if kind == "shell" else "\n".join(before).strip()
        arguments = _arguments(kind, before, fences, output)
        is_error = output.startswith(("Exit code ", "Error", "<tool_use_error>")) or (
            "doesn't want to proceed" in output[:200]
        )
        text, status, code = read_result(output, is_error or None)
        if code is None and kind == "shell" and self._is_claude and not is_error:
            code = 0  # Claude Code reports every other exit code in the output
        yield from self.call(name, native, arguments, native=native)
        yield from self.result(
            native,
            text,
            native=native,
            exit_code=code,
            is_error=is_error if fences or kind == "shell" else None,
            status=status,
        )


def split_fences(lines: list[str], kind: str) -> tuple[list[str], list[str]]:
    """Return the lines before the first fence, and what is inside of each fence.

    The output's fence runs to the last closing mark, because outputs hold fences of their own; it
    is the first one marked `text`, or the last after what a file was given.
    """
    before: list[str] = []
    opened = [n for n, line in enumerate(lines) if _FENCE.match(line)]
    begins = [n for n in opened if lines[n] != "```"]
    if not opened:
        return [line for line in lines if not line.startswith(("<", "</"))], []
    before = [line for line in lines[: opened[0]] if not line.startswith("<summary>")]
    texts = [n for n in begins if lines[n].strip("` ") == "text"]
    closing = opened[-1]
    start = texts[0] if texts and (kind != "write" or opened[0] == texts[0]) else opened[-1]
    start = texts[-1] if texts and start == opened[-1] else start
    if start == closing:
        closing = len(lines)
    fences = []
    if start > opened[0]:
        fences.append("\n".join(lines[opened[0] + 1 : start]).rstrip("`\n "))
    fences.append("\n".join(lines[start + 1 : closing]))
    return before, fences


def _arguments(kind: str, before: list[str], fences: list[str], output: str) -> dict[str, str]:
    """Return what a call was asked for, as far as the rendering shows."""
    shown = "\n".join(before)
    codes = _CODE.findall(shown)
    if kind == "shell":
        if len(fences) > 1:
            return {"command": fences[0]}
        whole = re.search(r"^`(.+)`$", shown, re.MULTILINE | re.DOTALL)
        return {"command": whole[1] if whole else codes[0] if codes else ""}
    if kind in ("read", "write"):
        match = _NAMED_FILE.search(output)
        path = match[1] if match else codes[0] if codes else ""
        given = {"file_path": path.rstrip(".")}
        return {**given, "content": fences[0]} if len(fences) > 1 else given
    return {"description": shown.strip()}


class SpecStoryMd:
    """The SpecStory family."""

    name = "specstory-md"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:
        """Accept what says that SpecStory made it, or has its headings."""
        if head.lstrip()[:1] in ("{", "["):
            return 0.0
        if "<!-- Generated by SpecStory" in head[:400]:
            return 0.97
        headings = sum(bool(_HEADING.match(line)) for line in head.split("\n", 400)[:400])
        is_at_home = "/.specstory/" in path.replace("\\", "/")
        return 0.93 if headings >= 2 or (headings and is_at_home) else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """They lie in projects and are asked for by path."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept renderings."""
        return path.suffix == ".md" and path.parent.parent.name == ".specstory"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one session."""
        return SpecStoryParser(context)


SOURCE = SpecStoryMd()
