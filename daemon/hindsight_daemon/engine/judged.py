"""Joins what a language model filled in with what the rules found.

Pure; imports the other engine modules. Evidence wins: an outcome that the rules could tell stays,
what a user said in so many words stays, and what the model adds is an agent's word, not more.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from hindsight_daemon.engine.actions import actions_of
from hindsight_daemon.engine.distil import MAX_DRAFTS
from hindsight_daemon.engine.drafts import make_draft, with_literal_quote
from hindsight_daemon.engine.entities import entities_of
from hindsight_daemon.engine.sameness import form_of
from hindsight_daemon.engine.slots import LessonSlot, Shown, TaskSlots, cited
from hindsight_daemon.engine.summary import summarize
from hindsight_daemon.engine.task import Draft, Episode, OutcomeVerdict, Task
from hindsight_daemon.engine.wording import clip

RULE = "judge"
_PROPOSED_CONFIDENCE = 0.45
_LESSON_CONFIDENCE = 0.5
_SHARE_OF_SAME, _SHARE_OF_TWINS = 0.6, 0.8
"""Share of the words of the shorter of two lessons that the other has too, from which on they are
about the same: with and without a common event. A false yes costs a wording, a false no a double.
"""
_SCORES = {"high": 0.8, "medium": 0.6, "low": 0.4}


def joined(task: Task, episode: Episode, slots: TaskSlots, shown: Shown, model: str) -> Episode:
    """Return the episode of the rules with the slots worked in; `slots` have passed the rules."""
    verdict = _verdict(episode.verdict, slots, model)
    events = {event.id: event for event in task.events}
    proposed = [
        with_literal_quote(_draft(one, slots.goal or episode.goal, shown), events)
        for one in slots.lessons
    ]
    drafts = _drafts(episode.drafts, proposed)
    return structs.replace(
        episode,
        goal=slots.goal or episode.goal,
        task_type=slots.task_type,
        verdict=verdict,
        drafts=drafts,
        summary=summarize(task, actions_of(task), verdict, drafts),
        entities=entities_of(task.goal, *(d.text for d in drafts), files=episode.files),
    )


def _verdict(found: OutcomeVerdict, slots: TaskSlots, model: str) -> OutcomeVerdict:
    outcome, reasons, confidence = found.outcome, found.reasons, found.confidence
    if outcome == "unknown" and slots.outcome != "unknown":
        outcome = slots.outcome
        reasons = (f"proposed by {model}", *reasons)
        confidence = _PROPOSED_CONFIDENCE
    reason = found.failure_reason
    if not reason and outcome in ("failure", "partial"):
        reason = slots.failure_reason
    return structs.replace(
        found, outcome=outcome, reasons=reasons, confidence=confidence, failure_reason=reason
    )


def _draft(lesson: LessonSlot, goal: str, shown: Shown) -> Draft:
    draft = make_draft(
        kind=lesson.kind,
        text=lesson.text,
        score=_SCORES[lesson.importance],
        confidence=_LESSON_CONFIDENCE,
        trust="agent",
        events=cited(lesson, shown.names),
        quote="",
        rule=RULE,
        keys=(("goal", clip(goal, 200)),) if lesson.kind in ("lesson", "solution") else (),
    )
    return structs.replace(draft, tags=(RULE, *draft.tags))


def _drafts(found: Sequence[Draft], proposed: Sequence[Draft]) -> tuple[Draft, ...]:
    """Choose at most three: the user's own words, then the weightiest of model and rules.

    What both say of the same thing stays in the model's words; the user's words are nobody's to
    replace.
    """
    said = [draft for draft in found if draft.trust == "user"]
    mine = [one for one in proposed if not any(_is_about_the_same(one, other) for other in said)]
    rest = [
        draft
        for draft in found
        if draft not in said and not any(_is_about_the_same(draft, one) for one in mine)
    ]
    ranked = sorted([*mine, *rest], key=lambda draft: -draft.importance_score)
    return tuple([*said, *ranked][:MAX_DRAFTS])


def _is_about_the_same(one: Draft, other: Draft) -> bool:
    a, b = form_of(one.text), form_of(other.text)
    words, others = a.soft | a.hard, b.soft | b.hard
    smaller = min(len(words), len(others))
    share = _SHARE_OF_SAME if set(one.event_ids) & set(other.event_ids) else _SHARE_OF_TWINS
    return a.normal == b.normal or (smaller > 0 and len(words & others) >= share * smaller)
