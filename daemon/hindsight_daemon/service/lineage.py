"""What a memory took the place of and what took its place, as far as either chain goes."""

from __future__ import annotations

from hindsight_daemon.model import Memory
from hindsight_daemon.store.port import Store

MAX_LINKS = 50
"""Links followed in each direction; nobody reads further."""


async def successors(store: Store, memory: Memory) -> list[Memory]:
    """Return what replaced a memory, what replaced that, and so on, nearest first."""
    found: list[Memory] = []
    seen = {memory.id}
    following = memory.superseded_by
    while following and following not in seen and len(found) < MAX_LINKS:
        seen.add(following)
        successor = (await store.get([following])).get(following)
        if successor is None:
            break
        found.append(successor)
        following = successor.superseded_by
    return found


async def predecessors(store: Store, memory: Memory) -> list[Memory]:
    """Return what a memory replaced, what that had replaced, and so on, nearest first."""
    found: list[Memory] = []
    seen = {memory.id}
    wanted = [memory.supersedes, *memory.also_supersedes]
    while wanted and len(found) < MAX_LINKS:
        ids = [i for i in dict.fromkeys(wanted) if i and i not in seen]
        seen.update(ids)
        known = await store.get(ids)
        found.extend(known.values())
        wanted = [i for one in known.values() for i in (one.supersedes, *one.also_supersedes)]
    return found[:MAX_LINKS]
