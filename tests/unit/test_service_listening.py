"""Calls that last tell that they live; listeners that are slow lose in order and are told so."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_daemon.errors import Busy
from hindsight_daemon.service.call import Call, reporting
from hindsight_daemon.service.happening_bus import MAX_LISTENERS, QUEUE_LENGTH, HappeningBus
from tests.support.store_builders import FixedClock, a_memory


def test_a_long_call_keeps_telling_its_caller_that_it_works() -> None:
    async def body() -> None:
        told: list[str] = []
        enough = asyncio.Event()

        async def report(stage: str, _done: int, _total: int, _detail: str) -> None:
            told.append(stage)
            if len(told) == 3:
                enough.set()

        async def work() -> int:
            await enough.wait()
            return 7

        assert await reporting(Call(report=report), "search", work(), every_s=0.001) == 7
        assert told == ["search"] * 3

    asyncio.run(body())


def test_work_that_fails_or_whose_caller_goes_is_over() -> None:
    async def body() -> None:
        async def failing() -> None:
            raise Busy("no")

        with pytest.raises(Busy):
            await reporting(Call(), "search", failing())

        has_begun, is_over = asyncio.Event(), asyncio.Event()

        async def endless() -> None:
            has_begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                is_over.set()

        call = asyncio.create_task(reporting(Call(), "search", endless()))
        await has_begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(5):
            await is_over.wait()

    asyncio.run(body())


def test_a_slow_listener_learns_where_and_how_much_it_lost() -> None:
    async def body() -> None:
        bus = HappeningBus(FixedClock())
        with bus.listening() as slow, bus.listening() as quick:
            for number in range(QUEUE_LENGTH + 5):
                bus.publish_memory("added", a_memory(number))
                assert (await quick.take()).event == "memory.added"
            assert (await slow.take()).event == "memory.added"
            bus.publish_memory("forgotten", a_memory(1))
            heard = [await slow.take() for _ in range(QUEUE_LENGTH)]
            assert [one.event for one in heard[:-1]] == ["memory.added"] * (QUEUE_LENGTH - 1)
            assert (heard[-1].event, heard[-1].data) == ("overflow", {"lost": 6})
            bus.publish_memory("merged", a_memory(2))
            assert (await slow.take()).event == "memory.merged"

    asyncio.run(body())


def test_there_is_room_for_so_many_listeners_and_leaving_makes_room() -> None:
    async def body() -> None:
        bus = HappeningBus(FixedClock())
        places = [bus.listening() for _ in range(MAX_LISTENERS)]
        for place in places:
            place.__enter__()
        with pytest.raises(Busy), bus.listening():
            pass
        places[0].__exit__(None, None, None)
        with bus.listening():
            pass

    asyncio.run(body())
