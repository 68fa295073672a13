"""The rules that draft memories from a task: one function for each kind of lesson.

Pure; imports the other engine modules. Every draft cites the events it rests on, best first, and
quotes a literal span of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.causes import Passage, find_cause, find_fix, hints_of, relevance
from hindsight_daemon.engine.commands import Command
from hindsight_daemon.engine.decisions import decisions_of
from hindsight_daemon.engine.edits import described_change
from hindsight_daemon.engine.entities import anchors_of, entities_of, files_in
from hindsight_daemon.engine.failures import DeadEnd, Fix, dead_ends_of, fixes_of
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.screen import is_instruction_like
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.statements import environment_fact, statements_of
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import (
    because,
    clip,
    code,
    question_why,
    sentence_case,
    solution_text,
    subject_of,
)
from hindsight_daemon.model import Event, Importance, MemoryKind, Trust

MAX_QUOTE_CHARS = 200


def drafts_of(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> list[Draft]:
    """Return all drafts of a task, unranked."""
    fixes = fixes_of(actions)
    drafts = [
        *_stated(task),
        *_decided(task),
        *(d for fix in fixes if (d := _solved(task, fix)) is not None),
        *(_abandoned(task, end) for end in dead_ends_of(actions)),
        *_facts(task, actions),
    ]
    if not any(draft.kind == "solution" for draft in drafts):
        diagnosed = _diagnosed(task, actions, verdict)
        drafts.extend([diagnosed] if diagnosed is not None else [])
    procedure = _procedure(task, actions, verdict)
    drafts.extend([procedure] if procedure is not None else [])
    return drafts


def importance_of(score: float) -> Importance:
    """Return the word for an importance score from 0 to 1."""
    return "high" if score >= 0.75 else "medium" if score >= 0.45 else "low"


def _draft(
    *,
    kind: MemoryKind,
    text: str,
    score: float,
    confidence: float,
    trust: Trust,
    events: Sequence[str],
    quote: str,
    rule: str,
    keys: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
    is_global: bool = False,
) -> Draft:
    flagged = is_instruction_like(text) if trust != "user" else ""
    return Draft(
        kind=kind,
        text=text,
        importance=importance_of(score),
        importance_score=round(score, 3),
        confidence=confidence,
        trust=trust,
        scope="global" if is_global else "shared",
        applicability="everywhere" if is_global else "project",
        event_ids=tuple(dict.fromkeys(event for event in events if event)),
        quote=clip_quote(quote),
        keys=tuple(dict.fromkeys((k, v) for k, v in keys if v)),
        anchors=anchors_of(text, files=files),
        entities=entities_of(text, files=files),
        tags=("instruction-like",) if flagged else (),
        rule=rule,
    )


def clip_quote(text: str) -> str:
    """Return the beginning of a literal span, at most 200 characters, never reworded."""
    line = text.strip().split("\n", 1)[0] if len(text) > MAX_QUOTE_CHARS else text.strip()
    return line[:MAX_QUOTE_CHARS]


def _own_prompts(task: Task) -> list[tuple[Event, bool]]:
    acted = False
    found: list[tuple[Event, bool]] = []
    for event in task.events:
        if event.kind in ("tool_call", "text", "interrupt") and not event.is_sidechain:
            acted = True
        if (
            event.kind == "prompt"
            and event.role == "user"
            and not (event.is_sidechain or event.is_synthetic)
        ):
            found.append((event, acted))
    return found


def _stated(task: Task) -> list[Draft]:
    drafts: list[Draft] = []
    for event, is_followup in _own_prompts(task):
        for statement in statements_of(event.text, is_followup=is_followup):
            drafts.append(
                _draft(
                    kind=statement.kind,
                    text=clip(statement.text, 300),
                    score=statement.score,
                    confidence=0.9,
                    trust="user",
                    events=(event.id,),
                    quote=statement.sentence,
                    rule=statement.rule,
                    keys=(("text", statement.sentence),),
                    is_global=statement.is_global,
                )
            )
    return drafts


def _decided(task: Task) -> list[Draft]:
    drafts: list[Draft] = []
    prompts = {event.id for event, _ in _own_prompts(task)}
    for event in task.events:
        by_user = event.id in prompts
        if event.is_sidechain or not (
            by_user or (event.kind == "text" and event.role == "assistant")
        ):
            continue
        for decision in decisions_of(event.text, by_user=by_user):
            chinese = is_chinese(decision.text)
            topic = clip(decision.chosen, 60)
            score = (0.8 if by_user else 0.6) + (
                0.05 if decision.rejected and decision.reason else 0
            )
            drafts.append(
                _draft(
                    kind="decision",
                    text=clip(decision.text, 300),
                    score=score,
                    confidence=0.85 if by_user else 0.65,
                    trust="user" if by_user else "agent",
                    events=(event.id,),
                    quote=decision.sentence,
                    rule="decision",
                    keys=(
                        ("question", f"为什么选择{topic}？" if chinese else f"Why {topic}?"),
                        ("goal", short_goal(task.goal)),
                    ),
                )
            )
    return drafts


_EXPECTED = re.compile(
    r"\b(?:should fail|expected to fail|fails? as expected|failing (?:test|spec)s? first|red phase|\bTDD\b|test-first|confirm(?:s)? (?:that )?(?:it|the test) fails)\b|先写.{0,8}失败|预期失败|符合预期",
    re.I,
)


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
            found.append(Passage(text=event.text, event_id=event.id, weight=weight))
    return found


def _solved(task: Task, fix: Fix) -> Draft | None:
    edits = [a for a in fix.between if a.is_edit and a.state != "failed"]
    commands = [
        a for a in fix.between
        if a.command is not None and not a.is_edit and a.command.role in ("other", "build") and a.state == "ok"
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
        cause = cause if cause is not None and relevance(cause.sentence, hints) else None
        remedy = remedy if remedy is not None and relevance(remedy.sentence, hints) else None
    if _CONFLICT.search(fix.error):
        return None  # merge conflicts and rejected pushes are everyday steps, not lessons
    if cause is None and fix.command.role in ("check", "commit"):
        return None  # what a linter asks for is told by the linter
    if cause is None and not _is_worth_keeping(task, fix, files, bool(commands)):
        return None
    chinese = is_chinese(task.goal) or (
        not task.goal and cause is not None and is_chinese(cause.text)
    )
    action = remedy.text if remedy is not None else ""
    if not action:
        action = described_change(edits, commands, chinese=chinese)
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
    return _draft(
        kind="solution",
        text=text,
        score=min(score, 0.88),
        confidence=0.8 if cause is not None else 0.6,
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


def shorter(command: Command) -> str:
    """Return a command as it is best named: whole if short, else without its flags."""
    if len(command.display) <= 60:
        return command.display
    return " ".join(filter(None, (command.program, command.subcommand, *command.targets)))


def _around(task: Task, fix: Fix) -> list[Passage]:
    first, last = fix.failures[0].index, fix.failures[0].ends_at
    return [
        Passage(text=event.text, event_id=event.id)
        for event in task.events[max(0, first - 3) : last + 3]
        if event.kind in ("text", "reasoning") and event.role == "assistant"
    ]


def _edited_before(task: Task, index: int) -> set[str]:
    """Return the names of the files that calls before this position edited."""
    return {
        path.rsplit("/", 1)[-1]
        for event in task.events[:index]
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


def _abandoned(task: Task, end: DeadEnd) -> Draft:
    chinese = is_chinese(task.goal)
    tried = list(dict.fromkeys(path for a in end.tried if a.is_edit for path in a.files))[:3]
    names = ("、" if chinese else ", ").join(code(path) for path in tried)
    shown = code(clip(end.command.display, 90))
    count = len(end.failures)
    if chinese:
        text = (
            f"{shown} 尝试 {count} 次仍失败：{code(end.error)}；修改 {names} 没有解决，需换思路。"
        )
    else:
        text = f"{shown} still failed after {count} tries with {code(end.error)}; editing {names} did not fix it, so look elsewhere first."
    return _draft(
        kind="lesson",
        text=text,
        score=0.55,
        confidence=0.6,
        trust="tool",
        events=[a.result.id for a in reversed(end.failures) if a.result is not None],
        quote=end.error.rstrip("…"),
        rule="dead-end",
        keys=(("goal", short_goal(task.goal)), ("error", end.error)),
        files=tried,
    )


_SYMPTOM = re.compile(
    r"\b(?:fix\w*|bug|issues?|problems?|broke|fail\w*|broken|break\w*|crash\w*|errors?|hang\w*|stuck|wrong|why|doesn.t|does not|isn.t|not working|slow|leak\w*|flaky|regression|investigate|debug|timeout|times out)\b"
    r"|修复|报错|失败|卡住|崩溃|为什么|排查|错误|不(?:能|对|生效|工作|显示)|问题|慢|泄漏|超时",
    re.I,
)


def _diagnosed(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> Draft | None:
    """Draft from a stated cause where no command failed first: a bug that a person reported."""
    edits = [a for a in actions if a.is_edit and a.state != "failed"]
    goal = short_goal(task.goal, 110)
    if not edits or not _SYMPTOM.search(task.goal[:600]) or verdict.outcome == "failure":
        return None
    said = [
        e for e in task.events if e.kind == "text" and e.role == "assistant" and not e.is_sidechain
    ]
    passages = [
        Passage(text=event.text, event_id=event.id, weight=0.8 if index >= len(said) - 2 else 0.0)
        for index, event in enumerate(said)
    ]
    files = list(dict.fromkeys(path for a in edits for path in a.files))
    hints = hints_of(goal, *files)
    cause = find_cause(passages, hints)
    if cause is None or cause.score < 4:
        return None
    remedy = find_fix(passages, hints)
    chinese = is_chinese(task.goal)
    action = remedy.text if remedy is not None else described_change(edits, [], chinese=chinese)
    if not action:
        return None
    if chinese:
        text = sentence_case(
            f"针对「{goal.rstrip('。.')}」：{clip(action, 110)}，因为{clip(cause.text, 120)}"
        )
    else:
        text = sentence_case(
            f'For "{goal.rstrip(".")}": {clip(action, 110)}{because(clip(cause.text, 120))}'
        )
    solved = verdict.outcome == "success"
    return _draft(
        kind="solution",
        text=text,
        score=0.66 if solved else 0.5,
        confidence=0.7 if solved else 0.5,
        trust="agent",
        events=[
            cause.event_id,
            remedy.event_id if remedy is not None else "",
            *(a.call.id for a in edits[:3]),
        ],
        quote=cause.sentence,
        rule="diagnosis",
        keys=(("goal", goal), ("question", f"为什么{goal}？" if chinese else f"Why: {goal}?")),
        files=files[:4],
    )


def _facts(task: Task, actions: Sequence[Action]) -> list[Draft]:
    prompts = {event.id for event, _ in _own_prompts(task)}
    seen = " ".join((a.line + " " + a.output[:4000]) for a in actions)
    drafts: list[Draft] = []
    for event in task.events:
        by_user = event.id in prompts
        if event.is_sidechain or not (
            by_user or (event.kind == "text" and event.role == "assistant")
        ):
            continue
        for sentence in sentences(event.text)[:80]:
            fact = environment_fact(sentence)
            if not fact:
                continue
            named = re.findall(r"\d+(?:\.\d+)+|\b\d{3,5}\b|[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}", fact)
            if not by_user and not (named and any(name in seen for name in named)):
                continue
            drafts.append(
                _draft(
                    kind="fact",
                    text=clip(fact, 280),
                    score=0.7 if by_user else 0.5,
                    confidence=0.8 if by_user else 0.6,
                    trust="user" if by_user else "agent",
                    events=(event.id,),
                    quote=sentence,
                    rule="environment",
                    keys=(("goal", short_goal(task.goal)),),
                )
            )
    return drafts


_PLAIN = re.compile(
    r"^(?:npx |uv run |poetry run |bunx |python3? -m |\./)?[\w.-]+(?: (?:run |exec )?[\w:.-]+)?(?: -{1,2}\S+)*(?: \.| \./\.\.\.)?$"
)
"""Commands that anybody would try first: a program with at most a task name and flags."""


def _procedure(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> Draft | None:
    """Draft how the work was verified, where the command is not one that anybody would guess."""
    if verdict.outcome != "success" or not verdict.verification_command:
        return None
    if not any(a.is_edit and a.state != "failed" for a in actions):
        return None
    checks = [a for a in actions if a.verifies and a.state == "ok" and a.command is not None]
    last = checks[-1] if checks else None
    if last is None or last.command is None or _PLAIN.match(last.command.display):
        return None
    if any(re.search(r"\.\w{1,5}(?:::|$)", target) for target in last.command.targets):
        return None  # one test file of one task says nothing about the next
    shown = code(clip(last.command.display, 140))
    noun = {
        "test": ("the tests", "测试"),
        "build": ("the build", "构建"),
        "check": ("the checks", "检查"),
    }
    names = noun.get(last.command.role, noun["check"])
    chinese = is_chinese(task.goal)
    text = (
        f"用 {shown} 运行{names[1]}（本项目验证通过的命令）。"
        if chinese
        else f"Run {names[0]} with {shown}: it verified the work in this project."
    )
    return _draft(
        kind="procedure",
        text=text,
        score=0.4,
        confidence=0.75,
        trust="tool",
        events=[last.result.id if last.result is not None else "", last.call.id],
        quote=last.command.display,
        rule="verified-command",
        keys=(("question", f"怎么运行{names[1]}？" if chinese else f"How do I run {names[0]}?"),),
    )
