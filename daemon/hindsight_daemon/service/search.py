"""`search`: literal text in the stored events, with what was said around it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import get_args

import msgspec

from hindsight_daemon.errors import UsageProblem
from hindsight_daemon.model import Event, EventKind, Role
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import EventView, NumberedLine, SearchHit, SearchResult
from hindsight_daemon.protocol.params import SearchParams
from hindsight_daemon.service.call import Call, reporting
from hindsight_daemon.service.event_views import cut, event_view, matching_lines, spoken_text
from hindsight_daemon.service.filters import checked, checked_limit, moment, projects_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import EventFilter
from hindsight_daemon.store.where import matching_projects

MAX_HITS = 200
MAX_CONTEXT = 10
_MAX_TEXT_CHARS = 1000
_HIT_CHARS = 2000
_LINES = 5
_LINE_CHARS = 400
_NEIGHBOUR_CHARS = 300


async def search(s: Services, params: SearchParams, call: Call) -> SearchResult:
    """Return the newest events that hold a text, in any case."""
    started = time.monotonic()
    if not params.text.strip():
        raise UsageProblem("there is no text to search for", hint="`hindsight search TEXT`")
    if len(params.text) > _MAX_TEXT_CHARS:
        raise UsageProblem(f"a text to search for has at most {_MAX_TEXT_CHARS} characters")
    if not 0 <= params.context <= MAX_CONTEXT:
        raise UsageProblem(f"context {params.context} is not between 0 and {MAX_CONTEXT}")
    limit = checked_limit(params.limit, MAX_HITS)
    where = EventFilter(
        agent=params.agent,
        roles=checked("role", params.roles, get_args(Role)),  # type: ignore[arg-type]
        kinds=checked("kind", params.kinds, get_args(EventKind)),  # type: ignore[arg-type]
        tool=params.tool,
        since=moment("since", params.since),
        until=moment("until", params.until),
    )
    result = SearchResult(text=params.text, hits=[])
    projects = _projects(params, call)
    sessions: tuple[str, ...] = ()
    if projects or params.session_id:
        sessions = await _sessions(s, projects, params.session_id)
        where = msgspec.structs.replace(where, sessions=sessions)
    found: Sequence[Event] = ()
    if sessions or not (projects or params.session_id):
        # The whole text of a large store takes seconds to look through.
        work = s.store.search_events(params.text, where, limit=limit + 1)
        found = await reporting(call, "search", work)
    result.has_more = len(found) > limit
    for event in found[:limit]:
        result.hits.append(await _hit(s, event, params.text.lower(), params.context))
    if not found and projects and not params.project:
        told = f"only project `{projects[0]}` was searched; `--all-projects` searches everything"
        result.warnings.append(Notice(code="search.one_project", message=told))
    result.took_ms = round((time.monotonic() - started) * 1000, 1)
    return result


def _projects(params: SearchParams, call: Call) -> tuple[str, ...]:
    if call.agent:
        return (call.project,)
    # Who names a session means it, wherever they happen to stand.
    if params.session_id and not params.project:
        return ()
    return projects_for(params.project, params.cwd, params.all_projects)


async def _sessions(s: Services, projects: tuple[str, ...], beginning: str) -> tuple[str, ...]:
    states = await s.store.sessions()
    known = set(matching_projects(projects, {state.project for state in states}))
    return tuple(
        state.session_id
        for state in states
        if (not projects or state.project in known) and state.session_id.startswith(beginning)
    )


async def _hit(s: Services, event: Event, needle: str, context: int) -> SearchHit:
    text, lines = _matching(event, needle)
    hit = SearchHit(
        event=event_view(event, cut(text, _HIT_CHARS, text.lower().find(needle))), lines=lines
    )
    if context:
        near = await s.store.events_near(event.session_id, event.seq, before=context, after=context)
        place = next((n for n, other in enumerate(near) if other.id == event.id), 0)
        hit.before = [_neighbour(other) for other in near[max(0, place - context) : place]]
        hit.after = [_neighbour(other) for other in near[place + 1 : place + 1 + context]]
    return hit


def _neighbour(event: Event) -> EventView:
    return event_view(event, cut(spoken_text(event).strip(), _NEIGHBOUR_CHARS))


def _matching(event: Event, needle: str) -> tuple[str, list[NumberedLine]]:
    """Return the text of the event that holds the needle, and the lines of it that do."""
    tool = event.tool
    texts = [event.text, *((tool.command, tool.arguments) if tool else ())]
    for text in texts:
        if lines := matching_lines(text, needle, most=_LINES, chars=_LINE_CHARS):
            return text, lines
    # It stands in the arguments, escaped as JSON escapes it.
    text = texts[-1]
    return text, [NumberedLine(line=1, text=cut(text, _LINE_CHARS))]
