"""From events to turns: what user and assistant said, searchable as it was said."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.engine.steering import poses_as_order
from hindsight_daemon.model import Event, Evidence, Memory

_QUOTE_CHARS = 200
_BEFORE_CHARS = 400
_SELF_CONTAINED_CHARS = 800


def is_turn(event: Event) -> bool:
    """Tell whether an event was said by the user or the assistant, to each other."""
    return (
        event.kind in ("prompt", "text")
        and event.role in ("user", "assistant")
        and not event.is_synthetic
        and not event.is_sidechain
        and bool(event.text.strip())
    )


def evidence_of(event: Event, quote: str = "") -> Evidence:
    """Return the link to the transcript span an event was read from."""
    origin = event.origin
    return Evidence(
        agent=event.agent,
        session_id=event.session_id,
        transcript=origin.path if origin else "",
        event_ids=(event.id,),
        line=origin.line if origin else 0,
        byte_start=origin.byte_start if origin else 0,
        byte_end=origin.byte_end if origin else 0,
        sha256=origin.sha256 if origin else "",
        quote=(quote or event.text)[:_QUOTE_CHARS],
    )


def turns_of(events: Iterable[Event], project: str, now: datetime) -> list[Memory]:
    """Return the turns among `events`; the same event always gives the same memory id.

    What gives its reader orders stays an event only: it is searched for, but never recalled.
    """
    return [
        Memory(
            id=id_from(event.ts or now, f"turn:{event.id}"),
            layer="episodic",
            kind="turn",
            text=event.text.strip(),
            created_at=now,
            updated_at=now,
            lang=detect(event.text),
            agent=event.agent,
            session_id=event.session_id,
            project=project,
            cwd=event.cwd,
            git_branch=event.git_branch,
            git_commit=event.git_commit,
            importance="low",
            importance_score=0.2,
            trust="user" if event.role == "user" else "agent",
            evidence=(evidence_of(event),),
            valid_from=event.ts,
            external_id=event.external_id,
            speaker=event.speaker,
            content_hash=content_hash(event.text),
        )
        for event in events
        if is_turn(event) and not poses_as_order(event.text)
    ]


def with_turn_before(turn: Memory, before: Memory | None) -> str:
    """Return a short turn with the end of the turn it answers, empty where there is none.

    "Yes, last May!" is found by what it answers; a long turn says itself what it is about, and
    what the same speaker said before may be about anything.
    """
    if before is None or len(turn.text) > _SELF_CONTAINED_CHARS:
        return ""
    if (before.speaker, before.trust) == (turn.speaker, turn.trust):
        return ""
    return f"{context_of(before)}\n{spoken(turn)}"


def context_of(turn: Memory) -> str:
    """Return the end of a turn as it stands in a key of the turn after it."""
    return spoken(turn)[-_BEFORE_CHARS:]


def spoken(turn: Memory) -> str:
    """Return the text of a turn with who said it, if known."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
