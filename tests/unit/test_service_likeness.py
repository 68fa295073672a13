"""The index that says which stored statements are worth comparing with a new one."""

from __future__ import annotations

import asyncio

from hindsight_daemon.engine.admission import STATEMENT_KINDS
from hindsight_daemon.service.likeness import LikenessIndex
from hindsight_daemon.store.port import SearchFilter, WriteBatch
from tests.support.fake_store import FakeStore
from tests.support.store_builders import a_memory, at


def test_statements_that_share_the_rare_words_come_first() -> None:
    index = LikenessIndex()
    for number in range(300):
        index.add(a_memory(number, f"The service number{number} writes its report"))
    wanted = a_memory(300, "The gateway listens on port 7000")
    index.add(wanted)
    assert index.near(wanted.project, "The gateway listens on port 7001", limit=5) == [wanted.id]


def test_other_projects_and_unlike_statements_are_left_out() -> None:
    index = LikenessIndex()
    index.add(a_memory(1, "网关监听 7000 端口", project="/elsewhere"))
    index.add(a_memory(2, "网关由马拉负责，备份在夜里运行，报告每周发送给团队"))
    assert index.near("/home/dev/app", "网关监听 7001 端口", limit=5) == []


def test_it_is_filled_from_the_store_and_keeps_what_came_meanwhile() -> None:
    async def body() -> None:
        store = FakeStore()
        stored = [a_memory(n, f"Rule about topic{n} and its habits") for n in range(700)]
        await store.commit(WriteBatch(memories=tuple(stored)))
        index = LikenessIndex()
        late = a_memory(900, "Rule about topic900 and its habits")
        index.add(late)
        await index.fill(store, SearchFilter(now=at(1000), kinds=STATEMENT_KINDS))
        assert index.is_complete
        for memory in (stored[0], stored[-1], late):
            assert index.near(memory.project, memory.text, limit=1) == [memory.id]

    asyncio.run(body())
