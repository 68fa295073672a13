"""However a database grows between readings, each event comes exactly once and in its place."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_daemon.errors import BadInput, Busy
from hindsight_daemon.ingest.transcript import read_transcript
from tests.support.databases import START_MS, Follower, OpenCodeWriter

STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["ask", "say", "call", "end", "read", "again"])),
    max_size=40,
)


def write(writer: OpenCodeWriter, session: str, what: str, number: int) -> None:
    key = f"msg_{number:03}"
    if what == "ask":
        writer.prompt(session, key, f"{session} asks {number}")
    elif what == "say":
        writer.answer(session, key, f"{session} says {number}")
    elif what == "call":
        state = {
            "status": "running",
            "input": {"command": f"make {number}"},
            "time": {"start": START_MS + number},
        }
        tool = {"type": "tool", "callID": key, "tool": "bash"}
        writer.message(session, key, "assistant")
        writer.part(session, key, f"prt_{number:03}", **tool, state=state)
    elif what == "end":
        running = "SELECT id, message_id, session_id FROM part WHERE data LIKE '%running%'"
        for part, message, owner in writer.connection.execute(running).fetchall():
            done = {"status": "completed", "input": {"command": f"make {part[4:]}"}, "output": "ok"}
            call_id = f"msg_{part[4:]}"
            tool = {"type": "tool", "callID": call_id, "tool": "bash"}
            writer.part(owner, message, part, **tool, state=done)


@given(steps=STEPS, uses_log=st.booleans())
@settings(max_examples=40, deadline=None)
def test_growth_in_any_portions_gives_what_reading_at_the_end_gives(
    steps: list[tuple[int, str]], uses_log: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = OpenCodeWriter(Path(folder) / "opencode.db", wal=uses_log)
        for number in range(3):
            writer.session(f"ses_{number}")
        follower = Follower(writer.path)
        for number, (session, what) in enumerate(steps):
            if what == "read":
                follower.read()
            elif what == "again":
                # A daemon that died before it had stored anything reads the same once more.
                list(read_transcript(writer.path, checkpoint=follower.checkpoint, final=False))
            else:
                write(writer, f"ses_{session}", what, number)
        follower.read()
        at_once = Follower(writer.path)
        at_once.read()
        writer.connection.close()
    followed = sorted(follower.events.values(), key=lambda event: (event.session_id, event.seq))
    whole = sorted(at_once.events.values(), key=lambda event: (event.session_id, event.seq))
    assert [(e.id, e.text, e.seq) for e in followed] == [(e.id, e.text, e.seq) for e in whole]


@given(cut=st.integers(0, 2**16), put_in=st.binary(max_size=64), keeps_rest=st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_damage_of_a_database_ends_in_a_crash(cut: int, put_in: bytes, keeps_rest: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = OpenCodeWriter(Path(folder) / "opencode.db")
        writer.connection.execute("BEGIN")
        for number in range(3):
            writer.session(f"ses_{number}")
            for turn in range(4):
                writer.prompt(f"ses_{number}", f"msg_{number}{turn}", "words " * 200)
        writer.connection.execute("COMMIT")
        writer.connection.close()
        whole = writer.path.read_bytes()
        place = 16 + cut % (len(whole) - 16)
        rest = whole[place + len(put_in) :] if keeps_rest else b""
        writer.path.write_bytes(whole[:place] + put_in + rest)
        try:
            for batch in read_transcript(writer.path):
                assert all(event.session_id for event in batch.events)
        except (BadInput, Busy):
            pass
