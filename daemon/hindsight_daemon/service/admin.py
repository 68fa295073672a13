"""`stats`, `store.check`, `model.*` and `daemon.sync`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import msgspec

from hindsight_daemon.embed.install import install_model
from hindsight_daemon.embed.registry import available_models
from hindsight_daemon.protocol.documents import (
    Ack,
    Check,
    DoctorResult,
    ModelListResult,
    ModelView,
    StatsResult,
)
from hindsight_daemon.protocol.params import ModelParams, NoParams, StatsParams, SyncParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.judge_methods import cost
from hindsight_daemon.service.services import Services


async def stats(s: Services, params: StatsParams, _call: Call) -> StatsResult:
    """Return counts and sizes."""
    found = await s.store.stats()
    return StatsResult(
        memories=found.memories_by,
        episodes=found.memories_by.get("kind", {}).get("episode", 0),
        events=found.events,
        sources=[{"source": name, "transcripts": n} for name, n in sorted(found.sources.items())],
        store={
            "uri": found.uri,
            "bytes": found.size_bytes,
            "fragments": sum(table.fragments for table in found.tables.values()),
            "versions": sum(table.versions for table in found.tables.values()),
            "pending": found.pending_fold,
            "pending_vectors": found.pending_vectors if s.models.model_id else 0,
            "tables": msgspec.to_builtins(found.tables),
            "maintenance_runs": found.maintenance_runs,
            "maintenance_failures": found.maintenance_failures,
            "last_failure": found.last_failure,
        },
        daemon=_daemon(s),
        embedder={
            "model": s.models.model_id or "none",
            "dimension": s.models.dimension,
            "loaded": s.models.is_loaded,
            "keys": found.embedders,
            "problem": s.models.problem,
        },
        retention=dict(s.retention),
        sessions=found.sessions,
        tombstones=found.tombstones,
        cost=await cost(s) if params.cost else None,
        held=found.held,
    )


def _daemon(s: Services) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "rss_bytes": s.rss_bytes(),
        "uptime_s": round((s.clock.now() - s.started_at).total_seconds(), 1),
        "read_only": s.read_only,
    }


async def check(s: Services, _params: NoParams, _call: Call) -> DoctorResult:
    """Scan the tables for damage."""
    problems = await s.store.check()
    checks = [
        Check(
            name=f"store: {problem.where}",
            status="problem" if problem.severity == "error" else "warning",
            message=problem.what,
        )
        for problem in problems
    ]
    if not checks:
        checks = [Check(name="store", status="ok", message="every table reads through")]
    if s.models.sends_to:
        text = f"texts of memories and queries are sent to {s.models.sends_to}, redacted"
        hint = "`hindsight config set embed.model auto` ends it"
        checks.append(Check(name="privacy", status="warning", message=text, hint=hint))
    return DoctorResult(checks=checks)


async def model_list(s: Services, _params: NoParams, _call: Call) -> ModelListResult:
    """Return the models of the registry and whether they can be used."""
    found = await asyncio.to_thread(available_models, s.paths.models_dir, s.settings.embed)
    views = [
        ModelView(
            name=one.spec.name,
            role=one.spec.role,
            dimension=one.spec.dimension,
            languages=list(one.spec.languages),
            available=one.available,
            active=bool(s.models.model_id) and one.spec.model_id == s.models.model_id,
            where=one.where,
            licence=one.spec.licence,
            hint=one.hint,
        )
        for one in found
    ]
    return ModelListResult(models=views)


async def model_install(s: Services, params: ModelParams, call: Call) -> Ack:
    """Convert or fetch a model so that it can be used."""
    loop = asyncio.get_running_loop()

    async def tell(done: int, total: int) -> None:
        await call.report("install", done, total, params.name)

    def report(done: int, total: int) -> None:
        asyncio.run_coroutine_threadsafe(tell(done, total), loop)

    where = await asyncio.to_thread(
        install_model, params.name, s.paths.models_dir, params.allow_download, report
    )
    await asyncio.to_thread(s.models.choose_missing)
    s.vectors_wanted.set()
    return Ack(message=f"`{params.name}` is ready in `{where}`")


async def sync(s: Services, params: SyncParams, call: Call) -> Ack:
    """Wait until what is known now is in the tables and, if asked, has vectors."""
    async with asyncio.timeout(params.timeout_s):
        await s.store.flush()
        if params.vectors:
            await s.settle(call)
            await s.store.flush()
    return Ack(message="everything is settled")
