"""Drafts about how work is done here: the command that verified it, the sequence that worked.

Pure; imports the other engine modules. A command that anybody would try first is no lesson, and
a sequence is one only for an operation (a release, a reset) that went through without a failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.drafts import make_draft
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import clip, code

MIN_STEPS, MAX_STEPS = 3, 7
MAX_EDITS = 3

_NOUNS = {
    "test": ("the tests", "测试"),
    "build": ("the build", "构建"),
    "check": ("the checks", "检查"),
}
_TELLING_PART = re.compile(
    r"^[A-Z_]\w*=\S|\b(?:docker|podman|compose)\b|(?:^|\s)(?:\./)?[\w.-]*/?[\w-]+\.(?:sh|py|js|ts|rb)\b"
    r"|(?:^|\s)--(?!verbose|quiet|watch|help|version|color|timeout|tb|maxfail|reporter|parallel|jobs"
    r"|run|bail|coverage|cov|no-)[a-z][\w-]{2,}(?:=| )\S|^make \w|\b(?:run|exec) [\w-]+:[\w:-]+"
)
"""What makes a command worth telling: environment, container, script, settings, own targets."""
_OPERATION = re.compile(
    r"\b(?:releas|deploy|publish|ship|roll ?out|reset|set ?up|bootstrap|install|migrat|rebuil"
    r"|regenerat|generat|provision|seed|upgrad|back ?up|restor|cut )"
    r"|发布|部署|打包|上线|重置|初始化|搭建|迁移|生成|回滚|备份|恢复|升级|安装|重建",
    re.I,
)
_PASSING = frozenset(("kill", "pkill", "killall", "rm", "mv", "cp", "chmod", "curl", "wget", "psql",
                      "ssh", "redis-cli", "mysql", "sqlite3"))  # fmt: skip
_PASSING_GIT = frozenset(
    ("add", "checkout", "stash", "restore", "reset", "switch", "pull", "rebase")
)


def verified_command(
    task: Task, actions: Sequence[Action], verdict: OutcomeVerdict
) -> Draft | None:
    """Draft how the work was verified, where the command is not one that anybody would guess."""
    if verdict.outcome != "success" or not verdict.verification_command:
        return None
    if not any(a.is_edit and a.state != "failed" for a in actions):
        return None
    checks = [a for a in actions if a.verifies and a.state == "ok" and a.command is not None]
    last = checks[-1] if checks else None
    if last is None or last.command is None or not _TELLING_PART.search(last.command.display):
        return None
    if any(re.search(r"\.\w{1,5}(?:::|$)", target) for target in last.command.targets):
        return None  # one test file of one task says nothing about the next
    shown = code(clip(last.command.display, 140))
    names = _NOUNS.get(last.command.role, _NOUNS["check"])
    chinese = is_chinese(task.goal)
    text = (
        f"用 {shown} 运行{names[1]}（本项目验证通过的命令）。"
        if chinese
        else f"Run {names[0]} with {shown}: it verified the work in this project."
    )
    return make_draft(
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


def working_sequence(
    task: Task, actions: Sequence[Action], verdict: OutcomeVerdict
) -> Draft | None:
    """Draft the commands that carried an operation through, in their order."""
    goal = short_goal(task.goal, 110).rstrip(".。")
    if verdict.outcome != "success" or not _OPERATION.search(task.goal[:400]):
        return None
    ran = [a for a in actions if a.command is not None and not a.is_edit and a.state != "noise"]
    ran = [a for a in ran if a.command is not None and a.command.role != "read"]
    edits = [a for a in actions if a.is_edit and a.state == "ok"]
    if any(a.state == "failed" for a in ran) or len(edits) > MAX_EDITS:
        return None
    steps: dict[str, Action] = {}
    for action in ran:
        if action.command is None or action.command.program in _PASSING:
            continue
        if action.command.program == "git" and action.command.subcommand in _PASSING_GIT:
            continue
        line = action.line if len(action.line) <= 80 and "\n" not in action.line else ""
        steps.setdefault(clip(line or action.command.display, 80), action)
    own = [a for a in steps.values() if a.command is not None and a.command.role == "other"]
    if not MIN_STEPS <= len(steps) <= MAX_STEPS or not own:
        return None
    chinese = is_chinese(task.goal)
    shown = [code(step) for step in steps]
    if chinese:
        text = f"要「{goal}」，依次运行 {'、'.join(shown)}：各步均成功。"
    else:
        text = f'For "{goal}", run in this order: {", ".join(shown)}; every step succeeded.'
    first = next(iter(steps.values()))
    return make_draft(
        kind="procedure",
        text=text,
        score=0.56,
        confidence=0.7,
        trust="tool",
        events=[
            first.call.id,
            *(a.result.id for a in reversed(steps.values()) if a.result is not None),
        ],
        quote=first.command.display if first.command is not None else first.line,
        rule="working-sequence",
        keys=(
            ("goal", goal),
            ("question", f"怎么{goal}？" if chinese else f"How do I {goal}?"),
        ),
    )
