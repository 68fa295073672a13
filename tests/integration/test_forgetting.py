"""What was forgotten stays gone on every path, and forgetting reaches what rested on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_cli.app import run
from hindsight_daemon.client import Client
from hindsight_daemon.errors import NotFound
from hindsight_daemon.model import DISTILLED_KINDS
from tests.support.claude_lines import fixed_migration
from tests.support.harness import running_daemon

PORT = "The staging database listens on port 8080"


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


def _session(folder: Path, number: int, *lines: str) -> str:
    path = folder / f"s{number}.jsonl"
    path.write_text(
        "".join(
            json.dumps(
                {
                    "id": f"{number}-{n}",
                    "session": f"s{number}",
                    "ts": f"2026-0{number}-01T10:{n:02d}:00Z",
                    "role": "user" if n % 2 == 0 else "assistant",
                    "text": text,
                },
                ensure_ascii=False,
            )
            + "\n"
            for n, text in enumerate(lines)
        ),
        encoding="utf-8",
    )
    return str(path)


def _texts(client: Client) -> str:
    listed = client.list(all_projects=True, limit=500).memories
    found = client.recall("staging database port", all_projects=True, limit=20).memories
    return json.dumps([listed, [one.text for one in found]], ensure_ascii=False)


def test_a_refuted_value_is_not_laundered_back_by_any_path(client: Client, tmp_path: Path) -> None:
    old = client.remember(PORT)
    client.remember("The staging database listens on port 9090")
    path = _session(tmp_path, 1, f"Remember that {PORT.lower()}", "Noted.", "thanks")
    client.ingest((path,))
    gone = client.forget((old.id,), reason="it moved")
    assert old.id in gone.forgotten
    assert "8080" not in _texts(client)

    for text in (
        PORT,
        f"Note: {PORT}!",
        "Тhe stаging db listens on pоrt 8080",
        f"  {PORT.upper()}",
    ):
        answer = client.remember(text)
        assert (answer.outcome, answer.affected) == ("refused", gone.tombstones[:1])
        assert "it moved" in answer.reason
    for number in (2, 3, 4):
        said = _session(tmp_path, number, f"From now on remember: {PORT}.", "OK.", "thank you")
        client.ingest((said, path))
    client.ingest((path,), session_id="another")
    assert "8080" not in _texts(client)

    assert client.remember("The staging database listens on port 9191").outcome != "refused"
    assert client.remember("The staging database never listens on port 8080").outcome != "refused"


def test_a_lifted_tombstone_lets_the_statement_in_again(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    first = client.remember(PORT)
    (tombstone,) = client.forget((first.id,), reason="wrong").tombstones
    listed = client.list(tombstones=True).tombstones
    assert [(one["id"], one["reason"]) for one in listed] == [(tombstone, "wrong")]
    assert run(["unforget", first.id, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lifted"] == [tombstone]
    assert client.remember(PORT).outcome == "refused"
    assert run(["unforget", tombstone[:13], "--reason", "right after all"]) == 0
    assert client.remember(PORT).outcome == "added"
    assert client.list(tombstones=True).tombstones == []
    with pytest.raises(NotFound):
        client.unforget((tombstone,))


def test_what_rested_on_a_forgotten_episode_goes_with_it_and_stays_gone(
    client: Client, tmp_path: Path
) -> None:
    session = fixed_migration()
    path = tmp_path / f"{session.session_id}.jsonl"
    path.write_text(session.text(), encoding="utf-8")
    client.ingest((str(path),))
    distilled = client.list(all_projects=True, kinds=DISTILLED_KINDS).memories
    episode = next(one for one in distilled if one["kind"] == "episode")
    lessons = {one["id"] for one in distilled} - {episode["id"]}
    assert lessons
    planned = client.forget((episode["id"],), dry_run=True)
    assert set(planned.derived) == lessons
    done = client.forget((episode["id"],))
    assert set(done.derived) == lessons
    assert client.list(all_projects=True, kinds=DISTILLED_KINDS).memories == []
    session.prompt("now run the linter").runs("ruff check", "ok").prompt("fine")
    path.write_text(session.text(), encoding="utf-8")
    client.ingest((str(path),))
    left = client.list(all_projects=True, kinds=DISTILLED_KINDS).memories
    assert not {one["id"] for one in left} & {episode["id"], *lessons}


def test_the_words_of_a_forgotten_turn_leave_the_keys_of_the_turn_after_it(
    client: Client, tmp_path: Path
) -> None:
    path = _session(
        tmp_path, 1, "When did you visit the planetarium in Uppsala?", "Yes, last May!", "Nice."
    )
    client.ingest((path,), wait=True)
    turns = client.list(all_projects=True, kinds=("turn",)).memories
    question = next(one for one in turns if "planetarium" in one["text"])

    def found() -> list[str]:
        answer = client.recall("planetarium Uppsala", all_projects=True, kinds=("turn",))
        return [one.text for one in answer.memories if (one.score or 0) > 0.5]

    assert "Yes, last May!" in found()
    client.forget((question["id"],))
    assert client.recall("planetarium Uppsala", all_projects=True, kinds=("turn",)).memories == []
