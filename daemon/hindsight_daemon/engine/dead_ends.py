"""Drafts about what was tried in vain: a command that never passed, an approach that was given up.

Pure; imports the other engine modules. Why something cannot work is taken from what the agent
wrote when it gave up, in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.drafts import make_draft
from hindsight_daemon.engine.failures import DeadEnd, telling_line
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import clip, code, lower_first, sentence_case
from hindsight_daemon.model import Event

MIN_FAILED_RUNS = 2
_MAX_WHY_CHARS = 170

_GIVES_UP = re.compile(
    r"\b(?:giv(?:e|ing) up|gave up|abandon(?:ed|ing)?|dead end"
    r"|(?:could(?:n't| not)|can(?:no|')t|unable to|not able to|no way to|failed to) (?:get|make"
    r"|find a way)\b"
    r"|(?:this|that) (?:approach|route|path|way|option) (?:does not|doesn't|won't|will not|cannot"
    r"|can't) work"
    r"|is (?:not possible|impossible|not feasible|not going to work|a dead end))"
    r"|放弃|走不通|行不通|不可行|此路不通|没办法|试了.{1,8}次.{0,6}(?:失败|不行|没成)|无法实现",
    re.I,
)
_EXPLAINS = re.compile(
    r"\b(?:has no effect|fails? (?:on|with|because|at)|lacks?|does(?: not|n't)|do(?: not|n't)"
    r"|is not|are not|isn't|aren't|cannot|can't|requires?|needs?|because|pulls? in|only|no longer"
    r"|unsupported|incompatible|never|but)\b|不支持|不兼容|停止维护|没有|缺|因为|需要|无法|只能"
    r"|不能|冲突",
    re.I,
)
_TRIED = re.compile(
    r"^(?:I|we)(?:'ve| have)? (?:also )?tried (?P<what>[^,]{4,110}), (?:but|and|however,?)"
    r" (?P<why>.+)",
    re.I,
)
_LED_IN = re.compile(
    r"^(?:unfortunately,? |sadly,? |so |however,? )?(?:I|we)(?: still)? (?:could(?:n't| not)"
    r"|can(?:no|')t|was not able to|am unable to|were unable to) [^:]{3,80}: ?(?=\S)",
    re.I,
)
_GIVEN_UP_ZH = re.compile(r"[，,。；]?\s*(?:所以|因此)?(?:我)?(?:先|只好|决定)?(?:暂时)?放弃.*$")
_COUNTED_ZH = re.compile(r"^(?:我)?试了.{1,8}次(?:都|还是|均)?(?:失败|不行)(?:了)?[，,：:]\s*")
_PERSON = re.compile(r"\b(?:I|we|I'm|we're|my)\b", re.I)


def given_up(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> Draft | None:
    """Draft an approach that was abandoned after several failed runs, and why it cannot work."""
    if verdict.outcome == "success":
        return None
    failed = [
        a
        for a in actions
        if a.state == "failed" and a.command is not None and a.command.role != "read"
    ]
    if len(failed) < MIN_FAILED_RUNS:
        return None
    said = _last_words(task, failed[-1].ends_at)
    told = ((event, found) for event in reversed(said) if (found := _why(event.text)))
    event, explained = next(told, (None, None))
    if event is None or explained is None:
        return None
    why, sentence = explained
    goal = short_goal(task.goal, 90).rstrip(".。")
    error = telling_line(failed[-1].output, failed[-1].call.cwd)
    count = len(failed)
    if is_chinese(task.goal):
        text = f"要「{goal}」时，不要再走这条路：{why}（{count} 次运行失败后放弃）。"
    else:
        text = sentence_case(
            f'for "{goal}", do not go this way again: {why} (given up after {count} failed runs)'
        )
    return make_draft(
        kind="lesson",
        text=text,
        score=0.62,
        confidence=0.65,
        trust="agent",
        events=[event.id, *(a.result.id for a in reversed(failed[-3:]) if a.result is not None)],
        quote=sentence,
        rule="dead-end",
        keys=(("goal", goal), ("error", error)),
    )


def never_passed(task: Task, end: DeadEnd) -> Draft:
    """Draft what was tried in vain."""
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
        text = (
            f"{shown} still failed after {count} tries with {code(end.error)}; "
            f"editing {names} did not fix it, so look elsewhere first."
        )
    return make_draft(
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


def _last_words(task: Task, after: int) -> list[Event]:
    """Return what the agent said in the main line from a position on."""
    return [
        event
        for index, event in enumerate(task.events)
        if index > after
        and event.kind == "text"
        and event.role == "assistant"
        and not event.is_sidechain
    ]


def _why(text: str) -> tuple[str, str] | None:
    """Return why an approach cannot work, and the sentence that says so, if a text gives it up."""
    told = sentences(text)[-12:]
    position = next((n for n, sentence in enumerate(told) if _GIVES_UP.search(sentence)), -1)
    if position < 0:
        return None
    near = [told[position], *told[max(0, position - 2) : position][::-1], *told[position + 1 :][:1]]
    for sentence in near:
        why = _reworded(sentence)
        if why and _EXPLAINS.search(why) and len(why) >= 12:
            return clip(why, _MAX_WHY_CHARS), sentence
    return None


def _reworded(sentence: str) -> str:
    """Return what a sentence says of the matter, without the agent; empty if nothing is left."""
    if (tried := _TRIED.match(sentence)) is not None:
        what, why = tried.group("what").strip(), tried.group("why").strip(" .")
        return f"{what} did not help: {lower_first(why)}"
    rest = _COUNTED_ZH.sub("", _GIVEN_UP_ZH.sub("", _LED_IN.sub("", sentence)))
    rest = rest.strip(" .。，,;；")
    return "" if _PERSON.search(rest) or rest.startswith("我") else rest
