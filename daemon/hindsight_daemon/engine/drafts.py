"""How a draft is put together, and which prompts of a task a person wrote.

Pure; imports records, `entities` and `screen`. Shared by the drafting rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import structs

from hindsight_daemon.engine.entities import anchors_of, entities_of
from hindsight_daemon.engine.steering import steers
from hindsight_daemon.engine.task import Draft, Task
from hindsight_daemon.model import Event, Importance, MemoryKind, Trust

MAX_QUOTE_CHARS = 200


def importance_of(score: float) -> Importance:
    """Return the word for an importance score from 0 to 1."""
    return "high" if score >= 0.75 else "medium" if score >= 0.45 else "low"


def make_draft(
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
    flagged = steers(text, is_own_word=trust == "user")
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


def with_literal_quote(draft: Draft, events: Mapping[str, Event]) -> Draft:
    """Return the draft with its quote as it stands in its evidence, markup and all.

    The event that holds the quote comes first.
    """
    words = re.findall(r"\w+", draft.quote)[:40]
    pattern = re.compile(r"\W{0,8}?".join(map(re.escape, words))) if words else None
    for event_id in draft.event_ids:
        event = events.get(event_id)
        if event is None:
            continue
        for text in (event.text, event.tool.command if event.tool is not None else ""):
            span = draft.quote if draft.quote and draft.quote in text else ""
            match = pattern.search(text) if pattern is not None and not span else None
            if match is not None:
                ending = re.match(r"[^\w\s]{0,3}", text[match.end() :])
                span = match.group() + (ending.group() if ending is not None else "")
            if span:
                return _quoting(draft, event_id, span)
    for event_id in draft.event_ids:
        if event_id in events and events[event_id].text.strip():
            return _quoting(draft, event_id, clip_quote(events[event_id].text))
    return structs.replace(draft, quote="")


def _quoting(draft: Draft, event_id: str, span: str) -> Draft:
    others = tuple(other for other in draft.event_ids if other != event_id)
    return structs.replace(draft, quote=span[:MAX_QUOTE_CHARS], event_ids=(event_id, *others))


def clip_quote(text: str) -> str:
    """Return the beginning of a literal span, at most 200 characters, never reworded."""
    line = text.strip().split("\n", 1)[0] if len(text) > MAX_QUOTE_CHARS else text.strip()
    return line[:MAX_QUOTE_CHARS]


def own_prompts(task: Task) -> list[tuple[Event, bool]]:
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
