"""A process that consolidates and dies at its Nth commit; run by the fault tests.

`python -m tests.support.consolidation_child PREPARE|COUNT`: `prepare` writes the lessons to work
on, a number runs consolidation until that many commits were made and then kills the process with
SIGKILL, before or after the last of them by turns; 0 runs it to its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import EmbedSettings, Settings
from hindsight_daemon.service.consolidation import run
from hindsight_daemon.service.services import open_services
from hindsight_daemon.store.port import WriteBatch
from tests.support.lessons import LOCKS, LOCKS_ZH, a_lesson, store_lessons
from tests.support.store_builders import SETTINGS, test_paths


def arm(store: Any, count: int) -> None:
    """Die at a commit: odd numbers before it is made, even ones after."""
    commit = store.commit
    left = count

    async def counted(batch: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0 and count % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        await commit(batch)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    store.commit = counted


async def main(what: str) -> None:
    """Open, prepare or run, close."""
    settings = Settings(store=SETTINGS, embed=EmbedSettings(model="none"))
    s = await open_services(test_paths(), settings, SystemClock())
    if what == "prepare":
        texts = (*LOCKS, *LOCKS_ZH)
        await store_lessons(s, *(a_lesson(n, text) for n, text in enumerate(texts, 1)))
    else:
        if int(what):
            arm(s.store, int(what))
        # Tries are the matter of other tests; here the same item is killed again and again.
        tries = await s.store.progress("consolidation:")
        await s.write(WriteBatch(progress=dict.fromkeys(tries, "")))
        await run(s, trigger="call")
    await s.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
