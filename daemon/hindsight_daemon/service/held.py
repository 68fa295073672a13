"""The record of a memory that is held; pure, so that the worker process can make one too."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.model import Held, Key, Memory, Record

MEMORY = "memory"
WORK = "consolidation"
"""An item of consolidation that failed again and again; its body is the item's name."""


class HeldMemory(Record, frozen=True, kw_only=True):
    """A memory that waits, with its keys."""

    memory: Memory
    keys: tuple[Key, ...] = ()


def hold_memory(memory: Memory, keys: Sequence[Key], reason: str, origin: str = "") -> Held:
    """Return the record that keeps a memory until a person decides."""
    return Held(
        id=new_id(memory.created_at),
        what=MEMORY,
        text=memory.text,
        body=msgspec.json.encode(HeldMemory(memory=memory, keys=tuple(keys))).decode(),
        reason=reason,
        since=memory.created_at,
        digest=content_hash(memory.text),
        trust=memory.trust,
        origin=origin,
        session_id=memory.session_id,
        project=memory.project,
    )
