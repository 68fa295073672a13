"""Distils a task into an episode with at most three lessons, by rules alone.

Pure; imports the other engine modules. Rules draft more than they keep: the best three by
importance survive, each a sentence that stands by itself and cites the events it came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine import drafting
from hindsight_daemon.engine.actions import Action, actions_of
from hindsight_daemon.engine.drafts import with_literal_quote
from hindsight_daemon.engine.entities import entities_of
from hindsight_daemon.engine.gate import gate
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.outcome import judge_actions
from hindsight_daemon.engine.screen import is_junk
from hindsight_daemon.engine.summary import execution_path, short_goal, summarize, task_type_of
from hindsight_daemon.engine.task import Draft, Episode, Task

MAX_DRAFTS = 3


def distil(task: Task) -> Episode | None:
    """Return what the task comes down to, or None if it is not worth an episode."""
    actions = actions_of(task)
    verdict = judge_actions(task, actions)
    events = {event.id: event for event in task.events}
    drafts = tuple(
        with_literal_quote(draft, events)
        for draft in _best(drafting.drafts_of(task, actions, verdict))
    )
    if gate(task, actions, drafts=len(drafts)):
        return None
    times = [event.ts for event in task.events if event.ts is not None]
    started, ended = (min(times), max(times)) if times else (None, None)
    files = _files(actions)
    return Episode(
        task_id=task.id,
        goal=short_goal(task.goal),
        task_type=task_type_of(task, actions),
        verdict=verdict,
        path=execution_path(actions),
        summary=summarize(task, actions, verdict, drafts),
        drafts=drafts,
        files=files,
        entities=entities_of(task.goal, *(draft.text for draft in drafts), files=files),
        started_at=started,
        ended_at=ended,
        duration_s=(ended - started).total_seconds() if started and ended else None,
        retries=_retries(actions),
    )


def _best(drafts: Sequence[Draft]) -> tuple[Draft, ...]:
    kept: list[Draft] = []
    cited: set[str] = set()
    for draft in sorted(drafts, key=lambda one: -one.importance_score):
        form = normalize(draft.text)
        if is_junk(draft.text) or any(_says_the_same(form, normalize(k.text)) for k in kept):
            continue
        if draft.quote and normalize(draft.quote) in cited:
            continue
        if draft.kind == "procedure" and any(draft.quote in k.text for k in kept):
            continue
        if draft.kind == "fact" and draft.trust != "user" and _is_told(draft.text, kept):
            continue
        cited.add(normalize(draft.quote))
        kept.append(draft)
        if len(kept) == MAX_DRAFTS:
            break
    return tuple(kept)


def _says_the_same(one: str, other: str) -> bool:
    if one in other or other in one:
        return True
    a, b = _terms(one), _terms(other)
    return min(len(a), len(b)) > 4 and len(a & b) * 4 >= min(len(a), len(b)) * 3


_TERM = re.compile(r"[^\s\u3400-\u9fff]+|(?=([\u3400-\u9fff]{2}))[\u3400-\u9fff]")
_NAMED = re.compile(r"[A-Za-z_][\w./-]{2,}|\d[\d.]*")


def _terms(text: str) -> set[str]:
    """Return words, and pairs of neighbouring characters where words have no spaces."""
    return {match.group(1) or match.group() for match in _TERM.finditer(text)}


def _is_told(text: str, kept: Sequence[Draft]) -> bool:
    """Tell whether a memory that was kept names all that this text names."""
    names = set(_NAMED.findall(text))
    return len(names) >= 2 and any(names <= set(_NAMED.findall(one.text)) for one in kept)


def _files(actions: Sequence[Action]) -> tuple[str, ...]:
    edited = (path for a in actions if a.is_edit and a.state != "failed" for path in a.files)
    return tuple(dict.fromkeys(edited))[:40]


def _retries(actions: Sequence[Action]) -> int:
    failed: dict[str, int] = {}
    for action in actions:
        if (
            action.command is not None
            and action.command.role != "read"
            and action.state == "failed"
        ):
            failed[action.command.key] = failed.get(action.command.key, 0) + 1
    return sum(failed.values())
