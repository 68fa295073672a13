"""However a transcript grows, is cut or replaced: each event comes exactly once, in order."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Checkpoint, Event

SESSION = "S"


def _claude(kind: str, number: int, content: Any, **message: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": SESSION,
        "timestamp": "2026-08-01T09:00:00.000Z",
        "message": {"role": kind, "content": content, **message},
    }


@st.composite
def claude_records(draw: st.DrawFn) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 12))):
        match draw(st.integers(0, 4)):
            case 0:
                records.append(_claude("user", number, draw(st.text(min_size=1, max_size=30))))
            case 1:
                text = {"type": "text", "text": draw(st.sampled_from(["yes", "yes, done", "no"]))}
                shared = draw(st.sampled_from(["m1", "m2"]))
                records.append(_claude("assistant", number, [text], id=shared))
            case 2:
                use = {"type": "tool_use", "id": f"t{number % 3}", "name": "Bash"}
                block = {**use, "input": {"command": f"make {number}"}}
                records.append(_claude("assistant", number, [block]))
            case 3:
                done = {"type": "tool_result", "tool_use_id": f"t{number % 3}", "content": "ok"}
                records.append(_claude("user", number, [done]))
            case _:
                records.append({"type": "summary", "summary": "s", "leafUuid": "x"})
    return records


@st.composite
def codex_records(draw: st.DrawFn) -> list[dict[str, Any]]:
    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-08-01T10:00:00Z", "type": kind, "payload": payload}

    records = [line("session_meta", id="S", cwd="/w")]
    for number in range(draw(st.integers(1, 12))):
        word = draw(st.sampled_from(["go", "on", "again"]))
        content = [{"type": "input_text", "text": word}]
        records += draw(
            st.sampled_from(
                [
                    [line("turn_context", turn_id=f"t{number}", cwd="/w")],
                    [line("event_msg", type="user_message", message=word)],
                    [line("response_item", type="message", role="user", content=content)],
                    [line("response_item", type="function_call", name="shell", call_id=f"c{number}",
                          arguments='{"command":["ls"]}')],
                    [line("response_item", type="function_call_output", call_id=f"c{number - 1}",
                          output="Exit code: 0\nOutput:\na")],
                    [line("event_msg", type="task_complete", last_agent_message=word)],
                ]
            )
        )  # fmt: skip
    return records


class Store:
    """Keeps events by id and the checkpoint that was committed with them, as a service would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint: Checkpoint | None = None
        self.events: dict[str, Event] = {}

    def read(self, *, final: bool = False) -> None:
        for batch in read_transcript(self.path, checkpoint=self.checkpoint, final=final):
            for event in batch.events:
                self.events[event.id] = event
            self.checkpoint = batch.checkpoint


def encoded(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()


def whole(path: Path, data: bytes) -> list[Event]:
    path.write_bytes(data)
    return [event for batch in read_transcript(path) for event in batch.events]


RECORDS = claude_records() | codex_records()


@given(RECORDS, st.data())
def test_any_partition_of_appends_gives_the_events_of_the_whole(
    records: list[dict[str, Any]], data: st.DataObject
) -> None:
    content = encoded(records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=8)))
    with tempfile.TemporaryDirectory() as folder:
        expected = whole(Path(folder, "whole.jsonl"), content)
        store = Store(Path(folder, "grown.jsonl"))
        position = 0
        for cut in [*cuts, len(content)]:
            with store.path.open("ab") as file:
                file.write(content[position:cut])
            position = cut
            store.read()
        store.read(final=True)
    assert [_bare(event) for event in store.events.values()] == [_bare(event) for event in expected]


@given(claude_records(), claude_records(), st.data())
def test_a_cut_and_rewritten_file_gives_what_was_and_what_is(
    before: list[dict[str, Any]], after: list[dict[str, Any]], data: st.DataObject
) -> None:
    renamed = [{**one, "uuid": f"n{one['uuid']}"} if "uuid" in one else one for one in after]
    kept = data.draw(st.integers(0, len(before)))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "x.jsonl"))
        old = whole(store.path, encoded(before))
        store.read()
        if data.draw(st.booleans()):
            store.path.unlink()
        new = whole(store.path, encoded(before[:kept] + renamed))
        store.read()
    assert {event.id for event in new} <= set(store.events) <= {event.id for event in old + new}
    seqs = [store.events[event.id].seq for event in new]
    assert seqs == sorted(seqs)


@given(claude_records())
def test_one_byte_at_a_time_is_the_same_as_at_once(records: list[dict[str, Any]]) -> None:
    content = encoded(records[:2])
    with tempfile.TemporaryDirectory() as folder:
        expected = whole(Path(folder, "whole.jsonl"), content)
        store = Store(Path(folder, "x.jsonl"))
        for position in range(0, len(content), 7):
            with store.path.open("ab") as file:
                file.write(content[position : position + 7])
            store.read()
    assert [_bare(event) for event in store.events.values()] == [_bare(event) for event in expected]


def _bare(event: Event) -> tuple[object, ...]:
    return (event.id, event.seq, event.kind, event.text, event.tool, event.ends_turn, event.files)
