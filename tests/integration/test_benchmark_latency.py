"""The latency benchmark's own judgements: agreement with an exact scan, clients that fail."""

from __future__ import annotations

import asyncio

from benchmarks.daemon import daemon_in, temporary_home
from benchmarks.latency import concurrent_recalls, write_memories

_UNINDEXED = 120


def test_a_store_without_vector_index_names_the_exact_nearest_keys() -> None:
    with temporary_home({"HINDSIGHT_EMBED_MODEL": "none"}):
        figures = asyncio.run(write_memories(_UNINDEXED, 16, "bench"))
    assert figures["vector_recall_at_10"] == 1.0


def test_clients_that_ask_at_once_are_all_answered() -> None:
    with temporary_home({"HINDSIGHT_EMBED_MODEL": "none"}) as home, daemon_in(home):
        crowd = concurrent_recalls(4)
    assert (crowd["clients"], crowd["failed"], crowd["errors"]) == (4, 0, [])
