"""The look through all rows at open must not take what was just written for lost."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from hindsight_daemon.store.lance_store import LanceStore
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import WriteBatch
from tests.support.store_builders import SETTINGS, FixedClock, a_key, a_memory, test_paths

pytestmark = pytest.mark.fault


def test_a_commit_that_is_not_shown_yet_is_not_lost() -> None:
    async def body() -> None:
        store = cast(LanceStore, await open_store(test_paths(), SETTINGS, FixedClock()))
        memory = a_memory(1)
        batch = WriteBatch(memories=(memory,), keys=(a_key(memory),))
        await store.flush()
        # The moment between the commit in the journal's thread and its showing on the loop has no
        # public door, so the commit is made without the showing.
        rows = await store._journal.run(
            lambda db: store._writer.write(db, batch, {}, FixedClock().now())
        )
        assert await store._folder.reconcile() == []
        assert not await store.check()
        store._show(rows)
        await store.flush()
        assert await store.get([memory.id]) == {memory.id: memory}
        assert (await store.stats()).memories_by["kind"] == {"lesson": 1}
        await store.close()

    asyncio.run(body())
