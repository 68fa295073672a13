"""Consolidation under SIGKILL: whatever was under way, the end is as if nothing had happened."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hindsight_daemon.clock import SystemClock
from hindsight_daemon.engine.generalise import is_generalised
from hindsight_daemon.model import Memory
from hindsight_daemon.store.open import open_store
from tests.support.store_builders import SETTINGS, everything, test_paths

pytestmark = pytest.mark.fault
CHECKOUT = Path(__file__).resolve().parents[2]


def child(what: str) -> int:
    """Run the child to its end or its death."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.consolidation_child", what],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'daemon'}"},
        check=False,
        timeout=100,
    )
    return done.returncode


def results() -> dict[str, tuple[Memory, list[Any]]]:
    """Return what was generalised with its history."""

    async def body() -> dict[str, tuple[Memory, list[Any]]]:
        store = await open_store(test_paths(), SETTINGS, SystemClock())
        found = await store.list(everything(), limit=1000)
        told = {m.id: (m, list(await store.history(m.id))) for m in found if is_generalised(m)}
        await store.close()
        return told

    return asyncio.run(body())


@pytest.mark.parametrize("commits", [3, 4, 7])
def test_a_run_that_is_killed_is_finished_by_the_next(commits: int) -> None:
    assert child("prepare") == 0
    assert child(str(commits)) == -signal.SIGKILL
    assert child("0") == 0
    found = results()
    assert sorted(memory.support_count for memory, _ in found.values()) == [2, 3]
    for memory, history in found.values():
        assert [entry.action for entry in history] == ["generalised"], "written once"
        assert msgspec.json.decode(history[0].after, type=Memory) == memory
