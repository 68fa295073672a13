"""`recall`: the ranked read path, from a query to labelled memories."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from hindsight_daemon.clock import new_id
from hindsight_daemon.engine import (
    fusion,
    hops,
    packing,
    profiles,
    query,
    relevance,
    reranking,
    retelling,
    succession,
    weights,
)
from hindsight_daemon.engine.generalise import told_already
from hindsight_daemon.errors import EmbedderUnavailable, UsageProblem
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.model import DISTILLED_KINDS, Memory
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import ArmScore, MemoryView, RecallResult, Scores
from hindsight_daemon.protocol.params import RecallParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import (
    RETIRED,
    checked,
    checked_kinds,
    checked_layers,
    checked_limit,
    moment,
)
from hindsight_daemon.service.readers import private_to, readable_projects
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.views import recalled
from hindsight_daemon.store.port import KeyHit, RecallRecord, SearchFilter, WriteBatch

MAX_LIMIT = 200
ARM_DEPTH = 100
"""Keys each arm returns at least; several keys may stand for one memory."""

_RERANK = "rerank"
MODEL_WAIT_S = 2.0
"""How long a recall waits for an embedding model that has to be loaded first."""

INCLUDABLE = ("stale", "contradicted", "superseded", "archived")
_log = logging.getLogger("hindsight.recall")


class Asked(msgspec.Struct):
    """A validated question."""

    query: query.Query
    where: SearchFilter
    limit: int
    kinds: tuple[str, ...]
    wants_turns_only: bool
    profile: profiles.Profile


def _profile(s: Services, params: RecallParams) -> profiles.Profile:
    name = params.profile or s.settings.recall.profile
    checked("profile", (name,), tuple(profiles.PROFILES))
    return profiles.PROFILES[name]


def _asked(s: Services, params: RecallParams, call: Call) -> Asked:
    if not params.query.strip():
        raise UsageProblem("the query is empty", hint="`hindsight recall QUERY`")
    limit = checked_limit(params.limit, MAX_LIMIT)
    checked("rerank", (params.rerank,), ("auto", "on", "off"))
    included = checked("include", params.include, INCLUDABLE)
    kinds = checked_kinds(params.kinds)
    now = s.clock.now()
    prepared = query.prepare(params.query, now=now)
    hidden = tuple(status for status in RETIRED if status not in included)
    where = SearchFilter(
        now=now,
        projects=readable_projects(
            call, params.project, params.cwd, all_projects=params.all_projects
        ),
        kinds=kinds,  # type: ignore[arg-type]
        layers=checked_layers(params.layers),  # type: ignore[arg-type]
        not_statuses=hidden,  # type: ignore[arg-type]
        task_type=params.task_type,
        private_to=private_to(call),
        since=moment("since", params.since),
        until=moment("until", params.until),
    )
    return Asked(
        query=prepared,
        where=where,
        limit=limit,
        kinds=kinds,
        wants_turns_only=kinds == ("turn",),
        profile=_profile(s, params),
    )


async def recall(
    s: Services, params: RecallParams, call: Call, *, is_noted: bool = True
) -> RecallResult:
    """Return the memories that answer the query best, each verified to be readable by the asker."""
    started = time.perf_counter()
    asked = _asked(s, params, call)
    notices: list[Notice] = []
    vector = await _query_vector(s, asked.query, notices)
    ranked = await _rank(s, params, asked, vector)
    if not ranked:
        ranked = await _relax(s, params, asked, vector, notices)
    memories = await s.store.get([one.candidate.memory_id for one in ranked])
    shown = await _choose(s, params, asked, ranked, memories)
    views = await _views(s, params, shown)
    now = s.clock.now()
    result = RecallResult(
        recall_id=new_id(now),
        query=params.query,
        took_ms=0.0,
        memories=views,
        warnings=notices,
    )
    if params.with_context:
        short_ids = {view.id: view.short_id for view in views}
        result.context = packing.context_block(
            [memory for _, memory in shown], now=now, short_ids=short_ids
        )
    result.took_ms = round((time.perf_counter() - started) * 1000, 3)
    if is_noted and not s.read_only:
        record = RecallRecord(
            recall_id=result.recall_id,
            at=now,
            query=redact(params.query)[0][:500],
            returned=tuple(view.id for view in views),
            client=call.client,
        )
        # Noted beside the answer, not before it: a recall must not wait for a disk.
        s.in_background(s.store.commit(WriteBatch(recalls=(record,))))
    return result


async def _query_vector(
    s: Services, asked: query.Query, notices: list[Notice]
) -> list[float] | None:
    if not s.models.model_id:
        # Said once for each daemon, not with every answer.
        if not s.has_told_no_model:
            s.has_told_no_model = True
            text = "no embedding model: searching by keywords only (`hindsight model list`)"
            notices.append(Notice(code="embedder.none", message=text))
        return None
    if asked.is_cjk and s.models.languages == ("en",):
        return None
    embedding = asyncio.ensure_future(asyncio.to_thread(s.models.embed_query, asked.text))
    try:
        # A model that was unloaded takes seconds to come back: it goes on loading for the next
        # recall while this one is answered by keywords.
        async with asyncio.timeout(MODEL_WAIT_S):
            found = await asyncio.shield(embedding)
    except TimeoutError:
        embedding.add_done_callback(_take_notice)
        text = "the embedding model is still loading: searched by keywords only"
        notices.append(Notice(code="embedder.loading", message=text))
        return None
    except EmbedderUnavailable as exc:
        notices.append(Notice(code=exc.code, message=exc.message))
        return None
    vector: list[float] = found.tolist()
    return vector


def _take_notice(embedding: asyncio.Future[Any]) -> None:
    # An exception nobody looks at would be reported by asyncio; the model host keeps the reason.
    if not embedding.cancelled():
        embedding.exception()


async def _arms(
    s: Services, asked: query.Query, where: SearchFilter, vector: list[float] | None, depth: int
) -> dict[str, Sequence[KeyHit]]:
    names = [fusion.KEYWORD]
    searches = [s.store.search_terms(asked.terms, where, limit=depth)]
    if vector is not None:
        names.append(fusion.VECTOR)
        searches.append(s.store.search_vector(vector, s.models.model_id, where, limit=depth))
    arms: dict[str, Sequence[KeyHit]] = dict(
        zip(names, await asyncio.gather(*searches), strict=True)
    )
    arms[fusion.RECENT] = ()
    if not asked.terms and not any(arms.values()):
        # "What did we do last week" leaves no words to search by: then the newest of that time
        # answer. Otherwise recency only orders what the other arms found.
        then = msgspec.structs.replace(
            where, since=where.since or asked.since, until=where.until or asked.until
        )
        arms[fusion.RECENT] = await s.store.search_recent(then, limit=depth)
    return arms


async def _rank(
    s: Services, params: RecallParams, asked: Asked, vector: list[float] | None
) -> list[weights.Weighed]:
    depth = max(ARM_DEPTH, asked.limit * 4)
    if asked.kinds:
        candidates = await _candidates(s, asked, asked.where, vector, depth)
    else:
        # Distilled memories are few and turns many: asked together, turns would fill the arms.
        distilled = msgspec.structs.replace(asked.where, kinds=DISTILLED_KINDS)
        turns = msgspec.structs.replace(asked.where, kinds=("turn",))
        first, second = await asyncio.gather(
            _candidates(s, asked, distilled, vector, depth),
            _candidates(s, asked, turns, vector, depth),
        )
        candidates = first + second
    asker = weights.Asker(
        now=asked.where.now,
        project=asked.where.projects[0] if asked.where.projects else "",
        session_id=params.session_id,
        agent_role=params.agent_role,
        task_type=params.task_type,
        wants_turns_only=asked.wants_turns_only or asked.profile.turns_are_equal,
        since=asked.query.since,
        until=asked.query.until,
    )
    ranked = succession.newer_first(weights.weigh_all(candidates, asker), asked.query.terms)
    ranked = retelling.newer_told_first(ranked, asked.query.terms, question=asked.query.text)
    return ranked[: asked.limit * 3]


async def _candidates(
    s: Services, asked: Asked, where: SearchFilter, vector: list[float] | None, depth: int
) -> list[fusion.Candidate]:
    arms = await _arms(s, asked.query, where, vector, depth)
    arm_weights = asked.profile.weights(
        is_cjk=asked.query.is_cjk, is_passage=asked.query.is_passage, factors=_factors(s)
    )
    fused = fusion.fuse(
        arms,
        method=s.settings.recall.fusion,  # type: ignore[arg-type]
        weights=arm_weights,
        embedder=s.models.model_id if vector is not None else None,
    )
    kept = relevance.cut(
        fused,
        asked.query.terms,
        floor=_floor(s) if vector is not None else None,
        had_vectors=vector is not None,
    )
    if where.kinds == ("turn",) or not asked.profile.hops:
        return kept
    return await _followed(s, asked, where, kept)


async def _followed(
    s: Services, asked: Asked, where: SearchFilter, candidates: list[fusion.Candidate]
) -> list[fusion.Candidate]:
    """Add what shares a name with the best candidates: A depends on B, B on C."""
    followed: set[str] = set()
    front = candidates
    for _ in range(hops.HOPS):
        following = hops.leads(front, asked.query.terms, followed)
        if not following:
            break
        followed.update(lead.name for lead in following)
        terms = tuple(dict.fromkeys(term for lead in following for term in lead.terms))
        hits = await s.store.search_terms(terms, where, limit=hops.HITS_LIMIT)
        front = hops.reached(candidates, hits, following)
        candidates = hops.joined(candidates, front)
    return candidates


def _factors(s: Services) -> dict[str, float]:
    recall = s.settings.recall
    return {
        fusion.KEYWORD: recall.keyword_weight,
        fusion.VECTOR: recall.vector_weight,
        fusion.RECENT: recall.recent_weight,
    }


def _floor(s: Services) -> relevance.Floor | None:
    # The similarities at which texts have nothing in common were measured for this family only.
    return relevance.Floor() if s.models.model_id.startswith("e5-small") else None


async def _relax(
    s: Services,
    params: RecallParams,
    asked: Asked,
    vector: list[float] | None,
    notices: list[Notice],
) -> list[weights.Weighed]:
    """Loosen what the caller did not insist on before returning nothing, and say so."""
    if asked.where.task_type:
        asked.where = msgspec.structs.replace(asked.where, task_type="")
        if ranked := await _rank(s, params, asked, vector):
            text = f"nothing for task type `{params.task_type}`: all task types were searched"
            notices.append(Notice(code="relaxed.task_type", message=text))
            return ranked
    if asked.where.projects and not params.project and asked.where.private_to is None:
        project = asked.where.projects[0]
        asked.where = msgspec.structs.replace(asked.where, projects=())
        if ranked := await _rank(s, params, asked, vector):
            text = f"nothing in project `{project}`: all projects were searched"
            notices.append(Notice(code="relaxed.project", message=text))
            return ranked
    return []


async def _choose(
    s: Services,
    params: RecallParams,
    asked: Asked,
    ranked: list[weights.Weighed],
    memories: dict[str, Memory],
) -> list[tuple[weights.Weighed, Memory]]:
    found = [
        (one, memories[one.candidate.memory_id])
        for one in ranked
        if one.candidate.memory_id in memories
    ]
    found = await _rerank(s, params, asked, found)
    repeats = told_already(memory for _, memory in found)
    found = [pair for pair in found if pair[1].id not in repeats]
    chosen = packing.pack(
        [memory for _, memory in found], limit=asked.limit, budget_tokens=params.budget_tokens
    )
    by_id = {memory.id: one for one, memory in found}
    return [(by_id[memory.id], memory) for memory in chosen]


async def _rerank(
    s: Services,
    params: RecallParams,
    asked: Asked,
    found: list[tuple[weights.Weighed, Memory]],
) -> list[tuple[weights.Weighed, Memory]]:
    """Let a cross-encoder read as many of the first as it can within its time.

    `auto` asks it only if the configuration names a reranker: the bundled one costs more than all
    the rest together. It is never asked about languages it does not know.
    """
    wanted = params.rerank == "on" or (
        params.rerank == "auto" and s.settings.embed.reranker not in ("auto", "none")
    )
    is_foreign = asked.query.is_cjk and not s.models.reranks_cjk
    if not wanted or is_foreign or len(found) < 2:
        return found
    texts = [reranking.passage(one.candidate, memory.text) for one, memory in found]
    budget_s = s.settings.recall.rerank_budget_ms / 1000
    try:
        scores = await asyncio.to_thread(
            s.models.rerank, asked.query.text, texts[: reranking.DEPTH], budget_s
        )
    except EmbedderUnavailable as exc:
        if params.rerank == "on":
            raise
        _log.info("rerank.unavailable", extra={"facts": {"reason": exc.message}})
        return found
    order = reranking.mixed([one.final for one, _ in found[: len(scores)]], scores)
    read = [(_with_rerank(found[n][0], scores[n]), found[n][1]) for n in order]
    return read + found[len(scores) :]


def _with_rerank(one: weights.Weighed, score: float) -> weights.Weighed:
    return msgspec.structs.replace(one, factors={**one.factors, _RERANK: score})


async def _views(
    s: Services, params: RecallParams, shown: list[tuple[weights.Weighed, Memory]]
) -> list[MemoryView]:
    short = await s.store.short_ids([memory.id for _, memory in shown])
    return [
        recalled(memory, short[memory.id], one.final, _explained(one) if params.explain else None)
        for one, memory in shown
    ]


def _explained(one: weights.Weighed) -> Scores:
    return Scores(
        arms={
            name: ArmScore(rank=hit.rank, score=round(hit.score, 6))
            for name, hit in one.candidate.arms.items()
        },
        fused=round(one.candidate.fused, 6),
        weights={name: round(factor, 4) for name, factor in one.factors.items() if name != _RERANK},
        rerank=one.factors.get(_RERANK),
        final=round(one.final, 6),
        key=one.candidate.key.text[:200],
    )
