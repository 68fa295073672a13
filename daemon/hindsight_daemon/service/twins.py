"""Conversations that one agent keeps in several forms at once are told once.

Cursor writes a conversation as lines, and into the database of its editor or of its command line,
under one id but with nothing in the records that would let the events collapse. The database says
more (times, results), so lines give way to it; else the form that was read first stays.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.model import Event
from hindsight_daemon.service.services import Services
from hindsight_daemon.sources import cursor_db
from hindsight_daemon.sources.cursor_agent import AGENT

_FORMS = ("", "composer:", "chat:")
"""What stands before the id in the names of sessions: lines, the editor's, the command line's."""


async def told_nowhere_else(s: Services, events: list[Event]) -> list[Event]:
    """Leave out the events of conversations that another form tells already."""
    sessions = {event.session_id for event in events if event.agent == AGENT}
    twins = {session for session in sessions if await _is_told(s, session)}
    return [event for event in events if event.session_id not in twins] if twins else events


async def _is_told(s: Services, session_id: str) -> bool:
    if await s.store.session(session_id) is not None:
        return False  # it was read under this name before, and goes on
    form = next(form for form in reversed(_FORMS) if session_id.startswith(form))
    bare = session_id.removeprefix(form)
    for other in _FORMS:
        if other != form and await s.store.session(other + bare) is not None:
            return True
    return not form and await asyncio.to_thread(_is_in_editor, bare)


def _is_in_editor(bare: str) -> bool:
    """Tell whether the editor's own database on this machine holds a conversation."""
    for root in cursor_db.SOURCE.roots(os.environ, Path.home()):
        path = root / "state.vscdb"
        if path.is_file():
            try:
                with OpenDatabase(path, str(path)) as tables:
                    if cursor_db.holds(tables, bare):
                        return True
            except HindsightError:
                continue
    return False
