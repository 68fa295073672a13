"""The episode around the lessons: its short goal, type, path and summary.

Pure; imports records, `actions` and `wording`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.causes import Passage, find_cause, find_fix
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.reasons import in_chinese
from hindsight_daemon.engine.sentences import prose, sentences
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import clip, code, lower_first, sentence_case
from hindsight_daemon.model import Step

MAX_STEPS = 24

_POLITE = re.compile(
    r"^(?:hi|hello|hey|ok(?:ay)?|please|pls|can you|could you|would you|i (?:want|need|would like"
    r"|'d like) you to|help me(?: to)?|let'?s|now"
    r"|(?:请|帮我|麻烦|麻烦你|帮忙|你好|能不能|可以|请你)+)[\s,，:：]*",
    re.I,
)
_TYPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("debug", re.compile(
        r"\b(?:fix\w*|bugs?|fail\w*|broken|crash\w*|error|debug\w*|hang\w*|stuck|why (?:does|did|is"
        r"|do)|flaky|regression|doesn.t work|not working|investigate)\b|修复|报错|失败|卡住|崩溃"
        r"|为什么|排查|调试|错误"
        r"|问题", re.I)),
    ("review", re.compile(r"\b(?:review|audit|critique)\b|审查|评审", re.I)),
    ("test", re.compile(
        r"\b(?:add|write|extend|increase) .{0,30}\b(?:tests?|coverage|specs?)\b|写.{0,10}测试"
        r"|补.{0,10}测试", re.I)),
    ("refactor", re.compile(
        r"\b(?:refactor\w*|rename|clean ?up|restructur\w*|simplif\w*|extract|deduplicat\w*|move)\b"
        r"|重构|重命名|整理|简化", re.I)),
    ("docs", re.compile(r"\b(?:document\w*|readme|docstring|changelog|docs)\b|文档|注释", re.I)),
    ("config", re.compile(
        r"\b(?:config\w*|set ?up|install|upgrade|bump|ci|pipeline|deploy\w*|docker\w*|migrate"
        r"|dependency|dependencies|lint\w*)\b|配置|安装|升级|部署|依赖", re.I)),
    ("feature", re.compile(
        r"\b(?:add|implement|create|build|support|make|write|introduce|allow)\b|添加|新增|实现|增加"
        r"|创建|支持"
        r"|开发", re.I)),
)  # fmt: skip
_OUTCOMES = {
    "success": ("It worked", "结果：成功"),
    "partial": ("It worked in part", "结果：部分成功"),
    "failure": ("It failed", "结果：失败"),
    "unknown": ("Outcome unknown", "结果：未知"),
}


_SHELL_PROMPT = re.compile(r"(?:➜|❯|λ|\$ |% |>>> |[\w.-]+@[\w.-]+[:~ ]|~?/[\w./-]+ \(|\S+ git:\()")
"""A line that was pasted from a terminal."""


def short_goal(goal: str, limit: int = 160) -> str:
    """Return the goal in one line: the first sentences of the prompt without politeness."""
    lines = [line for line in sentences(goal) if not _SHELL_PROMPT.match(line)]
    lines = lines or [line for line in goal.splitlines() if line.strip()] or [goal]
    first = _POLITE.sub("", lines[0]).strip() or lines[0]
    if len(first) < 20 and len(lines) > 1:
        first = f"{first} {lines[1]}"
    return clip(first.rstrip(":："), limit)


def task_type_of(task: Task, actions: Sequence[Action]) -> str:
    """Return the kind of work, by the words of the goal and else by what was done."""
    goal = prose(task.goal)[:600]
    earliest: tuple[int, str] | None = None
    for name, form in _TYPES:
        match = form.search(goal)
        if match is not None and (
            earliest is None or (name == "debug" and match.start() < 80 and earliest[0] > 0)
        ):
            earliest = (match.start(), name)
    if earliest is not None:
        return earliest[1]
    if any(action.is_edit for action in actions):
        return "feature"
    return "ops" if any(action.category == "shell" for action in actions) else "explore"


def execution_path(actions: Sequence[Action]) -> tuple[Step, ...]:
    """Return the steps that changed or checked something; the middle of long paths is left out."""
    steps: list[Step] = []
    for action in actions:
        if action.state == "noise" or (
            action.command is not None and action.command.role == "read"
        ):
            continue
        if action.command is not None and not action.is_edit:
            name = f"run {clip(action.command.display, 120)}"
        elif action.is_edit:
            name = "edit " + (", ".join(action.files[:3]) or "files")
        else:
            continue
        if steps and steps[-1].action == name and steps[-1].result == action.state:
            continue
        arguments = action.call.tool.arguments if action.call.tool is not None else ""
        digest = hashlib.sha256(
            (arguments or action.line).encode("utf-8", "surrogatepass")
        ).hexdigest()[:16]
        steps.append(Step(action=name, params_digest=digest, result=action.state))
    if len(steps) > MAX_STEPS:
        half = MAX_STEPS // 2
        steps = [*steps[:half], *steps[-half:]]
    return tuple(steps)


def summarize(
    task: Task, actions: Sequence[Action], verdict: OutcomeVerdict, drafts: Sequence[Draft]
) -> str:
    """Return one or two sentences: goal, what was done, how it ended, why."""
    chinese = is_chinese(task.goal)
    goal = short_goal(task.goal, 140)
    done = _done(task, actions, chinese=chinese)
    worked = _OUTCOMES[verdict.outcome][1 if chinese else 0]
    why = verdict.reasons[0] if verdict.reasons else ""
    if verdict.failure_reason and verdict.outcome in ("failure", "partial"):
        why = verdict.failure_reason
    if not why.isascii() and not chinese:
        why = clip(why, 80)
    explains = task_type_of(task, actions) == "debug" or verdict.outcome == "failure"
    explained = any(draft.kind == "solution" for draft in drafts)
    cause = _cause(task) if explains and not explained else ""
    if chinese:
        why = in_chinese(why)
        text = f"目标：{goal.rstrip('。.')}。" if goal else ""
        text += f"{done}。" if done else ""
        text += (
            f"{worked}（{clip(why, 110)}）。"
            if why and verdict.outcome != "unknown"
            else f"{worked}。"
        )
        return text + (f"原因：{cause}。" if cause else "")
    text = sentence_case(goal) + " " if goal else ""
    text += sentence_case(done) + " " if done else ""
    text += f"{worked}: {clip(why, 120)}." if why and verdict.outcome != "unknown" else f"{worked}."
    return text + (f" Cause: {lower_first(cause)}." if cause else "")


def _cause(task: Task) -> str:
    clause = find_cause(_final_passages(task))
    return clip(clause.text, 120) if clause is not None else ""


def _final_passages(task: Task) -> list[Passage]:
    said = [
        e for e in task.events if e.kind == "text" and e.role == "assistant" and not e.is_sidechain
    ]
    return [Passage(text=event.text, event_id=event.id, weight=1.0) for event in said[-2:]]


def _done(task: Task, actions: Sequence[Action], *, chinese: bool) -> str:
    fix = find_fix(_final_passages(task))
    if fix is not None and fix.score >= 4 and any(action.is_edit for action in actions):
        return clip(fix.text, 130) if chinese else f"Done: {clip(fix.text, 130)}"
    edited = list(
        dict.fromkeys(p for a in actions if a.is_edit and a.state != "failed" for p in a.files)
    )
    ran = list(dict.fromkeys(
        a.command.display for a in actions
        if a.command is not None and a.command.role != "read" and not a.is_edit
    ))  # fmt: skip
    parts = []
    if edited:
        names = ("、" if chinese else ", ").join(code(path) for path in edited[:3])
        more = len(edited) - 3
        names += (
            (f" 等 {len(edited)} 个文件" if chinese else f" and {more} more") if more > 0 else ""
        )
        parts.append(f"修改了 {names}" if chinese else f"edited {names}")
    if ran:
        shown = code(clip(ran[-1], 80))
        parts.append(f"运行了 {shown}" if chinese else f"ran {shown}")
    return ("，" if chinese else ", ").join(parts)
