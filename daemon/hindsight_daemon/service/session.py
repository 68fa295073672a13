"""One agent session: what is known of it, and its episodes made before its end."""

from __future__ import annotations

import msgspec

from hindsight_daemon.errors import AmbiguousId, NotFound
from hindsight_daemon.model import DISTILLED_KINDS, Memory, SessionState
from hindsight_daemon.protocol.params import SessionParams, SummarizeParams
from hindsight_daemon.protocol.session_documents import SessionDocument, SummarizeResult
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.readers import may_read
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.views import whole


async def find_session(s: Services, beginning: str, call: Call) -> SessionState:
    """Return the session whose id is or starts with `beginning`; `NotFound` or `AmbiguousId`.

    An agent finds those of its own project only.
    """
    exact = await s.store.session(beginning)
    known = [exact] if exact is not None else await s.store.sessions()
    found = [
        one
        for one in known
        if one.session_id.startswith(beginning)
        and (not call.agent or one.project in ("", call.project))
    ]
    if not beginning or not found:
        raise NotFound(f"no session `{beginning}`", hint="`hindsight search TEXT` shows sessions")
    if len(found) > 1:
        raise AmbiguousId(f"{len(found)} sessions start with `{beginning}`")
    return found[0]


async def _memories(s: Services, session_id: str, call: Call) -> list[Memory]:
    found = await s.store.memories_of_session(session_id, DISTILLED_KINDS)
    return [memory for memory in found if may_read(memory, call)]


async def show(s: Services, params: SessionParams, call: Call) -> SessionDocument:
    """Return a session's state and the memories made of it."""
    state = await find_session(s, params.session_id.strip(), call)
    memories = await _memories(s, state.session_id, call)
    short = await s.store.short_ids([memory.id for memory in memories])
    body = {name: getattr(state, name) for name in state.__struct_fields__}
    return SessionDocument(
        session=msgspec.to_builtins(body),
        memories=[whole(memory, short[memory.id]) for memory in memories],
    )


async def summarize(s: Services, params: SummarizeParams, call: Call) -> SummarizeResult:
    """Make episodes and lessons of a session as far as it has gone.

    Its last task counts as over for now; when it goes on, its next revision replaces this one.
    """
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=SummarizeResult)
    state = await find_session(s, params.session_id.strip(), call)
    async with s.ingest_lock:
        made = await consolidate_session(s, state.session_id, final=True)
    memories = await _memories(s, state.session_id, call)
    short = await s.store.short_ids([memory.id for memory in memories])
    return SummarizeResult(
        session=state.session_id,
        episodes=sum(memory.kind == "episode" for memory in memories),
        memories=[whole(memory, short[memory.id]) for memory in memories],
        refused=made.refused,
    )
