"""Tasks, answers and working sets for tests of the judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hindsight_daemon.config import EmbedSettings, JudgeSettings, Settings
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.model import SessionState
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.gate import Gate
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import WriteBatch
from tests.support.event_builders import Session
from tests.support.fake_store import FakeStore
from tests.support.store_builders import test_paths

_made: list[Services] = []
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class MovedClock:
    """A clock that stands where it was put."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at


def a_fix(session_id: str = "s1") -> Session:
    """Return a session in which a failing test is fixed; e2/e3 fail, e8/e9 pass."""
    return (
        Session(session_id)
        .user("tests/test_import.py hangs, find out why and fix it")
        .run("pytest tests/test_import.py", "Timeout >30s\nFAILED", 124)
        .say("The worker `import_worker` still runs when the interpreter wants to end.")
        .edit("tests/conftest.py", "worker.start()", "worker.start(daemon=True)")
        .run("pytest tests/test_import.py", "3 passed in 0.4s")
        .say("Fixed: the worker thread is a daemon thread now.")
    )


def slots(**fields: Any) -> dict[str, Any]:
    """Return a good answer about `a_fix`."""
    return {
        "goal": "find out why tests/test_import.py hangs",
        "task_type": "debug",
        "outcome": "success",
        "failure_reason": "",
        "lessons": [
            lesson(
                "When `tests/test_import.py` hangs at its end, look for a thread that is no daemon "
                "thread, because the interpreter waits for `import_worker`."
            )
        ],
        **fields,
    }


def lesson(text: str, **fields: Any) -> dict[str, Any]:
    """Return one lesson slot."""
    return {
        "kind": "solution",
        "text": text,
        "evidence": ["e3", "e4"],
        "importance": "high",
        **fields,
    }


def judged_services(
    url: str, *, store: FakeStore | None = None, clock: MovedClock | None = None, **fields: Any
) -> Services:
    """Return a working set in memory whose judge is the OpenAI-compatible server at `url`."""
    judge = {"provider": "openai", "base_url": url, "model": "small-1", "attempts": 1, **fields}
    settings = Settings(embed=EmbedSettings(model="none"), judge=JudgeSettings(**judge))
    paths = test_paths()
    models = ModelHost(settings.embed, paths.models_dir)
    made = Services(store or FakeStore(), models, Gate(()), settings, paths, clock or MovedClock())
    _made.append(made)
    return made


async def learned(s: Services, *sessions: Session) -> None:
    """Store sessions and have the rules distil them, as an ingest would."""
    for one in sessions:
        await _store(s, one)


async def _store(s: Services, one: Session) -> None:
    events: Sequence[Any] = one.events
    first = events[0]
    state = SessionState(
        session_id=first.session_id,
        agent=first.agent,
        project="app",
        first_at=first.ts,
        last_at=events[-1].ts,
        events=len(events),
    )
    await s.write(WriteBatch(events=tuple(events), sessions=(state,)))
    await consolidate_session(s, first.session_id, final=True)


def run(work: Any) -> Any:
    """Run a coroutine with a bound on its time, and close the working sets it made."""

    async def bounded() -> Any:
        try:
            async with asyncio.timeout(20):
                return await work
        finally:
            while _made:
                await _made.pop().judging.close()

    return asyncio.run(bounded())
