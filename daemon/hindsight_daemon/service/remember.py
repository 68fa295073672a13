"""`remember`: a person or agent states something worth keeping."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from hindsight_daemon.clock import new_id, parse_time
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.errors import UsageProblem
from hindsight_daemon.model import (
    DISTILLED_KINDS,
    IMPORTANCES,
    SCOPES,
    HistoryEntry,
    Memory,
    MemoryKind,
)
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import RememberResult
from hindsight_daemon.protocol.params import RememberParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.gate import MAX_TEXT_CHARS, Verdict
from hindsight_daemon.service.held import hold_memory
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import WriteBatch

IMPORTANCE_SCORES = {"high": 0.9, "medium": 0.5, "low": 0.2}
_STATED_CONFIDENCE = 0.8
_EPISODIC: tuple[MemoryKind, ...] = ("episode",)


def check(params: RememberParams) -> None:
    """Raise `UsageProblem` for values outside the contract."""
    if not params.text.strip():
        raise UsageProblem("there is no text to remember", hint="`hindsight remember TEXT`")
    if len(params.text) > MAX_TEXT_CHARS:
        raise UsageProblem(
            f"the text has {len(params.text)} characters, a memory at most {MAX_TEXT_CHARS}",
            hint="`hindsight ingest -` takes whole transcripts",
        )
    for name, value, allowed in (
        ("kind", params.kind, DISTILLED_KINDS),
        ("scope", params.scope, SCOPES),
        ("importance", params.importance, IMPORTANCES),
    ):
        if value not in allowed:
            raise UsageProblem(f"{name} `{value}` is none of {', '.join(allowed)}")
    if params.ttl_s is not None and params.ttl_s <= 0:
        raise UsageProblem("a time to live must be longer than nothing")
    if params.occurred_at and parse_time(params.occurred_at) is None:
        raise UsageProblem(f"`{params.occurred_at}` is not an ISO 8601 time")


async def remember(s: Services, params: RememberParams, call: Call) -> RememberResult:
    """Store a stated memory, or merge it into the one that says the same."""
    check(params)
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=RememberResult)
    verdict = s.gate.screen(params.text, trust="user")
    warnings = []
    if verdict.redactions:
        text = f"{verdict.redactions} secret(s) were replaced before storing"
        warnings.append(Notice(code="redacted", message=text))
    if verdict.is_held:
        return await _hold(s, params, verdict, call, warnings)
    if verdict.is_refused:
        return RememberResult(
            id="",
            outcome="refused",
            affected=[verdict.tombstone] if verdict.tombstone else [],
            reason=verdict.reason,
            warnings=warnings,
        )
    memory = _memory(s, params, verdict)
    known = await s.store.same_content(memory.content_hash, memory.project)
    former_memory = (await s.store.get([known])).get(known) if known else None
    if former_memory is not None:
        return await _merge(s, params, former_memory, call, warnings)
    result = RememberResult(
        id=memory.id, outcome="added", affected=[memory.id], reason="", warnings=warnings
    )
    await s.write(
        WriteBatch(
            memories=(memory,),
            keys=keys_for(memory),
            history=(_entry(s, call, "remembered", memory),),
            request_key=params.request_key,
            response=msgspec.json.encode(result).decode() if params.request_key else "",
        )
    )
    s.happenings.publish_memory("added", memory)
    return result


async def _hold(
    s: Services, params: RememberParams, verdict: Verdict, call: Call, warnings: list[Notice]
) -> RememberResult:
    memory = _memory(s, params, verdict)
    held = hold_memory(memory, keys_for(memory), verdict.reason, call.client)
    held_id = verdict.held_id or held.id
    result = RememberResult(
        id="",
        outcome="refused",
        affected=[held_id],
        reason=f"quarantined: {verdict.reason}, `hindsight audit release {held_id}` releases it",
        warnings=warnings,
    )
    await s.write(
        WriteBatch(
            held=() if verdict.held_id else (held,),
            request_key=params.request_key,
            response=msgspec.json.encode(result).decode() if params.request_key else "",
        )
    )
    return result


def _entry(
    s: Services, call: Call, action: str, memory: Memory, before: Memory | None = None
) -> HistoryEntry:
    return HistoryEntry(
        at=s.clock.now(),
        actor=call.client,
        action=action,
        memory_id=memory.id,
        before=msgspec.json.encode(before).decode() if before else "",
        after=msgspec.json.encode(memory).decode(),
    )


def _memory(s: Services, params: RememberParams, verdict: Verdict) -> Memory:
    now, text = s.clock.now(), verdict.text
    occurred = parse_time(params.occurred_at) if params.occurred_at else None
    project = project_for(params.project, params.cwd)
    kind: MemoryKind = params.kind  # type: ignore[assignment]
    return Memory(
        id=new_id(now),
        layer="episodic" if kind in _EPISODIC else "semantic",
        kind=kind,
        text=text,
        created_at=now,
        updated_at=now,
        lang=detect(text),
        session_id=params.session_id,
        project=project,
        cwd=params.cwd,
        scope=params.scope,  # type: ignore[arg-type]
        applicability="project" if project and params.scope != "global" else "everywhere",
        importance=params.importance,  # type: ignore[arg-type]
        importance_score=IMPORTANCE_SCORES[params.importance],
        confidence=_STATED_CONFIDENCE,
        trust="user",
        valid_from=occurred,
        expires_at=now + timedelta(seconds=params.ttl_s) if params.ttl_s else None,
        pinned=params.pin,
        tags=tuple(dict.fromkeys([*params.tags, *verdict.tags])),
        external_id=params.external_id,
        content_hash=content_hash(text),
    )


async def _merge(
    s: Services, params: RememberParams, former: Memory, call: Call, warnings: list[Notice]
) -> RememberResult:
    now = s.clock.now()
    score = max(former.importance_score, IMPORTANCE_SCORES[params.importance])
    merged = msgspec.structs.replace(
        former,
        updated_at=now,
        valid_from=parse_time(params.occurred_at) or former.valid_from,
        confidence=round(former.confidence + (1 - former.confidence) * 0.25, 4),
        importance_score=score,
        importance="high" if score >= 0.7 else "medium" if score >= 0.35 else "low",
        pinned=former.pinned or params.pin,
        expires_at=now + timedelta(seconds=params.ttl_s) if params.ttl_s else former.expires_at,
        tags=tuple(dict.fromkeys([*former.tags, *params.tags])),
        trust="user",
        version=former.version + 1,
    )
    result = RememberResult(
        id=former.id,
        outcome="merged",
        affected=[former.id],
        reason="the same was known already",
        warnings=warnings,
    )
    await s.write(
        WriteBatch(
            memories=(merged,),
            history=(_entry(s, call, "merged", merged, former),),
            request_key=params.request_key,
            response=msgspec.json.encode(result).decode() if params.request_key else "",
        )
    )
    s.happenings.publish_memory("merged", merged)
    return result
