"""The labelled sessions of `cases/`: one TOML file each, read into records.

A session is told in a small script, one step a paragraph, first character first:

    > text       what the user typed; two leading spaces go on with the line before
    < text       what the assistant said
    $ command    a shell command
    read PATH, grep PATTERN, edit PATH, write PATH   the other tools
    | line       what the tool before it printed
    = N          its exit code, 0 where not given
    - old, + new   lines that an edit takes out and puts in
    ? text       the harness refused the edit with this text
    !            the user interrupted

Odd numbers are the half that rules may be tuned on, even numbers are held out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

FOLDER = Path(__file__).parent / "cases"
FORMATS = ("claude-code", "codex", "gemini-cli", "cline", "generic")

StepKind = Literal["prompt", "said", "shell", "read", "grep", "edit", "write", "interrupt"]
_MARKS: dict[str, StepKind] = {">": "prompt", "<": "said", "$": "shell", "!": "interrupt"}
_TOOLS: tuple[StepKind, ...] = ("read", "grep", "edit", "write")


class ScriptStep(msgspec.Struct, kw_only=True):
    """One thing that happens in a session; `text` is what was said, run or touched."""

    kind: StepKind
    text: str = ""
    output: list[str] = []
    exit_code: int = 0
    old: list[str] = []
    new: list[str] = []
    refusal: str = ""
    is_cut_off: bool = False


class Wanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A lesson by the patterns it must hold, any of its kinds (empty: any), and its scope."""

    has: list[str]
    kind: str = ""
    scope: str = ""

    def fits(self, text: str) -> bool:
        """Tell whether a text holds all patterns."""
        return all(re.search(pattern, text, re.IGNORECASE) for pattern in self.has)

    def allows(self, kind: str) -> bool:
        """Tell whether a memory may be of this kind."""
        return not self.kind or kind in self.kind.split("|")


class WantedEpisode(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An episode by a pattern of its goal, and the outcomes that are right."""

    goal: str
    outcome: str
    optional: bool = False


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A labelled session.

    `lesson` must be learnt, `also` may be, `junk` must not; with `nothing` whatever is learnt
    beyond `also` is junk, with `no_episode` not even an episode may come of it.
    """

    format: str
    lang: Literal["en", "zh"]
    cwd: str
    session: str
    name: str = ""
    sidechain: bool = False
    nothing: bool = False
    no_episode: bool = False
    episode: list[WantedEpisode] = []
    lesson: list[Wanted] = []
    also: list[Wanted] = []
    junk: list[Wanted] = []

    @property
    def is_held_out(self) -> bool:
        """True for the half that no rule was tuned on."""
        return int(self.name.split("-")[0]) % 2 == 0

    @property
    def steps(self) -> list[ScriptStep]:
        """The session's script."""
        return parse_script(self.session.strip("\n").splitlines())


def load(folder: Path = FOLDER) -> list[Case]:
    """Return all cases in the order of their names."""
    cases = []
    for path in sorted(folder.glob("*.toml")):
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
        cases.append(msgspec.convert({**fields, "name": path.stem}, Case))
    return cases


def parse_script(lines: Iterable[str]) -> list[ScriptStep]:
    """Read a script; raises ValueError at a line that is none."""
    steps: list[ScriptStep] = []
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark in _MARKS:
            step = ScriptStep(kind=_MARKS[mark], text=rest)
            if mark == "!" and steps and steps[-1].kind == "shell":
                before = steps[-1]
                before.is_cut_off = not before.output and not before.exit_code
            steps.append(step)
        elif mark in _TOOLS:
            steps.append(ScriptStep(kind=mark, text=rest))
        elif not steps:
            raise ValueError(f"no step to go on with: `{line}`")
        elif line.startswith("  "):
            steps[-1].text += "\n" + line[2:]
        elif mark == "|":
            steps[-1].output.append(rest)
        elif mark == "=":
            steps[-1].exit_code = int(rest)
        elif mark == "-":
            steps[-1].old.append(rest)
        elif mark == "+":
            steps[-1].new.append(rest)
        elif mark == "?":
            steps[-1].refusal = rest
        else:
            raise ValueError(f"no script line: `{line}`")
    return steps
