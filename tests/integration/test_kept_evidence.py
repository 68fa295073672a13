"""Old events go by policy, memories and what they cite stay, and nothing is learned twice."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import structs

from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import EventsSettings, Settings
from hindsight_daemon.model import DISTILLED_KINDS
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.protocol.params import IngestParams, StatsParams
from hindsight_daemon.service.admin import stats
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.ingest import ingest
from hindsight_daemon.service.retention import thin_events
from hindsight_daemon.service.services import Services, open_services
from tests.support.claude_lines import fixed_migration

DAYS = 30


async def _opened(after: timedelta = timedelta(0)) -> Services:
    class Later(SystemClock):
        def now(self) -> datetime:
            return super().now() + after

    settings = structs.replace(Settings(), events=EventsSettings(keep_days=DAYS))
    return await open_services(resolve_paths(), settings, Later())


async def _memories(s: Services, session: str) -> dict[str, str]:
    found = await s.store.memories_of_session(session, DISTILLED_KINDS)
    return {memory.id: memory.text for memory in found}


def test_old_events_go_except_those_that_memories_cite(tmp_path: Path) -> None:
    session = fixed_migration()
    file = tmp_path / "session.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    params = IngestParams(paths=(str(file),))

    async def body() -> None:
        s = await _opened(timedelta(days=DAYS * 40))
        try:
            await ingest(s, params, Call())
            before = [e.id async for e in s.store.events_of(session.session_id)]
            memories = await _memories(s, session.session_id)
            cited = {
                event_id
                for memory in (await s.store.get(list(memories))).values()
                for link in memory.evidence
                for event_id in link.event_ids
            }
            assert cited < set(before)

            dropped = await thin_events(s)
            left = {e.id async for e in s.store.events_of(session.session_id)}
            assert left == cited
            assert dropped == len(before) - len(cited)
            assert (await stats(s, StatsParams(), Call())).retention["events"] == dropped
            assert await _memories(s, session.session_id) == memories

            assert await thin_events(s) == 0
            file.write_text(session.text() + "\n", encoding="utf-8")
            again = await ingest(s, params, Call())
            assert (again.events, again.episodes) == (0, 0)
            assert await _memories(s, session.session_id) == memories
        finally:
            await s.close()

    asyncio.run(body())


def test_a_session_that_goes_on_after_its_events_went_keeps_its_old_memories(
    tmp_path: Path,
) -> None:
    session = fixed_migration()
    file = tmp_path / "session.jsonl"
    file.write_text(session.text(), encoding="utf-8")
    params = IngestParams(paths=(str(file),))

    async def body() -> None:
        s = await _opened(timedelta(days=DAYS * 40))
        try:
            await ingest(s, params, Call())
            memories = await _memories(s, session.session_id)
            await thin_events(s)
            session.prompt("Now rename the Gateway class to Router everywhere, please")
            session.edits("gateway.py", "class Gateway", "class Router")
            session.runs("pytest -q", "4 passed").says("Renamed, the tests pass.")
            file.write_text(session.text(), encoding="utf-8")
            report = await ingest(s, params, Call())
            assert report.events > 0
            after = await _memories(s, session.session_id)
            assert memories.items() <= after.items()
        finally:
            await s.close()

    asyncio.run(body())
