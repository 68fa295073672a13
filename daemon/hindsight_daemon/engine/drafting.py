"""The rules that draft memories from a task: one function for each kind of lesson.

Pure; imports the other engine modules. Every draft cites the events it rests on, best first, and
quotes a literal span of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.causes import Passage, find_fix
from hindsight_daemon.engine.dead_ends import given_up, never_passed
from hindsight_daemon.engine.decisions import decisions_of
from hindsight_daemon.engine.drafts import make_draft, own_prompts
from hindsight_daemon.engine.failures import (
    dead_ends_of,
    fixes_of,
    substitutes_of,
)
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.procedures import verified_command, working_sequence
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.solutions import diagnosed, replaced, solved
from hindsight_daemon.engine.statements import environment_fact, points_elsewhere, statements_of
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Draft, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import clip
from hindsight_daemon.model import Event


def drafts_of(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> list[Draft]:
    """Return all drafts of a task, unranked."""
    fixes = fixes_of(actions)
    drafts = [
        *_stated(task),
        *_decided(task),
        *(d for fix in fixes if (d := solved(task, fix)) is not None),
        *(replaced(task, one) for one in substitutes_of(actions)),
        *_dead_ends(task, actions, verdict),
        *_facts(task, actions),
    ]
    if not any(draft.kind == "solution" for draft in drafts):
        bug = diagnosed(task, actions, verdict)
        drafts.extend([bug] if bug is not None else [])
    ways = (working_sequence(task, actions, verdict), verified_command(task, actions, verdict))
    drafts.extend([one for one in ways if one is not None][:1])
    return drafts


def _dead_ends(task: Task, actions: Sequence[Action], verdict: OutcomeVerdict) -> list[Draft]:
    abandoned = given_up(task, actions, verdict)
    if abandoned is not None:
        return [abandoned]
    return [never_passed(task, end) for end in dead_ends_of(actions)]


def _stated(task: Task) -> list[Draft]:
    drafts: list[Draft] = []
    is_at_work = any(event.kind == "tool_call" for event in task.events)
    for event, is_followup in own_prompts(task):
        for statement in statements_of(event.text, is_followup=is_followup, at_work=is_at_work):
            text, said_in = statement.text, ""
            if points_elsewhere(text):
                text, said_in = _with_referent(task, event, text)
            drafts.append(
                make_draft(
                    kind=statement.kind,
                    text=clip(text, 300),
                    score=statement.score,
                    confidence=0.9,
                    trust="user",
                    events=(event.id, said_in),
                    quote=statement.sentence,
                    rule=statement.rule,
                    keys=(("text", statement.sentence),),
                    is_global=statement.is_global,
                )
            )
    return drafts


def _with_referent(task: Task, prompt: Event, text: str) -> tuple[str, str]:
    """Add what "this way" refers to: what the assistant said last that it had done."""
    before = task.events[: next(i for i, e in enumerate(task.events) if e.id == prompt.id)]
    said = [e for e in before if e.kind == "text" and e.role == "assistant" and not e.is_sidechain]
    fix = find_fix([Passage(text=event.text, event_id=event.id) for event in said[-2:]])
    if fix is None:
        return text, ""
    chinese = is_chinese(text)
    stem = text.rstrip("。.")
    told = f"{stem}（{clip(fix.text, 110)}）。" if chinese else f"{stem} ({clip(fix.text, 110)})."
    return told, fix.event_id


def _decided(task: Task) -> list[Draft]:
    drafts: list[Draft] = []
    prompts = {event.id for event, _ in own_prompts(task)}
    is_at_work = any(event.kind == "tool_call" for event in task.events)
    for event in task.events:
        by_user = event.id in prompts
        if event.is_sidechain or not (
            by_user or (event.kind == "text" and event.role == "assistant")
        ):
            continue
        for decision in decisions_of(event.text, by_user=by_user, at_work=is_at_work):
            chinese = is_chinese(decision.text)
            topic = clip(decision.chosen, 60)
            score = (0.8 if by_user else 0.6) + (
                0.05 if decision.rejected and decision.reason else 0
            )
            drafts.append(
                make_draft(
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


_SUBJECT = re.compile(
    r"((?:The|This|Our) [\w`.-]+(?: [\w`.-]+)?) (?:is|are|was|were|has|have|now|runs?)\b"
)


_NAMED = re.compile(
    r"\d+(?:\.\d+)+|\b\d{3,5}\b|[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}|(?<![\w/])~?(?:/[\w.-]+){2,}"
)
"""What a fact must name, and the session must have shown, if the agent tells it."""


def _facts(task: Task, actions: Sequence[Action]) -> list[Draft]:
    prompts = {event.id for event, _ in own_prompts(task)}
    seen = " ".join((a.line + " " + a.output[:4000]) for a in actions)
    drafts: list[Draft] = []
    for event in task.events:
        by_user = event.id in prompts
        if event.is_sidechain or not (
            by_user or (event.kind == "text" and event.role == "assistant")
        ):
            continue
        subject = ""
        for sentence in sentences(event.text)[:80]:
            named_before = subject
            opening = _SUBJECT.match(sentence)
            subject = opening.group(1) if opening is not None else subject
            fact = environment_fact(sentence)
            if not fact:
                continue
            if re.match(r"(?:It|They)\b", fact):
                if not named_before:
                    continue
                fact = re.sub(r"^(?:It|They)\b", named_before, fact)
            named = _NAMED.findall(fact)
            if not by_user and not (named and any(name in seen for name in named)):
                continue
            drafts.append(
                make_draft(
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
