"""Asks the embedder about texts that come near something forgotten.

Only texts that share most of their words with a tombstone are embedded, with the tombstone's own
text beside them, so that a change of the model needs no vectors to be made anew. Without a model,
or while it loads longer than a caller can wait, the words alone decide (`engine.forgotten`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from hindsight_daemon.engine.restatement import restates, statement_of
from hindsight_daemon.errors import EmbedderUnavailable
from hindsight_daemon.model import Tombstone, Trust
from hindsight_daemon.service.gate import Verdict, blocked_by
from hindsight_daemon.service.learning import Learned
from hindsight_daemon.service.services import Services

WAIT_S = 8.0
"""How long a statement waits for the model to be loaded."""


async def restated(
    s: Services, texts: Sequence[str], *, wait_s: float | None = WAIT_S
) -> dict[str, Tombstone]:
    """Return, for those of the `texts` that restate something forgotten, what blocks them."""
    if not s.gate.forgotten:
        return {}
    found: dict[str, Tombstone] = {}
    doubtful: dict[str, list[Tombstone]] = {}
    for text in dict.fromkeys(texts):
        blocking = s.gate.forgotten.blocking(text)
        if blocking is not None:
            found[text] = blocking
        elif candidates := _possible(s, text):
            doubtful[text] = candidates
    if doubtful and s.models.model_id:
        found.update(await _by_meaning(s, doubtful, wait_s))
    return found


def _possible(s: Services, text: str) -> list[Tombstone]:
    """Return the tombstones that the text restates if it is near enough in meaning."""
    said = statement_of(text)
    return [
        tombstone
        for tombstone in s.gate.forgotten.candidates(text)
        if restates(statement_of(tombstone.normalized_text), said, 1.0)
    ]


async def _by_meaning(
    s: Services, doubtful: dict[str, list[Tombstone]], wait_s: float | None
) -> dict[str, Tombstone]:
    forgotten = {one.normalized_text for tombstones in doubtful.values() for one in tombstones}
    texts = [*doubtful, *(forgotten - set(doubtful))]
    try:
        async with asyncio.timeout(wait_s):
            vectors = await asyncio.to_thread(s.models.embed_passages, texts)
    except (TimeoutError, EmbedderUnavailable):
        return {}
    of = dict(zip(texts, vectors, strict=True))
    found: dict[str, Tombstone] = {}
    for text, tombstones in doubtful.items():
        for tombstone in tombstones:
            similarity = float(of[text] @ of[tombstone.normalized_text])
            forgot = statement_of(tombstone.normalized_text)
            if restates(forgot, statement_of(text), similarity):
                found[text] = tombstone
                break
    return found


async def screen(
    s: Services, text: str, *, trust: Trust, source: str = "", wait_s: float | None = WAIT_S
) -> Verdict:
    """Return the gate's verdict on a text, by its words and its meaning; for every write path."""
    verdict = s.gate.screen(text, trust=trust, source=source)
    if verdict.tombstone or not s.gate.forgotten:
        return verdict
    blocking = (await restated(s, [verdict.text], wait_s=wait_s)).get(verdict.text)
    return verdict if blocking is None else blocked_by(blocking, verdict.text, verdict.redactions)


async def without_restated(s: Services, learned: Sequence[Learned]) -> list[Learned]:
    """Return what was learned without what restates something forgotten."""
    if not s.gate.forgotten:
        return list(learned)
    texts = [lesson.memory.text for one in learned for lesson in one.lessons]
    texts += [one.text for task in learned for one in task.held]
    found = await restated(s, texts, wait_s=None)
    return [_without(one, found) for one in learned] if found else list(learned)


def _without(learned: Learned, found: dict[str, Tombstone]) -> Learned:
    kept = tuple(lesson for lesson in learned.lessons if lesson.memory.text not in found)
    episode = learned.episode
    if episode is not None:
        left = tuple(text for text in episode.memory.lessons if text not in found)
        episode = replace(episode, memory=replace(episode.memory, lessons=left))
    return replace(
        learned,
        lessons=kept,
        episode=episode,
        held=tuple(one for one in learned.held if one.text not in found),
        refused=learned.refused + len(learned.lessons) - len(kept),
    )
