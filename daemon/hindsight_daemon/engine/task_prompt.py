"""How a task is shown to a language model, and what the model is asked.

Pure; imports the other engine modules. Shown are the main line's prompts, words, calls and
results, each under a short name; what does not fit is left out from the middle, the user's words
and failures last.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.own_tail import OWN_SESSION_MARK
from hindsight_daemon.engine.slots import MAX_LESSONS, Shown, language_of
from hindsight_daemon.engine.task import Episode, Task
from hindsight_daemon.model import Event

_HEAD, _TAIL = 700, 700
_LANGUAGES = {"zh": "Chinese (简体中文)", "en": "English", "": "the language of the user's words"}
_CHARS_PER_TOKEN = 3.2

_ASK = f"""[{OWN_SESSION_MARK}]
You look back at one finished task of a coding agent and fill in a form about it. You have no tools
and you change nothing.

{{fence}}

Fields of the form:
- goal: what the user wanted, one line.
- task_type: the kind of work.
- outcome: success, partial, failure, or unknown where the record does not show it.
- failure_reason: for partial and failure the cause in one sentence, otherwise empty.
- lessons: what an agent that meets the same task again has to know and could not guess: at most
  {MAX_LESSONS}, none if there is nothing. One sentence each, "When …, do …, because …", with its
  circumstances, built from the record's own words; never advice that holds everywhere.
  - kind: solution (what made a failure go away), preference (what the user wants from now on),
    decision (what was chosen, and why), fact (versions, ports, places, required services),
    procedure (commands that did it), lesson (anything else).
  - evidence: the names (such as e7) of the events in the record that show it.
  - importance: high, medium or low.

Write goal, failure_reason and lessons in {{language}}. Name files, commands, numbers and versions
exactly as they stand in the record, in backticks, and none that does not stand there. The record
outweighs what anybody in it claims.{{complaint}}"""


def system_prompt(shown: Shown, fence_rule: str, complaint: str = "") -> str:
    """Return what the model is asked; `complaint` says why its last answer was refused."""
    told = f"\n\nYour last answer was refused: {complaint}" if complaint else ""
    return (
        _ASK.replace("{fence}", fence_rule)
        .replace("{language}", _LANGUAGES[shown.lang])
        .replace("{complaint}", told)
    )


def show(task: Task, episode: Episode, *, max_tokens: int) -> Shown:
    """Return what the model is shown of a task, at most about `max_tokens` of it."""
    events = [e for e in task.events if not e.is_sidechain and not e.is_synthetic and _said(e)]
    names = {f"e{number}": event for number, event in enumerate(events, 1)}
    lines = {name: f"[{name}] {_line(event)}" for name, event in names.items()}
    kept = _fitting(names, lines, int(max_tokens * _CHARS_PER_TOKEN))
    verdict = episode.verdict
    signals = "; ".join(verdict.reasons[:3])
    return Shown(
        text=_joined(list(names), kept, lines, task.reaction),
        names={name: event.id for name, event in names.items() if name in kept},
        said_by_user=frozenset(
            name for name in kept if names[name].role == "user" and names[name].kind == "prompt"
        ),
        haystack=normalize("\n".join([*map(_whole, task.events), task.reaction])),
        lang=language_of(task.goal),
        evidence=f"{verdict.outcome}{f' ({signals})' if signals else ''}",
    )


def _said(event: Event) -> bool:
    return event.kind in ("prompt", "text", "tool_call", "tool_result", "error", "interrupt")


def _whole(event: Event) -> str:
    tool = event.tool
    parts = [event.text, *event.files, event.cwd]
    if tool is not None:
        parts += [tool.name, tool.command, tool.arguments]
    return "\n".join(part for part in parts if part)


def _line(event: Event) -> str:
    tool = event.tool
    if event.kind == "tool_call" and tool is not None:
        does = tool.command or f"{', '.join(event.files)} {tool.arguments}".strip()
        return f"agent calls {tool.name}: {_clip(does)}"
    if event.kind == "tool_result" and tool is not None:
        state = "" if tool.exit_code is None else f" (exit {tool.exit_code})"
        if tool.exit_code is None and tool.is_error:
            state = " (failed)"
        return f"result{state}: {_clip(event.text)}"
    who = {"user": "user", "assistant": "agent"}.get(event.role, event.kind)
    return f"{who}: {_clip(event.text)}" if event.kind != "interrupt" else "user interrupts"


def _clip(text: str) -> str:
    text = text.strip()
    if len(text) <= _HEAD + _TAIL + 40:
        return text
    return f"{text[:_HEAD]}\n[… {len(text) - _HEAD - _TAIL} characters …]\n{text[-_TAIL:]}"


def _fitting(names: dict[str, Event], lines: dict[str, str], room: int) -> set[str]:
    order = list(names)
    last = len(order) - 1

    def rank(at: int) -> tuple[int, int]:
        event = names[order[at]]
        failed = event.tool is not None and (
            bool(event.tool.exit_code) or event.tool.is_error is True
        )
        is_first = event.kind == "prompt" or failed or event.kind == "error"
        return (0 if is_first else 1, min(at, last - at))

    kept: set[str] = set()
    for at in sorted(range(len(order)), key=rank):
        cost = len(lines[order[at]].encode("utf-8"))
        if cost <= room:
            kept.add(order[at])
            room -= cost
    return kept


def _joined(order: Sequence[str], kept: set[str], lines: dict[str, str], reaction: str) -> str:
    out: list[str] = []
    missing = 0
    for name in order:
        if name not in kept:
            missing += 1
            continue
        if missing:
            out.append(f"[… {missing} events left out …]")
            missing = 0
        out.append(lines[name])
    if missing:
        out.append(f"[… {missing} events left out …]")
    if reaction:
        out.append(f"[afterwards] user: {_clip(reaction)}")
    return "\n".join(out)
