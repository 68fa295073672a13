"""Judges whether a task worked, from evidence alone.

Pure; imports records and `actions`. Signals in order of strength: a structured result, the last
verification after the last edit, commits, the user's next words, a failing command that passed
later, a streak of errors, the agent giving up. Without any of them the outcome is `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action, actions_of, arguments_of
from hindsight_daemon.engine.commands import parse
from hindsight_daemon.engine.failures import fixes_of, telling_line, was_missing
from hindsight_daemon.engine.followups import accepts, rejects
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.task import OutcomeVerdict, Task
from hindsight_daemon.model import Event, Outcome

_FINISHERS = re.compile(
    r"^(?:finish|task_complete|attempt_completion|complete_task|submit|session\.task_complete)$",
    re.I,
)
_API_FAILURE = re.compile(
    r"^(?:API Error|Error: (?:5\d\d|429)|stream disconnected|.*(?:rate limit|usage limit"
    r"|overloaded))",
    re.I,
)
_GIVES_UP = re.compile(
    r"\bI(?:'m| am| was)?(?: still)? (?:unable to|not able to|could ?n.t|couldn.t (?:get|fix"
    r"|resolve|find a way))\b|\bI (?:give up|was not able to)\b"
    r"|\bremains? (?:unresolved|broken|unfixed)\b|无法(?:完成|解决|修复)|没能(?:完成|解决|修复)"
    r"|未能(?:完成|解决|修复)|放弃",
    re.I,
)
_DOCUMENTS = re.compile(r"\.(?:md|rst|txt|adoc)$|(?:^|/)(?:CHANGELOG|README|LICENSE)[^/]*$", re.I)
_UNDOES = re.compile(r"^git (?:revert|reset --hard|checkout (?:-- |\.)|restore)\b")


def judge(task: Task) -> OutcomeVerdict:
    """Return the outcome with the signals that led to it, strongest first."""
    return judge_actions(task, actions_of(task))


def judge_actions(task: Task, actions: Sequence[Action]) -> OutcomeVerdict:
    """Judge with the task's actions already paired."""
    words = _last_words(task)
    accepted = next((text for text in words if accepts(text)), "")
    rejected = bool(words) and rejects(words[-1])
    structured = _structured(task, actions)
    if structured is not None:
        return structured
    verdict = _by_verification(actions)
    if verdict is not None:
        return _weighed(verdict, accepted=accepted, rejected=words[-1] if rejected else "")
    if rejected:
        return _verdict(
            "failure", f"the user said: {_short(words[-1])}", 0.65, reason=_short(words[-1])
        )
    commit = _committed(actions)
    if commit:
        return _verdict("success", commit, 0.75 if accepted else 0.7)
    if accepted:
        return _verdict("success", f"the user accepted: {_short(accepted)}", 0.7)
    fixed = [fix for fix in fixes_of(actions) if fix.resolved_by.state == "ok"]
    streak = _error_streak(actions)
    if streak:
        error = telling_line(streak[-1].output, streak[-1].call.cwd)
        return _verdict("failure", f"the last {len(streak)} actions failed", 0.6, reason=error)
    if fixed and not any(
        a.state == "failed" for a in actions if a.index > fixed[-1].resolved_by.index
    ):
        return _verdict(
            "success", f"`{fixed[-1].command.display}` failed before and passes now", 0.65
        )
    gave_up = _gave_up(task)
    if gave_up:
        return _verdict("failure", "the agent gave up", 0.5, reason=gave_up)
    if task.is_interrupted:
        return _verdict("unknown", "interrupted by the user", 0.4, reason="interrupted by the user")
    return _verdict("unknown", "no evidence of the outcome", 0.3)


def _verdict(
    outcome: Outcome, signal: str, confidence: float, *, reason: str = "", command: str = ""
) -> OutcomeVerdict:
    return OutcomeVerdict(
        outcome=outcome,
        failure_reason=reason,
        reasons=(signal,),
        confidence=confidence,
        verification_command=command,
    )


def _last_words(task: Task) -> list[str]:
    """Return what the user said after the agent's first action, in order."""
    acted = next((i for i, e in enumerate(task.events) if e.kind in ("tool_call", "text")), -1)
    said = [
        event.text
        for index, event in enumerate(task.events)
        if event.kind == "prompt"
        and not event.is_sidechain
        and not event.is_synthetic
        and index > acted >= 0
    ]
    worked_after = _worked_after_last_prompt(task)
    # A complaint that the agent went on to deal with is answered by what came after it.
    said = [] if worked_after else said[-1:]
    return [*said, task.reaction] if task.reaction else said


def _worked_after_last_prompt(task: Task) -> bool:
    for event in reversed(task.events):
        if event.kind == "prompt" and not event.is_sidechain:
            return False
        if event.kind == "tool_call" and not _only_undoes(event):
            return True
    return False


def _only_undoes(event: Event) -> bool:
    line = event.tool.command if event.tool is not None else ""
    return bool(line) and all(
        command.role == "read" or _UNDOES.match(command.display) for command in parse(line)
    )


def _structured(task: Task, actions: Sequence[Action]) -> OutcomeVerdict | None:
    for action in reversed(actions):
        name = action.call.tool.name if action.call.tool is not None else ""
        if not _FINISHERS.match(name):
            continue
        told = str(
            arguments_of(action).get("task_completed", arguments_of(action).get("success", ""))
        ).lower()
        if told in ("true", "yes", "success"):
            return _verdict("success", f"`{name}` reported success", 0.85)
        if told == "partial":
            return _verdict("partial", f"`{name}` reported partial success", 0.85)
        if told in ("false", "no", "failure"):
            return _verdict(
                "failure", f"`{name}` reported failure", 0.85, reason="reported as not completed"
            )
        break
    for event in reversed(task.events):
        if event.is_sidechain or event.kind in ("compaction", "prompt"):
            continue
        if event.kind == "error" or (event.kind == "text" and _API_FAILURE.match(event.text)):
            return _verdict(
                "failure",
                "ended with an error of the agent or its API",
                0.7,
                reason=_short(event.text),
            )
        break
    return None


def _by_verification(actions: Sequence[Action]) -> OutcomeVerdict | None:
    judged = [
        a for a in actions if a.verifies and a.state in ("ok", "failed") and not was_missing(a)
    ]
    if not judged:
        return None
    edits = [a for a in actions if a.is_edit and a.state != "failed" and not _only_documents(a)]
    last_edit = max((a.ends_at for a in edits), default=-1)
    latest: dict[str, Action] = {}
    for action in judged:
        if action.command is not None:
            latest[f"{action.command.program} {action.command.subcommand}"] = action
    final = judged[-1]
    command = final.command.display if final.command is not None else ""
    commit = _committed(actions)
    if final.index < last_edit and commit:
        return _verdict("success", commit, 0.6, command=command)
    if final.state == "failed" and final.index < last_edit:
        signal = f"`{command}` failed, and was not run again after the last edit"
        return _verdict("unknown", signal, 0.4, command=command)
    if final.state == "failed":
        error = telling_line(final.output, final.call.cwd)
        passed = any(
            a.state == "ok" for a in latest.values() if a is not final and a.index > last_edit
        )
        passed = passed or _committed_after(actions, final)
        return _verdict(
            "partial" if passed else "failure",
            f"`{command}` failed after the last edit",
            0.85,
            reason=error or f"`{command}` failed",
            command=command,
        )
    if final.index > last_edit:
        broken = [a for a in latest.values() if a.state == "failed" and a.index > last_edit]
        if broken and broken[-1].command is not None:
            error = telling_line(broken[-1].output, broken[-1].call.cwd)
            return _verdict(
                "partial",
                f"`{command}` passed, `{broken[-1].command.display}` failed",
                0.75,
                reason=error,
                command=command,
            )
        return _verdict("success", f"`{command}` passed after the last edit", 0.9, command=command)
    return OutcomeVerdict(
        outcome="unknown",
        reasons=(f"`{command}` passed, but files were edited after it",),
        confidence=0.4,
        verification_command=command,
    )


def _weighed(verdict: OutcomeVerdict, *, accepted: str, rejected: str) -> OutcomeVerdict:
    outcome, confidence, reasons = verdict.outcome, verdict.confidence, verdict.reasons
    failure = verdict.failure_reason
    if rejected:
        said = _short(rejected)
        reasons = (*reasons, f"the user said: {said}")
        if outcome == "success":
            outcome, confidence, failure = "partial", 0.6, said
        elif outcome == "unknown":
            outcome, confidence, failure = "failure", 0.6, said
    elif accepted:
        reasons = (*reasons, f"the user accepted: {_short(accepted)}")
        if outcome == "unknown":
            outcome, confidence = "success", 0.7
        elif outcome == "success":
            confidence = 0.95
    return OutcomeVerdict(
        outcome=outcome,
        failure_reason=failure,
        reasons=reasons,
        confidence=confidence,
        verification_command=verdict.verification_command,
    )


def _only_documents(action: Action) -> bool:
    return bool(action.files) and all(_DOCUMENTS.search(path) for path in action.files)


def _committed(actions: Sequence[Action]) -> str:
    edits = [a.index for a in actions if a.is_edit and a.state != "failed"]
    last_edit = max(edits, default=-1)
    found = ""
    for action in actions:
        if action.command is None or action.index < last_edit:
            continue
        if action.command.role == "commit" and action.state == "ok":
            found = (
                f"`git {action.command.subcommand}`"
                if action.command.program == "git"
                else f"`{action.command.program}`"
            )
            found += " succeeded after the last edit"
        elif _UNDOES.match(action.command.display):
            found = ""
    return found


def _committed_after(actions: Sequence[Action], run: Action) -> bool:
    """Tell whether the work was committed although this run had failed."""
    return any(
        a.index > run.index
        and a.state == "ok"
        and a.command is not None
        and a.command.role == "commit"
        for a in actions
    )


def _error_streak(actions: Sequence[Action]) -> list[Action]:
    streak: list[Action] = []
    for action in reversed(actions):
        if action.state == "failed":
            streak.append(action)
        elif action.state == "ok":
            break
    return streak[::-1] if len(streak) >= 3 else []


def _gave_up(task: Task) -> str:
    for event in reversed(task.events):
        if event.kind == "text" and event.role == "assistant" and not event.is_sidechain:
            return next((_short(s) for s in sentences(event.text) if _GIVES_UP.search(s)), "")
    return ""


def _short(text: str, limit: int = 120) -> str:
    clean = " ".join(text.split())
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"
