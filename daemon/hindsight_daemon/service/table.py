"""Which function carries out which method; checked against the protocol's table by a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hindsight_daemon.protocol.document import Document
from hindsight_daemon.service import (
    admin,
    conflicts,
    consolidation,
    drift,
    forget,
    hooks,
    ingest,
    judge_methods,
    memories,
    quarantine,
    recall,
    reindex,
    remember,
    search,
    session,
    watch,
    working,
)
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.services import Services

Handler = Callable[[Any, Call], Awaitable[Document]]
Body = Callable[[Services, Any, Call], Awaitable[Document]]

BODIES: dict[str, Body] = {
    "daemon.sync": admin.sync,
    "memory.recall": recall.recall,
    "memory.remember": remember.remember,
    "memory.show": memories.show,
    "memory.list": memories.list_,
    "memory.why": memories.why,
    "memory.consolidate": consolidation.consolidate,
    "store.reindex": reindex.reindex,
    "memory.working": working.working,
    "memory.forget": forget.forget,
    "memory.unforget": forget.unforget,
    "audit.quarantine": quarantine.quarantine,
    "audit.release": quarantine.release,
    "audit.drop": quarantine.drop,
    "hook.run": hooks.run,
    "hook.given": hooks.given,
    "session.show": session.show,
    "session.summarize": session.summarize,
    "audit.conflicts": conflicts.conflicts,
    "audit.resolve": conflicts.resolve,
    "event.search": search.search,
    "events.subscribe": watch.subscribe,
    "ingest.run": ingest.ingest,
    "ingest.sources": drift.sources,
    "store.stats": admin.stats,
    "store.check": admin.check,
    "judge.show": judge_methods.show,
    "judge.try": judge_methods.try_,
    "judge.check": judge_methods.check,
    "model.list": admin.model_list,
    "model.install": admin.model_install,
}


def handlers_of(s: Services) -> dict[str, Handler]:
    """Bind the bodies to a working set."""

    def bind(body: Body) -> Handler:
        async def handler(params: Any, call: Call) -> Document:
            return await body(s, params, call)

        return handler

    return {name: bind(body) for name, body in BODIES.items()}
