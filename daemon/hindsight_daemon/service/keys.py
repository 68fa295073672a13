"""From a memory to the keys it is found by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from hindsight_daemon.engine.pieces import pieces_of
from hindsight_daemon.engine.terms import terms_text
from hindsight_daemon.model import Key, Memory, MemoryKind

KeyKind = Literal["text", "goal", "lesson", "question", "error", "entity"]
_KEY_KINDS: tuple[str, ...] = get_args(KeyKind)

# A preference or decision that came up during a task answers questions about itself, not about
# the task; with the goal as a key it would crowd out what solved it.
_ABOUT_THEIR_TASK: tuple[MemoryKind, ...] = ("episode", "solution", "lesson", "procedure")


def keys_for(memory: Memory, extra: Iterable[tuple[str, str]] = ()) -> tuple[Key, ...]:
    """Return the keys of a memory: its text (in pieces if long) and the `extra` (kind, text) ones.

    Texts that add nothing (empty, or equal to a former one) make no key.
    """
    spoken = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
    wanted: list[tuple[str, str]] = [("text", piece) for piece in pieces_of(spoken)]
    if memory.task_goal:
        wanted.append(("goal", memory.task_goal))
    wanted.extend(extra)
    if memory.kind not in _ABOUT_THEIR_TASK:
        wanted = [(kind, text) for kind, text in wanted if kind != "goal"]
    seen: set[str] = set()
    keys: list[Key] = []
    for kind, text in wanted:
        text = text.strip()
        folded = text.casefold()
        if not text or folded in seen or kind not in _KEY_KINDS:
            continue
        seen.add(folded)
        keys.append(_key(memory, kind, text, len(keys)))
    return tuple(keys)


def _key(memory: Memory, kind: str, text: str, number: int) -> Key:
    return Key(
        id=f"{memory.id}:{number}",
        memory_id=memory.id,
        key_kind=kind,  # type: ignore[arg-type]
        text=text,
        terms=terms_text(text),
        created_at=memory.valid_from or memory.created_at,
        kind=memory.kind,
        layer=memory.layer,
        project=memory.project,
        session_id=memory.session_id,
        agent=memory.agent,
        agent_role=memory.agent_role,
        task_type=memory.task_type,
        scope=memory.scope,
        status=memory.status,
        importance_score=memory.importance_score,
        confidence=memory.confidence,
        lang=memory.lang,
        expires_at=memory.expires_at,
    )
