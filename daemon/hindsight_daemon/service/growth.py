"""Events that come again with more text: agents write an answer while it is still being made.

The stored event, its turn and the turn's keys are replaced under their former ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hindsight_daemon.model import Event, Key, Memory
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.reading import event_project
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.turns import turns_of


async def grown_events(s: Services, events: Iterable[Event], known: set[str]) -> list[Event]:
    """Return the stored events that say more now: new text, but place, time and session as stored.

    `known` are the ids among `events` that are stored.
    """
    latest = {
        event.id: event
        for event in events
        if event.id in known and event.kind in ("text", "reasoning") and event.text
    }
    if not latest:
        return []
    return [
        msgspec.structs.replace(
            stored,
            text=latest[stored.id].text,
            ends_turn=stored.ends_turn or latest[stored.id].ends_turn,
            origin=latest[stored.id].origin,
        )
        for stored in await s.store.events_by_id(list(latest))
        if len(latest[stored.id].text) > len(stored.text)
    ]


def turns_again(
    s: Services, grown: Sequence[Event], named: str, caller_cwd: str
) -> tuple[list[Memory], list[Key]]:
    """Return the turns of grown events, with all their keys; forgotten ones stay away."""
    turns = [
        turn
        for event in grown
        for turn in turns_of([event], event_project(named, event, caller_cwd), s.clock.now())
        if not s.gate.tombstone_of(turn.text)
    ]
    return turns, [key for turn in turns for key in keys_for(turn)]
