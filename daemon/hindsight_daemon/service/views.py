"""From stored records to the documents of the contract."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from hindsight_daemon.model import Memory
from hindsight_daemon.protocol.documents import MemoryView, Scores, SourceView


def iso(at: datetime | None) -> str:
    """Return a time as ISO 8601 UTC with `Z`, empty for None."""
    return "" if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def whole(memory: Memory, short_id: str) -> dict[str, Any]:
    """Return every field of a memory as plain JSON values, defaults included."""
    body: dict[str, Any] = {name: getattr(memory, name) for name in memory.__struct_fields__}
    plain: dict[str, Any] = msgspec.to_builtins(body)
    for name, value in body.items():
        if isinstance(value, datetime):
            plain[name] = iso(value)
    if not memory.support_count:
        # What says the same was merged on the way in; its episodes are its supports.
        plain["support_count"] = len(memory.derived_from)
    return {"id": memory.id, "short_id": short_id, "source": _source(memory), **plain}


def _source(memory: Memory) -> dict[str, str]:
    first = memory.evidence[0] if memory.evidence else None
    return {
        "agent": memory.agent,
        "transcript": first.transcript if first else "",
        "quote": first.quote if first else "",
    }


def recalled(
    memory: Memory, short_id: str, score: float, scores: Scores | None = None
) -> MemoryView:
    """Return a memory as recall shows it."""
    return MemoryView(
        id=memory.id,
        short_id=short_id,
        layer=memory.layer,
        kind=memory.kind,
        text=memory.text,
        score=round(score, 6),
        status=memory.status,
        confidence=round(memory.confidence, 3),
        importance=memory.importance,
        trust=memory.trust,
        scope=memory.scope,
        project=memory.project,
        session_id=memory.session_id,
        created_at=iso(memory.valid_from or memory.created_at),
        source=SourceView(**_source(memory)),
        external_id=memory.external_id,
        outcome=memory.outcome if memory.kind == "episode" else "",
        task_goal=memory.task_goal,
        speaker=memory.speaker,
        tags=memory.tags,
        verdict_reason=memory.verdict_reason,
        superseded_by=memory.superseded_by,
        conflicts_with=memory.conflicts_with,
        scores=scores,
    )
