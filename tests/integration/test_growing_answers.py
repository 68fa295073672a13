"""An answer that is written while it is still being made ends up stored whole, and once."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.claude_lines import ClaudeSession
from tests.support.harness import running_daemon

HALF = "The worker deadlocks because"
WHOLE = f"{HALF} the pool is smaller than the number of nested tasks"


def _transcript() -> list[str]:
    session = ClaudeSession("5e551000-0000-4000-8000-0000000000c1")
    session.prompt("Why does the worker hang under load?").says(HALF).says(WHOLE)
    first, second = session.records[1:3]
    second["message"]["id"] = first["message"]["id"]
    first["message"]["stop_reason"] = None
    return [json.dumps(record) + "\n" for record in session.records]


def test_a_longer_text_under_the_same_id_replaces_the_stored_one(tmp_path: Path) -> None:
    lines = _transcript()
    file = tmp_path / "session.jsonl"
    with running_daemon() as client:
        file.write_text("".join(lines[:2]), encoding="utf-8")
        client.ingest((str(file),), final=False)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(lines[2])
        client.ingest((str(file),), final=False)
        found = client.recall("worker deadlocks", kinds=("turn",), all_projects=True).memories
        assert sum(HALF in memory.text for memory in found) == 1
        assert WHOLE in {memory.text for memory in found}
        assert client.stats().events == 2


def test_a_consolidated_session_whose_last_answer_grew_is_looked_at_again(tmp_path: Path) -> None:
    lines = _transcript()
    file = tmp_path / "session.jsonl"
    with running_daemon() as client:
        file.write_text("".join(lines[:2]), encoding="utf-8")
        client.ingest((str(file),))
        with file.open("a", encoding="utf-8") as stream:
            stream.write(lines[2])
        report = client.ingest((str(file),))
        assert report.files[0].sessions == ["5e551000-0000-4000-8000-0000000000c1"]
        assert client.stats().episodes <= 1
