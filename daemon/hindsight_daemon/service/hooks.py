"""What an agent is told at its hooks, and what its hooks tell us.

Memories are given only where they are relevant, never the same one twice in a session, fenced as
past experience; what was given is recorded. Answers are late or not at all rather than in the
way: whatever takes longer than the budget is left out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import msgspec

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine import packing
from hindsight_daemon.engine.hook_events import HookEvent, answer_to, read_hook
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.model import DISTILLED_KINDS, Memory
from hindsight_daemon.protocol.documents import Ack, HookResult
from hindsight_daemon.protocol.params import GivenParams, HookParams, RecallParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import RETIRED
from hindsight_daemon.service.follow import read_now
from hindsight_daemon.service.projects import project_for
from hindsight_daemon.service.recall import recall
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import RecallRecord, SearchFilter, WriteBatch

BUDGET_S = 0.15
BRIEF_TOKENS = 500
PROMPT_TOKENS = 600
FAILURE_TOKENS = 400
PROMPT_LIMIT = 4
FAILURE_LIMIT = 2
_BRIEF_LIMIT = 8
_BRIEF_LOOK = 200
_SHORTEST_PROMPT = 8
_SETTLE_S = 2.0
_FAILURE_KINDS = ("solution", "lesson", "procedure", "fact")
_BRIEF_KINDS = ("preference", "decision", "procedure", "lesson", "solution", "fact")
_log = logging.getLogger("hindsight.hooks")


async def run(s: Services, params: HookParams, call: Call) -> HookResult:
    """Answer a hook; unknown events and whatever goes wrong come to an empty answer."""
    event = read_hook(params.agent, params.event, params.payload)
    if not event.cwd:
        event = msgspec.structs.replace(event, cwd=params.cwd)
    agent = Call(
        client=f"hook:{event.agent}" if event.agent else call.client,
        agent=event.agent or "hook",
        project=await asyncio.to_thread(project_for, "", event.cwd),
    )
    if event.moment in ("task_end", "compaction"):
        s.in_background(_take_in(s, event))
        return HookResult(output="", moment=event.moment)
    result = HookResult(output="", moment=event.moment)
    try:
        async with asyncio.timeout(min(BUDGET_S, _left_s(params))):
            await _answer(s, event, agent, result)
    except TimeoutError:
        _log.info("hook.late", extra={"facts": {"moment": event.moment}})
    except HindsightError as exc:
        _log.info("hook.failed", extra={"facts": {"moment": event.moment, "code": exc.code}})
    return result


def _left_s(params: HookParams) -> float:
    """Return how long the answer is still of use."""
    if not params.answer_by:
        return BUDGET_S
    return max(0.0, params.answer_by - time.time())


async def _answer(s: Services, event: HookEvent, agent: Call, result: HookResult) -> None:
    if event.moment == "session_start":
        found = await _brief(s, event, agent)
        query, budget = "", BRIEF_TOKENS
    elif event.moment == "prompt" and len(event.prompt.strip()) >= _SHORTEST_PROMPT:
        query, budget = event.prompt, PROMPT_TOKENS
        found = await _recalled(s, event, agent, query, PROMPT_LIMIT, DISTILLED_KINDS, budget)
    elif event.moment == "tool_result" and event.failure:
        query, budget = event.failure, FAILURE_TOKENS
        found = await _recalled(s, event, agent, query, FAILURE_LIMIT, _FAILURE_KINDS, budget)
    else:
        return
    if not found:
        return
    now = s.clock.now()
    short = await s.store.short_ids([memory.id for memory in found])
    block = packing.context_block(found, now=now, short_ids=short)
    result.output = answer_to(event, block)
    if not result.output:
        return
    result.recall_id = new_id(now)
    ids = tuple(memory.id for memory in found)
    s.given.offer(
        RecallRecord(
            recall_id=result.recall_id,
            at=now,
            query=s.gate.screen(query).text[:500] if query else event.moment,
            returned=ids,
            client=agent.client,
            agent=event.agent,
            session_id=event.session_id,
            injected=ids,
        )
    )


async def given(s: Services, params: GivenParams, _call: Call) -> Ack:
    """Note that an answer reached its agent; one that came too late may be given again."""
    record = await s.given.accept(params.recall_id)
    if record is not None:
        await s.write(WriteBatch(recalls=(record,)))
    return Ack(message="noted" if record is not None else "unknown")


async def _recalled(
    s: Services,
    event: HookEvent,
    agent: Call,
    query: str,
    limit: int,
    kinds: tuple[str, ...],
    budget_tokens: int,
) -> list[Memory]:
    """Return relevant memories that the session has not had and that are not its own."""
    given = await s.given.to(event.agent, event.session_id)
    params = RecallParams(
        query=query,
        limit=limit + min(len(given), 16),
        kinds=kinds,
        cwd=event.cwd,
        session_id=event.session_id,
        rerank="off",
    )
    found = await recall(s, params, agent, is_noted=False)
    memories = await s.store.get([view.id for view in found.memories])
    fresh = [
        memories[view.id]
        for view in found.memories
        if view.id in memories and view.id not in given and _is_foreign(memories[view.id], event)
    ]
    return packing.pack(fresh, limit=limit, budget_tokens=budget_tokens)


def _is_foreign(memory: Memory, event: HookEvent) -> bool:
    # What was learned in this very session is in its context already.
    return not event.session_id or memory.session_id != event.session_id


async def _brief(s: Services, event: HookEvent, agent: Call) -> list[Memory]:
    """Return what is worth knowing of a project before anything is asked."""
    if not agent.project:
        return []
    where = SearchFilter(
        now=s.clock.now(),
        projects=(agent.project,),
        kinds=_BRIEF_KINDS,  # type: ignore[arg-type]
        layers=("semantic",),
        not_statuses=(*RETIRED, "stale"),  # type: ignore[arg-type]
        private_to=agent.agent,
    )
    given = await s.given.to(event.agent, event.session_id)
    known = [m for m in await s.store.list(where, limit=_BRIEF_LOOK) if m.id not in given]
    known.sort(key=_worth, reverse=True)
    return packing.pack(known, limit=_BRIEF_LIMIT, budget_tokens=BRIEF_TOKENS)


def _worth(memory: Memory) -> tuple[bool, float]:
    kind = 1.0 - 0.1 * _BRIEF_KINDS.index(memory.kind)
    return memory.pinned, memory.importance_score * memory.confidence * kind


async def _take_in(s: Services, event: HookEvent) -> None:
    """Read the session's transcript and make episodes of its ended tasks.

    Agents write asynchronously: at this moment the last lines may still be on their way. What
    comes later opens the task again and replaces its episode.
    """
    await asyncio.sleep(_SETTLE_S)
    if event.transcript:
        await read_now(s, Path(event.transcript).expanduser())
