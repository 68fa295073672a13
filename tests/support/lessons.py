"""Lessons of made-up episodes, as they stand in a store before anything is generalised."""

from __future__ import annotations

from typing import Any

from hindsight_daemon.model import Evidence, Memory
from hindsight_daemon.service.keys import keys_for
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import WriteBatch
from tests.support.store_builders import a_memory, an_event, at

LOCKS = (
    "When `pytest tests/test_migrations.py` fails with `TimeoutError: lock wait timeout on table "
    "invoices`: dispose of the engine in the fixture, because an idle connection still holds the "
    "table lock.",
    "When `pytest tests/test_billing.py` fails with `TimeoutError: lock wait timeout on table "
    "payments`: call `engine.dispose()` at the end of the fixture, because an idle connection "
    "holds the lock on the table since 2026-02-11.",
    "When `pytest tests/test_refunds.py -x` fails with `TimeoutError: lock wait timeout on table "
    "refunds`: dispose of the engine after the yield in the fixture, because the idle connection "
    "keeps the table lock for 120 s.",
)
LOCKS_ZH = (
    "当 `pytest tests/test_orders.py` 报错 `TimeoutError: 等待锁超时 orders` 时：在 fixture 结束时"
    "调用 `engine.dispose()`，因为空闲连接仍然占用表锁。",
    "当 `pytest tests/test_stock.py` 报错 `TimeoutError: 等待锁超时 stock` 时：fixture 结束后调用 "
    "`engine.dispose()`，因为空闲的连接还占用着表锁，从 3.2 版开始。",
)


def a_lesson(number: int, text: str, **fields: Any) -> Memory:
    """Return the lesson of the numbered episode."""
    values: dict[str, Any] = {
        "kind": "solution",
        "derived_from": (an_episode(number).id,),
        "evidence": (
            Evidence(
                agent="claude-code",
                session_id=f"s{number}",
                transcript=f"/t/s{number}.jsonl",
                event_ids=(an_event(1, f"s{number}").id,),
                quote=text[:80],
            ),
        ),
        "session_id": f"s{number}",
        "valid_from": at(number),
        "confidence": 0.6,
    }
    return a_memory(number, text, **{**values, **fields})


def an_episode(number: int) -> Memory:
    """Return the numbered episode."""
    return a_memory(
        number + 5000,
        f"Episode {number}: a test was fixed.",
        layer="episodic",
        kind="episode",
        session_id=f"s{number}",
        valid_from=at(number),
    )


async def store_lessons(s: Services, *lessons: Memory) -> None:
    """Write lessons with their keys, their episodes and the events they cite."""
    numbers = [int(lesson.session_id[1:]) for lesson in lessons]
    memories = (*lessons, *(an_episode(number) for number in numbers))
    await s.write(
        WriteBatch(
            memories=memories,
            keys=tuple(key for memory in memories for key in keys_for(memory)),
            events=tuple(an_event(1, lesson.session_id, text=lesson.text) for lesson in lessons),
        )
    )
