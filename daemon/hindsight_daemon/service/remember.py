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
    TRUSTS,
    Memory,
    MemoryKind,
    Trust,
)
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import RememberResult
from hindsight_daemon.protocol.params import RememberParams
from hindsight_daemon.service.admission import Admission, Admitted
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.gate import MAX_TEXT_CHARS, Verdict
from hindsight_daemon.service.held import hold_memory
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.readers import check_may_write
from hindsight_daemon.service.restated import screen
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
        ("trust", params.trust, TRUSTS),
    ):
        if value not in allowed:
            raise UsageProblem(f"{name} `{value}` is none of {', '.join(allowed)}")
    if params.ttl_s is not None and params.ttl_s <= 0:
        raise UsageProblem("a time to live must be longer than nothing")
    if params.occurred_at and parse_time(params.occurred_at) is None:
        raise UsageProblem(f"`{params.occurred_at}` is not an ISO 8601 time")


async def remember(s: Services, params: RememberParams, call: Call) -> RememberResult:
    """Store a stated memory, merge it into one that says the same, or replace an older one."""
    check(params)
    check_may_write(params.scope, call)
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=RememberResult)
    trust = _trust(params, call)
    verdict = await screen(
        s,
        params.text,
        trust=trust,
        source="" if trust == "imported" else params.session_id or call.client,
    )
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
    memory = _memory(s, params, verdict, call)
    admission = Admission(s, actor=call.client)
    async with s.admission_lock:
        admitted = await admission.admit(memory, keys_for(memory))
        result = _result(admitted, warnings)
        await s.write(
            admission.batch(
                request_key=params.request_key,
                response=msgspec.json.encode(result).decode() if params.request_key else "",
            )
        )
    admission.publish()
    return result


def _result(admitted: Admitted, warnings: list[Notice]) -> RememberResult:
    if admitted.conflicts:
        ids = ", ".join(f"`{memory_id}`" for memory_id in admitted.conflicts)
        told = f"says otherwise than {ids}; `hindsight audit conflicts` asks which one holds"
        warnings = [*warnings, Notice(code="conflict", message=told)]
    return RememberResult(
        id=admitted.memory.id,
        outcome=admitted.outcome,
        affected=list(admitted.affected),
        reason=admitted.reason,
        warnings=warnings,
    )


def _trust(params: RememberParams, call: Call) -> Trust:
    trust: Trust = params.trust  # type: ignore[assignment]
    # An agent does not speak with a person's authority.
    return "agent" if call.agent and trust == "user" else trust


async def _hold(
    s: Services, params: RememberParams, verdict: Verdict, call: Call, warnings: list[Notice]
) -> RememberResult:
    memory = _memory(s, params, verdict, call)
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


def _memory(s: Services, params: RememberParams, verdict: Verdict, call: Call) -> Memory:
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
        trust=_trust(params, call),
        agent=call.agent,
        valid_from=occurred,
        expires_at=now + timedelta(seconds=params.ttl_s) if params.ttl_s else None,
        pinned=params.pin,
        tags=tuple(dict.fromkeys([*params.tags, *verdict.tags])),
        external_id=params.external_id,
        content_hash=content_hash(text),
    )
