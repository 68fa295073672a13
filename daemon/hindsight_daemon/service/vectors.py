"""Fills in the vectors of keys that wait for one."""

from __future__ import annotations

import asyncio

from hindsight_daemon.engine import conversation
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.model import Key
from hindsight_daemon.service.services import Services


async def fill_some(s: Services, *, limit: int) -> int:
    """Embed up to `limit` waiting keys; return how many were done, 0 when nothing can be done."""
    model = s.models.model_id
    if not model or s.read_only:
        return 0
    waiting = await s.store.keys_without_vector(model, limit=limit)
    if not waiting:
        return 0
    try:
        vectors = await asyncio.to_thread(
            s.models.embed_passages, [_passage(key) for key in waiting]
        )
    except EmbedderUnavailable as exc:
        s.component_failures["embedder"] = exc.message
        return 0
    s.component_failures.pop("embedder", None)
    found = {key.id: tuple(vector) for key, vector in zip(waiting, vectors.tolist(), strict=True)}
    await s.store.fill_vectors(found, model)
    return len(waiting)


def _passage(key: Key) -> str:
    """Return what the vector of a key stands for: of a turn what it states, not what it asks."""
    is_own = key.kind == "turn" and key.key_kind == "text"
    return conversation.stated(key.text) if is_own else key.text
