"""The daemon follows transcript databases by their write-ahead logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.client import Client
from tests.support.databases import OpenCodeWriter
from tests.support.harness import running_daemon, wait_until


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, home: Path) -> OpenCodeWriter:
    """Return OpenCode with its database in the test's home, followed by the daemon."""
    data = home.parent / "home/data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    monkeypatch.setenv("HINDSIGHT_WATCH", "true")
    made = OpenCodeWriter(data / "opencode/opencode.db", wal=True)
    made.session("ses_1", str(home))
    made.prompt("ses_1", "msg_1", "Please give the gateway a healthcheck")
    return made


def _turns(client: Client, text: str) -> list[str]:
    found = client.recall(text, kinds=("turn",), all_projects=True).memories
    return [memory.text for memory in found]


def test_rows_that_are_only_in_the_log_are_recallable_while_the_session_goes_on(
    writer: OpenCodeWriter,
) -> None:
    before = writer.path.stat()
    with running_daemon() as client:
        wait_until(lambda: _turns(client, "gateway healthcheck"), "the first prompt was seen")
        writer.answer("ses_1", "msg_2", "The gateway answers on slash healthz now")
        wait_until(
            lambda: any("healthz" in text for text in _turns(client, "slash healthz")),
            "the answer was seen",
        )
        after = writer.path.stat()
        assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        assert client.stats().events == 3
