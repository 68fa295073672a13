"""Drafts about what went wrong: failure→fix pairs, wrong commands, diagnosed bugs.

Pure; imports the other engine modules. A pair is a lesson only if it says more than that a slip
made a moment before was repaired.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.causes import (
    Clause,
    Passage,
    find_cause,
    find_fix,
    hints_of,
    relevance,
    states_rule,
    without_retracted,
)
from hindsight_daemon.engine.commands import Command
from hindsight_daemon.engine.drafts import make_draft
from hindsight_daemon.engine.edits import described_change
from hindsight_daemon.engine.entities import files_in
from hindsight_daemon.engine.failures import Fix, Substitute
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import (
    because,
    chinese_sentence,
    clip,
    code,
    is_clause,
    question_why,
    sentence_case,
    solution_text,
    spaced,
    subject_of,
)

_EXPECTED = re.compile(
    r"\b(?:should fail|expected to fail|fails? as expected|failing (?:test|spec)s? first|red phase"
    r"|\bTDD\b|test-first|confirm(?:s)? (?:that )?(?:it|the test) fails)\b|先写.{0,8}失败|预期失败"
    r"|符合预期",
    re.I,
)


_ONE_OFF = frozenset(("kill", "pkill", "killall", "git", "rm", "mv", "cp", "chmod", "curl", "psql"))
"""Programs whose arguments (a pid, a path, a query) mean nothing the next time."""
_NOTES = re.compile(r"/\.(?:claude|codex|gemini|cursor|pi)/|(?:^|/)(?:plans?|TODO)[./]", re.I)
"""Files that agents plan in."""
_LOOKS = frozenset(
    ("kill", "pkill", "killall", "git", "rm", "curl", "wget", "psql", "mysql", "sqlite3")
)
"""Programs that explain no cure where nothing was edited."""
_CONFLICT = re.compile(
    r"could not apply|CONFLICT|merge conflict|non-fast-forward|failed to push|unstaged changes"
    r"|nothing to commit|would be overwritten|cannot pull|diverge",
    re.I,
)


def _passages(task: Task, fix: Fix) -> list[Passage]:
    """Return what was said about a failure, weighted by nearness to its solution."""
    start = fix.failures[0].index
    last = fix.failures[-1].ends_at
    end = fix.resolved_by.ends_at
    stop = next(
        (
            i
            for i, e in enumerate(task.events)
            if i > end and e.kind == "prompt" and not e.is_sidechain
        ),
        len(task.events),
    )
    if fix.resolved_by is not fix.confirmed_by:
        stop = end + 1  # what follows speaks of the next error
    found: list[Passage] = []
    for index, event in enumerate(task.events):
        if event.role != "assistant" or event.kind not in ("text", "reasoning"):
            continue
        if start < index < stop:
            weight = 0.0 if index < last else 1.2 if index <= end else 1.0
            weight -= 0.8 if event.kind == "reasoning" else 0.0
            is_first = last < index <= end and not any(p.is_first_reaction for p in found)
            found.append(
                Passage(
                    text=event.text,
                    event_id=event.id,
                    weight=weight,
                    is_first_reaction=is_first and event.kind == "text",
                )
            )
    return without_retracted(found)


def solved(task: Task, fix: Fix) -> Draft | None:
    """Draft a failure→fix pair; None if it was an expected, trivial or unexplained one."""
    edits = [a for a in fix.between if a.is_edit and a.state != "failed"]
    commands = [
        a for a in fix.between
        if a.command is not None and not a.is_edit and a.state == "ok"
        and a.command.role in ("other", "build") and a.command.program not in _ONE_OFF
    ]  # fmt: skip
    changed_call = (
        fix.resolved_by.command is not None and fix.resolved_by.line != fix.failures[-1].line
    )
    if not edits and not commands and not changed_call:
        return None
    passages = _passages(task, fix)
    if any(_EXPECTED.search(p.text) for p in _around(task, fix)):
        return None
    files = list(dict.fromkeys(path for a in edits for path in a.files))
    hints = hints_of(fix.error, *files, *fix.test_ids)
    cause = find_cause(passages, hints)
    remedy = find_fix(passages, hints)
    if _follows_own_edits(task, fix):
        # The agent was at work on something else: what it explained may be that, not this error.
        if cause is not None and not (relevance(cause.sentence, hints) or states_rule(cause)):
            cause = None
        remedy = remedy if remedy is not None and relevance(remedy.sentence, hints) else None
    if _CONFLICT.search(fix.error):
        return None  # merge conflicts and rejected pushes are everyday steps, not lessons
    if remedy is not None and _writes_the_test(remedy.text, fix):
        return None  # the test was written in this task, and failed until it was right
    if remedy is not None and remedy.text.split(" ", 1)[0] in (
        fix.command.program,
        fix.command.subcommand,
    ):
        remedy = None  # "Published 1.2.5" tells that `publish` worked, not how
    if cause is None and (fix.confirmed_by.state != "ok" or fix.command.role == "commit"):
        return None
    if cause is None and fix.command.role == "check":
        return None  # what a linter asks for is told by the linter
    if cause is None and not _is_worth_keeping(task, fix, files, bool(commands)):
        return None
    chinese = is_chinese(task.goal) or (
        not task.goal and cause is not None and is_chinese(cause.text)
    )
    action = remedy.text if remedy is not None else ""
    if not action:
        action = described_change(edits, commands, chinese=chinese, hints=_names(cause, hints))
    if cause is None and _SAYS_NOTHING.match(action):
        return None
    if not action and changed_call:
        rerun = code(clip(fix.resolved_by.line, 110))
        action = f"改为运行 {rerun}" if chinese else f"run {rerun} instead"
    if not action:
        return None
    reason = cause.text if cause is not None else ""
    if reason and action.rstrip(".") in reason:
        reason = ""
    text = solution_text(
        command=shorter(fix.command),
        error=fix.error,
        hangs=fix.hangs,
        fix=action,
        cause=reason,
        chinese=chinese,
    )
    attempts = len(fix.failures)
    confirmed = fix.confirmed_by.state == "ok"
    score = (
        0.6
        + (0.12 if cause else 0.0)
        + (0.06 if attempts > 1 or fix.tried else 0.0)
        + (0.05 if fix.hangs else 0.0)
    )
    score -= 0.12 if cause is None and remedy is None else 0.0
    shown = fix.command
    subject = subject_of(shown.display, shown.targets, shown.role)
    subject_zh = subject_of(shown.display, shown.targets, shown.role, chinese=True)
    evidence = [
        cause.event_id if cause is not None else "",
        fix.failures[0].result.id if fix.failures[0].result is not None else "",
        *(a.call.id for a in edits[:3]),
        *(a.call.id for a in commands[:2]),
        fix.resolved_by.result.id if fix.resolved_by.result is not None else "",
    ]
    return make_draft(
        kind="solution",
        text=text,
        score=min(score, 0.88),
        confidence=(0.8 if cause is not None else 0.6) - (0.0 if confirmed else 0.2),
        trust="agent" if cause is not None or remedy is not None else "tool",
        events=evidence,
        quote=cause.sentence
        if cause is not None
        else (fix.error.rstrip("…") or fix.command.display),
        rule="failure-fix",
        keys=(
            ("goal", short_goal(task.goal)),
            ("error", fix.error),
            ("question", question_why(subject, hangs=fix.hangs, chinese=False)),
            (
                "question",
                question_why(subject_zh, hangs=fix.hangs, chinese=True) if chinese else "",
            ),
        ),
        files=[*files, *files_in(fix.error)],
    )


_SAYS_NOTHING = re.compile(r"(?:change|修改) ?(?:`[^`]+`(?: and |、)?)+$")


def _names(cause: Clause | None, hints: Sequence[str]) -> list[str]:
    return [*(hints_of(cause.sentence) if cause is not None else ()), *hints]


def _writes_the_test(remedy: str, fix: Fix) -> bool:
    names = {re.split(r"::|/| > | › ", one)[-1].strip() for one in fix.test_ids}
    return bool(re.match(r"(?:add|write|create)\b|添加|新增|写", remedy)) and any(
        name and name in remedy for name in names
    )


def shorter(command: Command) -> str:
    """Return a command as it is best named: whole if short, else without its long flags."""
    if len(command.display) <= 60:
        return command.display
    words = [word for word in command.display.split() if not re.match(r"--\w[\w-]*(?:=|$)", word)]
    return " ".join(words)


def _around(task: Task, fix: Fix) -> list[Passage]:
    first, last = fix.failures[0].index, fix.failures[0].ends_at
    return [
        Passage(text=event.text, event_id=event.id)
        for event in task.events[max(0, first - 3) : last + 3]
        if event.kind in ("text", "reasoning") and event.role == "assistant"
    ]


def _edited_before(task: Task, index: int) -> set[str]:
    """Return the names of the files that calls before this position edited in the same turn."""
    prompts = [n for n, e in enumerate(task.events[:index]) if e.kind == "prompt"]
    return {
        path.rsplit("/", 1)[-1]
        for event in task.events[prompts[-1] if prompts else 0 : index]
        if event.kind == "tool_call" and event.tool is not None and event.tool.category == "edit"
        for path in event.files
    }


def _follows_own_edits(task: Task, fix: Fix) -> bool:
    return bool(_edited_before(task, fix.failures[0].index))


def _is_worth_keeping(task: Task, fix: Fix, files: Sequence[str], has_commands: bool) -> bool:
    """Tell whether an unexplained fix is more than the repair of a slip made a moment before."""
    if not fix.error:
        return False
    if has_commands and not files:
        return True
    names = {path.rsplit("/", 1)[-1] for path in files}
    return not names & _edited_before(task, fix.failures[0].index)


def replaced(task: Task, one: Substitute) -> Draft:
    """Draft that one command does the job here and another does not exist."""
    chinese = is_chinese(task.goal)
    right = code(clip(one.worked.command.display if one.worked.command else one.worked.line, 90))
    wrong = code(clip(one.failed.command.display if one.failed.command else one.failed.line, 80))
    error = code(clip(one.error, 90)) if one.error else ""
    if chinese:
        told = f"，后者报错 {error}" if error else ""
        text = chinese_sentence(f"用 {right}，不要用 {wrong}{told}")
    else:
        told = f", which fails with {error}" if error else ""
        text = sentence_case(f"run {right} instead of {wrong}{told}")
    return make_draft(
        kind="solution",
        text=text,
        score=0.52,
        confidence=0.7,
        trust="tool",
        events=[
            one.failed.result.id if one.failed.result is not None else "",
            one.worked.call.id,
        ],
        quote=one.error.rstrip("…") or one.failed.line,
        rule="other-command",
        keys=(("goal", short_goal(task.goal)), ("error", one.error)),
    )


_SYMPTOM = re.compile(
    r"\b(?:fix\w*|bug|issues?|problems?|broke|fail\w*|broken|break\w*|crash\w*|errors?|hang\w*"
    r"|stuck|wrong|why (?:do|does|did|is|are|isn.t|was)|doesn.t"
    r"|does not|isn.t|not working|slow|leak\w*|flaky|regression|investigate|debug|timeout"
    r"|times out)\b"
    r"|\b[45]\d\d\b|修复|报错|失败|卡住|崩溃|为什么|排查|错误|不(?:能|对|生效|工作|显示)|问题|慢"
    r"|泄漏|超时",
    re.I,
)


def diagnosed(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> Draft | None:
    """Draft from a stated cause where no command failed first: a bug that a person reported."""
    edits = [
        a for a in actions
        if a.is_edit and a.state != "failed" and not all(map(_NOTES.search, a.files))
    ]  # fmt: skip
    commands = [
        a for a in actions
        if a.state == "ok" and a.command is not None and a.command.role == "other"
        and a.command.program not in _LOOKS
    ]  # fmt: skip
    goal = short_goal(task.goal, 110)
    steps = edits or (commands if verdict.outcome == "success" else [])
    if not steps or not _SYMPTOM.search(task.goal[:600]) or verdict.outcome == "failure":
        return None
    said = [
        e for e in task.events if e.kind == "text" and e.role == "assistant" and not e.is_sidechain
    ]
    first_edit = steps[0].index
    positions = {event.id: index for index, event in enumerate(task.events)}
    before = [event.id for event in said if positions[event.id] < first_edit][-1:]
    passages = [
        Passage(
            text=event.text,
            event_id=event.id,
            weight=1.2 if event.id in before else 0.8 if index >= len(said) - 2 else 0.0,
            is_first_reaction=event.id in before,
        )
        for index, event in enumerate(said)
    ]
    files = list(dict.fromkeys(path for a in edits for path in a.files))
    hints = hints_of(goal, *files)
    chinese = is_chinese(task.goal)
    cause = find_cause(without_retracted(passages), hints)
    if cause is None or cause.score < 3.5 or not (chinese or is_clause(cause.text)):
        return None
    remedy = find_fix(passages, hints)
    if (
        remedy is not None
        and remedy.event_id != cause.event_id
        and not relevance(remedy.sentence, hints_of(cause.sentence, *files))
    ):
        remedy = None  # said at another time about something else
    if remedy is not None and remedy.sentence == cause.sentence and remedy.text in cause.text:
        remedy = None
    done = described_change(
        edits, [] if edits else commands, chinese=chinese, hints=_names(cause, hints)
    )
    action = remedy.text if remedy is not None else done
    if not action:
        return None
    action, reason = clip(action, 110), clip(cause.text, 120)
    if chinese:
        text = chinese_sentence(f"针对「{goal.rstrip('。.')}」：{action}，因为{spaced(reason)}")
    else:
        text = sentence_case(f'For "{goal.rstrip(".")}": {action}{because(reason)}')
    solved = verdict.outcome == "success"
    return make_draft(
        kind="solution",
        text=text,
        score=0.66 if solved else 0.5,
        confidence=0.7 if solved else 0.5,
        trust="agent",
        events=[
            cause.event_id,
            remedy.event_id if remedy is not None else "",
            *(a.call.id for a in steps[:3]),
        ],
        quote=cause.sentence,
        rule="diagnosis",
        keys=(("goal", goal), ("question", f"为什么{goal}？" if chinese else f"Why: {goal}?")),
        files=files[:4],
    )
