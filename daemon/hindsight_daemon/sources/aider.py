"""Aider's chat history: `.aider.chat.history.md`, Markdown that is appended to and never rotated.

A run of Aider is a session. Only its start has a time, in local time without a zone; all events
of the run carry it. Examples published on the web have neither run headers nor times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from hindsight_daemon.model import Event, Record
from hindsight_daemon.sources.block_messages import TextParser
from hindsight_daemon.sources.fields import names
from hindsight_daemon.sources.named_file import folder_named_by, is_named_by
from hindsight_daemon.sources.port import Parser, TranscriptContext

AGENT = "aider"
_VARIABLE = "AIDER_CHAT_HISTORY_FILE"
_RUN = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_FENCE = re.compile(r"^(`{3,}|~{3,})")
_EDITED = re.compile(r"^(Applied edit to|Creating empty file|Created new file) (.+)$")
_COMMIT = re.compile(r"^Commit ([0-9a-f]{7,40})\b ?(.*)$")
_RUNNING = re.compile(r"^Running (?!.*\bcontainer)(.+)$")
_MODEL = re.compile(r"^(?:Main model|Model): (\S+)")
_NOT_SAID = re.compile(r"<div [^>]*>|</div>|</?chat-transcript>")
_ERRORS = (
    "The LLM did not conform to the edit format",
    "Only 3 reflections allowed, stopping",
    "Can't initialize prompt toolkit",
    "Failed to apply edit",
    "Malformed response",
    "Unable to",
)
_MODEL_ERROR = re.compile(r"^(?:litellm\.|openai\.|anthropic\.)?\w*Error\b")
_SHELL_COMMANDS = names("/run /test /lint /git !")
_OWN_LINE = re.compile(
    r"^> (?:\$ ?aider|Aider v\d|Applied edit to |Tokens: |Added .+ to the chat|Repo-map: )",
    re.MULTILINE,
)


PortionKind = Literal["run", "prompt", "note", "answer"]


class Portion(Record, frozen=True, kw_only=True):
    """Neighbouring lines of one kind: `run`, `prompt`, `note` (of Aider) or `answer`."""

    kind: PortionKind
    lines: list[str]
    line: int


def portions(text: str) -> Iterator[Portion]:
    """Cut a history into its portions.

    A heading of the fourth level in an answer looks like a prompt. Aider ends every line that was
    typed with two spaces; where an editor took these away, only what follows no words of an
    answer counts.
    """
    current: list[str] = []
    kind: PortionKind = "answer"
    start, fence, previous = 1, "", ""
    for number, line in enumerate([*text.split("\n"), ""], 1):
        has_words = kind == "answer" and any(one.strip() for one in current)
        what = _kind_of(line, previous, kind, in_fence=bool(fence), has_words=has_words)
        if what != "answer":
            fence = ""
        elif match := _FENCE.match(line):
            fence = "" if fence and line.startswith(fence) else fence or match[1]
        if what != kind or what == "run":
            if any(one.strip() for one in current):
                yield Portion(kind=kind, lines=current, line=start)
            current, start, kind = [], number, what
        current.append(line)
        previous = line
    if any(one.strip() for one in current):
        yield Portion(kind=kind, lines=current, line=start)


def _kind_of(
    line: str, previous: str, after: PortionKind, *, in_fence: bool, has_words: bool
) -> PortionKind:
    if _RUN.match(line) and not previous.strip():
        return "run"
    if line.startswith("#### "):
        is_typed = line.endswith("  ") or (line[5:6] in ("/", "!") and not in_fence)
        return "prompt" if is_typed or not has_words else "answer"
    if (line.startswith("> ") or line == ">") and not in_fence:
        return "note"
    # Blank lines stand between the kinds and belong to none.
    return after if not line.strip() and after in ("note", "prompt") else "answer"


class AiderParser(TextParser):
    """Reads one history."""

    agent = AGENT

    def text(self, text: str) -> Iterator[Event]:
        """Yield the events of all runs."""
        text = _NOT_SAID.sub("", _without_front_matter(text))
        self._prompts = 0
        self._shell = ""
        place = self._state.fallback
        seen: dict[str, int] = {}
        has_begun = False
        for portion in portions(text):
            self.at(portion.line)
            self._ts = self._started
            if portion.kind == "run":
                has_begun = True
                began = portion.lines[0].split(" at ", 1)[1].strip()
                seen[began] = seen.get(began, 0) + 1
                again = f".{seen[began]}" if seen[began] > 1 else ""
                self._state.session = f"{place}@{began.replace(' ', 'T')}{again}"
                self._started = _local(began)
                self._prompts = 0
                self._state.calls.clear()
            elif portion.kind == "prompt":
                has_begun = True
                yield from self._prompt(portion)
            elif portion.kind == "note":
                yield from self._notes(portion)
            elif has_begun:
                words = "\n".join(portion.lines)
                yield from self.said("text", "assistant", words, native=self._native("answer"))

    _started: datetime | None = None
    _prompts: int = 0
    _shell: str = ""

    def _native(self, what: str) -> str:
        """Name a place by the prompt it follows, so that it stays when the file grows."""
        return f"{what} {self._prompts}"

    def _prompt(self, portion: Portion) -> Iterator[Event]:
        self._prompts += 1
        self._shell = ""
        text = "\n".join(line[5:].rstrip() for line in portion.lines if line.strip()).strip()
        if text == "<blank>":
            return
        command, _, rest = text.partition(" ")
        command = "!" if text.startswith("!") else command
        is_command = text.startswith(("/", "!"))
        native = self._native("prompt")
        is_shell = command in _SHELL_COMMANDS
        has_words = command in ("/ask", "/code", "/architect") and bool(rest.strip())
        yield from self.said(
            "prompt", "user", text, native=native, is_synthetic=is_command and not has_words
        )
        if is_shell and (line := rest.strip() if command != "!" else text[1:].strip()):
            line = f"git {line}" if command == "/git" else line
            self._shell = native
            yield from self.call("bash", native, {"command": line}, native=native)

    def _notes(self, portion: Portion) -> Iterator[Event]:
        words = [line[2:].rstrip() for line in portion.lines if line.startswith(">")]
        if self._shell:
            output = "\n".join(words)
            yield from self.outcome(self._shell, output, None, native=self._shell)
            self._shell = ""
            return
        for number, note in enumerate(words):
            yield from self._note(note, self._native(f"note {portion.line}.{number}"))

    def _note(self, note: str, native: str) -> Iterator[Event]:
        if match := _EDITED.match(note):
            name = "edit_file" if match[1].startswith("Applied") else "create_file"
            yield from self.call(name, native, {"path": match[2]}, native=native)
            yield from self.outcome(native, note, False, native=native)
        elif match := _COMMIT.match(note):
            self._state.commit = match[1]
            yield from self.event("text", "system", note, native=native, is_synthetic=True)
        elif match := _RUNNING.match(note):
            yield from self.call("bash", native, {"command": match[1]}, native=native)
        elif match := _MODEL.match(note):
            self._state.model = match[1]
        elif note.startswith("^C"):
            if self._state.last_kind != "interrupt":
                yield from self.event("interrupt", "user", note, native=native, ends_turn=True)
        elif note.startswith(_ERRORS) or _MODEL_ERROR.match(note):
            yield from self.event("error", "system", note, native=native)


def _without_front_matter(text: str) -> str:
    """Blank the front matter of a published page, so that lines keep their numbers."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---", 4)
    return text if end < 0 else "\n" * text.count("\n", 0, end + 4) + text[end + 4 :]


def _local(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").astimezone()
    except (ValueError, OverflowError, OSError):
        return None


class Aider:
    """The Aider family."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "document"
    is_shallow = True

    def score(self, head: str, path: str) -> float:
        """Accept a text with a run header, or with prompts and notes in Aider's wording."""
        if head.lstrip()[:1] in ("{", "["):
            return 0.0
        has_prompt = bool(re.search(r"^#### \S", head, re.MULTILINE))
        if any(map(_RUN.match, head.split("\n", 400)[:400])):
            return 0.95
        if has_prompt and (_OWN_LINE.search(head) or 'class="chat-transcript"' in head):
            return 0.93
        return 0.9 if path.endswith(".aider.chat.history.md") and has_prompt else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Return the folder of the file that the environment names.

        Others lie in projects and are asked for by path.
        """
        return folder_named_by(_VARIABLE, env)

    def matches(self, path: Path) -> bool:
        """Accept histories by their usual name."""
        return path.name.endswith(".aider.chat.history.md") or is_named_by(_VARIABLE, path)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one history."""
        return AiderParser(context)


SOURCE = Aider()
