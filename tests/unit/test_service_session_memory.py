"""The worker's copy of a session is used only where it is the session."""

from __future__ import annotations

from hindsight_daemon.model import Event
from hindsight_daemon.service.session_memory import ReadEvents, StoredEvents


def _event(number: int, session: str = "S", text: str = "said") -> Event:
    return Event(
        id=f"{session}:{number}",
        agent="a",
        session_id=session,
        seq=number,
        role="user",
        kind="prompt",
        text=text,
    )


def test_events_come_back_in_order_once() -> None:
    read = ReadEvents()
    read.take([_event(2), _event(1)])
    read.take([_event(3), _event(1, "other")])
    assert read.let_go("S", 3) == (_event(1), _event(2), _event(3))
    assert read.let_go("S", 3) is None


def test_another_count_means_that_the_copy_is_no_use() -> None:
    read = ReadEvents()
    read.take([_event(1), _event(2)])
    assert read.let_go("S", 3) is None


def test_the_sessions_read_first_go_first_when_there_is_no_room() -> None:
    read = ReadEvents(limit_bytes=100_000)
    for number in range(4):
        read.take([_event(1, f"S{number}", "x" * 30_000)])
    assert read.let_go("S0", 1) is None
    assert read.let_go("S3", 1) is not None


def test_a_session_with_a_known_event_is_not_counted_on() -> None:
    stored = StoredEvents()
    stored.note([_event(1), _event(2)], [_event(1), _event(2)])
    assert stored.count_of("S") == 2
    stored.note([_event(2), _event(3)], [_event(3)])
    assert stored.count_of("S") == 0
    stored.note([_event(4)], [_event(4)])
    assert stored.count_of("S") == 0


def test_a_renamed_session_is_not_counted_on() -> None:
    stored = StoredEvents()
    renamed = Event(
        id="S:1", agent="a", session_id="S@shop", seq=1, role="user", kind="prompt", text="said"
    )
    stored.note([_event(1)], [renamed])
    assert stored.count_of("S") == 0
    assert stored.count_of("S@shop") == 0
