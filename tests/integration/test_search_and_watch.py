"""Literal search, opened evidence and the stream of happenings, through the real daemon."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.client import Client
from hindsight_daemon.errors import DaemonUnavailable, HindsightError, UsageProblem
from hindsight_daemon.launch import is_lock_held
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.protocol.documents import Happening
from tests.support.claude_lines import fixed_migration
from tests.support.harness import RawConnection, running_daemon, wait_until


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


def _chat(folder: Path, session: str, *texts: str) -> str:
    lines = [
        {
            "id": f"{session}-{n}",
            "session": session,
            "ts": f"2026-03-0{n + 1}T10:00:00Z",
            "role": "assistant" if n % 2 else "user",
            "text": text,
        }
        for n, text in enumerate(texts)
    ]
    file = folder / f"{session}.jsonl"
    file.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )
    return str(file)


def test_search_shows_the_line_its_place_and_what_was_said_around_it(
    client: Client, tmp_path: Path
) -> None:
    path = _chat(
        tmp_path,
        "s1",
        "请看订单服务",
        "first line\nthe Port is 6380\nlast line",
        "谢谢，端口对了",
        "port closed",
    )
    client.ingest((path,), project="shop")
    client.ingest((_chat(tmp_path, "s2", "another port"),), project="/w/other")

    found = client.search("the port IS", all_projects=True, context=1)
    (hit,) = found.hits
    assert [(one.line, one.text) for one in hit.lines] == [(2, "the Port is 6380")]
    assert (hit.event.transcript, hit.event.line) == (path, 2)
    assert (hit.event.session_id, hit.event.role) == ("s1", "assistant")
    assert [one.text for one in hit.before] == ["请看订单服务"]
    assert [one.text for one in hit.after] == ["谢谢，端口对了"]

    def texts(text: str, **params: Any) -> list[str]:
        return [one.lines[0].text for one in client.search(text, **params).hits]

    assert texts("端口", all_projects=True) == ["谢谢，端口对了"]
    newest_first = ["port closed", "the Port is 6380"]
    assert texts("port", project="shop") == newest_first
    assert texts("port", project="other") == ["another port"]
    assert texts("port", session_id="s1", cwd="/w/other") == newest_first
    assert texts("port", session_id="s", roles=("user",)) == ["another port"]
    assert texts("port", until="2026-03-02T12:00:00Z", project="shop") == ["the Port is 6380"]
    assert texts("port", project="nowhere") == []
    some = client.search("port", all_projects=True, limit=2)
    assert (len(some.hits), some.has_more) == (2, True)
    for wrong in ({"roles": ("robot",)}, {"kinds": ("x",)}, {"limit": 0}, {"context": 99}):
        with pytest.raises(UsageProblem):
            client.search("port", **wrong)
    with pytest.raises(UsageProblem):
        client.search(" ")


def test_search_finds_what_commands_did_and_long_events_are_cut_around_it(
    client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    session = fixed_migration()
    file.write_text(session.text(), encoding="utf-8")
    client.ingest((str(file),))
    calls = client.search("pytest", all_projects=True, tool="bash", kinds=("tool_call",)).hits
    assert calls and all(hit.event.tool == "Bash" for hit in calls)
    long = _chat(tmp_path, "long", "x" * 9_000 + " needle " + "y" * 9_000)
    client.ingest((long,))
    (hit,) = client.search("needle", all_projects=True).hits
    assert "needle" in hit.lines[0].text and len(hit.lines[0].text) < 1000
    assert "needle" in hit.event.text and len(hit.event.text) < 5000


def test_an_unchanged_transcript_is_shown_itself_a_changed_one_as_it_was_kept(
    client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(fixed_migration().text(), encoding="utf-8")
    memory_id = client.ingest((str(file),)).memory_ids[0]
    assert client.show(memory_id).spans == []

    spans = client.show(memory_id, with_spans=True).spans
    raw = file.read_text(encoding="utf-8").splitlines()
    assert spans
    for span in spans:
        assert (span.verified, span.origin, span.transcript) == ("unchanged", "file", str(file))
        assert [one.text for one in span.lines] == [raw[span.line - 1]]
        assert [one.line for one in span.lines] == [span.line]
        assert span.events and all(one.text in "".join(raw) or one.text for one in span.events)

    file.write_text("{}\n" + "\n".join(raw), encoding="utf-8")
    changed = client.show(memory_id, with_spans=True).spans
    assert {(one.verified, one.origin) for one in changed} == {("changed", "store")}
    file.unlink()
    gone = client.show(memory_id, with_spans=True).spans
    assert {(one.verified, one.origin) for one in gone} == {("gone", "store")}
    assert [one.events for one in gone] == [one.events for one in spans]
    assert all(one.lines == [] for one in gone)


def test_a_secret_in_the_transcript_stays_out_of_the_opened_evidence(
    client: Client, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = _chat(tmp_path, "s1", f"Remember: always push with token {secret} to mirror", "ok")
    client.ingest((path,))
    (turn,) = client.recall("push mirror token", kinds=("turn",), all_projects=True).memories[:1]
    (span,) = client.show(turn.id, with_spans=True).spans
    assert span.origin == "file"
    assert "mirror" in span.lines[0].text and secret not in span.lines[0].text


class Listening:
    """Takes down what a second connection is told, in a thread of its own."""

    def __init__(self) -> None:
        self.heard: list[Happening] = []
        self.error: HindsightError | None = None
        self.client = Client(autostart=False)
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()
        wait_until(lambda: self.heard, "the daemon tells what happens")

    def _listen(self) -> None:
        try:
            for happening in self.client.happenings():
                self.heard.append(happening)
        except HindsightError as exc:
            self.error = exc

    def named(self, event: str) -> list[dict[str, Any]]:
        return [one.data for one in self.heard if one.event == event]


def test_a_listener_hears_what_is_read_learned_merged_and_forgotten(tmp_path: Path) -> None:
    with running_daemon() as client:
        listening = Listening()
        assert listening.heard[0].event == "watch.started"
        file = tmp_path / "s.jsonl"
        file.write_text(fixed_migration().text(), encoding="utf-8")
        report = client.ingest((str(file),))
        stated = client.remember("缓存用 Redis 7", kind="decision")
        client.remember("缓存用 Redis 7", kind="decision")
        client.forget((stated.id,))
        wait_until(lambda: listening.named("memory.forgotten"), "it hears of the last thing")

        assert listening.named("transcript.read") == [
            {"path": str(file), "source": "claude-code", "events": report.events}
        ]
        (task,) = listening.named("task.consolidated")
        assert (task["outcome"], sorted(task["memories"])) == ("success", sorted(report.memory_ids))
        assert task["session"] and task["goal"]
        about = {"id": stated.id, "kind": "decision", "text": "缓存用 Redis 7"}
        added = listening.named("memory.added")
        assert {one["id"] for one in added} == {*report.memory_ids, stated.id}
        assert about in added
        assert listening.named("memory.merged") == [about]
        assert listening.named("memory.forgotten") == [about]
        client.ingest((str(file),), dry_run=True)
        assert len(listening.named("transcript.read")) == 1
    listening.thread.join(timeout=30)
    assert not listening.thread.is_alive()
    assert isinstance(listening.error, DaemonUnavailable)


def test_a_listener_that_does_not_read_or_dies_hurts_nobody(client: Client) -> None:
    path = Path(client.status().socket)
    with RawConnection(path, timeout_s=30) as deaf, RawConnection(path) as dead:
        deaf.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for raw in (deaf, dead):
            raw.hello()
            raw.send_message(id=1, method="events.subscribe")
            started = raw.receive()
            assert started is not None and started["params"]["event"] == "watch.started"
        dead.sock.shutdown(socket.SHUT_RDWR)
        with RawConnection(path, timeout_s=60) as busy:
            busy.hello()
            for number in range(1500):
                params = {"text": f"fact {number} " + "缓存" * 250}
                busy.send_message(id=number, method="memory.remember", params=params)
            answers = [busy.receive() for _ in range(1500)]
        assert all(answer and answer["result"]["outcome"] == "added" for answer in answers)
        # What was lost is told in its place, after what had room.
        heard = [deaf.receive()]
        while heard[-1] and heard[-1]["params"]["event"] != "overflow":
            heard.append(deaf.receive())
        assert heard[-1] is not None
        assert heard[-1]["params"]["data"]["lost"] + len(heard) - 1 == 1500
        client.remember("Something else entirely")
        after = deaf.receive()
        assert after is not None and after["params"]["data"]["text"] == "Something else entirely"


def test_a_listener_keeps_no_daemon_from_leaving(client: Client) -> None:
    with RawConnection(Path(client.status().socket), timeout_s=30) as raw:
        raw.hello()
        raw.send_message(id=1, method="events.subscribe")
        assert raw.receive() is not None
        client.shutdown(when="idle")
        assert raw.receive() is None or raw.receive() is None
    wait_until(lambda: not is_lock_held(resolve_paths()), "the daemon has left")


def test_a_cancelled_stream_ends_and_the_connection_goes_on(client: Client) -> None:
    with RawConnection(Path(client.status().socket), timeout_s=30) as raw:
        raw.hello()
        raw.send_message(id=1, method="events.subscribe")
        assert raw.receive() is not None
        raw.send_message(id=2, method="cancel", params={"request": 1})
        ended = {answer["id"]: answer for _ in range(2) if (answer := raw.receive())}
        assert ended[1]["error"]["data"]["code"]
        raw.send_message(id=3, method="daemon.status")
        answer = raw.receive()
        assert answer is not None and answer["id"] == 3


def test_only_transcripts_changed_since_are_read(client: Client, tmp_path: Path) -> None:
    old, new = _chat(tmp_path, "old", "from before"), _chat(tmp_path, "new", "from now")
    os.utime(old, (1_700_000_000, 1_700_000_000))
    since = "2026-01-01T00:00:00Z"
    rehearsed = client.ingest((str(tmp_path),), since=since, dry_run=True)
    assert [(one.path, one.events) for one in rehearsed.files] == [(new, 1)]
    assert rehearsed.dry_run and client.stats().events == 0
    assert [one.path for one in client.ingest((str(tmp_path),), since=since).files] == [new]
    assert [one.path for one in client.ingest((str(tmp_path),)).files if one.events] == [old]
    with pytest.raises(UsageProblem):
        client.ingest((str(tmp_path),), since="lately")
