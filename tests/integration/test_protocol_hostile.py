"""Malformed, oversized, half-sent and hostile frames: a coded error or a closed connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight_daemon.client import Client
from hindsight_daemon.protocol.frames import MAX_FRAME_BYTES
from hindsight_daemon.protocol.methods import METHODS
from tests.support.harness import RawConnection, running_daemon


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


@pytest.fixture
def socket_path(client: Client) -> Path:
    return Path(client.status().socket)


def _code(answer: dict[str, object] | None) -> str:
    assert answer is not None
    error = answer["error"]
    assert isinstance(error, dict)
    return str(error["data"]["code"])


def test_hostile_input_never_takes_the_daemon_down(client: Client, socket_path: Path) -> None:
    pid = client.status().pid

    # A first message that is not hello is answered with a code, then the connection ends.
    with RawConnection(socket_path) as raw:
        raw.send_message(id=1, method="daemon.status", params={})
        assert _code(raw.receive()) == "protocol.bad_frame"
        assert raw.receive() is None

    # Garbage before the handshake is answered and ends the connection.
    with RawConnection(socket_path) as raw:
        raw.send(b"\x00\xff\xfe not json\n")
        assert _code(raw.receive()) == "protocol.bad_frame"
        assert raw.receive() is None

    # After it, a bad line costs only itself.
    with RawConnection(socket_path) as raw:
        raw.hello()
        raw.send(b'{"jsonrpc":"2.0","id":1,"method":\n')
        assert _code(raw.receive()) == "protocol.bad_frame"
        raw.send_message(id=2, method="no.such.method", params={})
        answer = raw.receive()
        assert answer is not None and answer["error"]["code"] == -32601
        raw.send_message(id=3, method="memory.recall", params={"query": 5})
        answer = raw.receive()
        assert answer is not None and answer["error"]["code"] == -32602
        raw.send_message(id=4, method="daemon.status", params={})
        answer = raw.receive()
        assert answer is not None and answer["result"]["pid"] == pid

    # A line longer than the cap is refused without being kept.
    with RawConnection(socket_path, timeout_s=30) as raw:
        raw.hello()
        try:
            for _ in range(MAX_FRAME_BYTES // (1 << 20) + 2):
                raw.send(b"x" * (1 << 20))
        except ConnectionError:
            pass
        answer = raw.receive()
        assert answer is None or _code(answer) == "protocol.bad_frame"

    # A client that leaves in the middle of a line, or of a call, is forgotten.
    with RawConnection(socket_path) as raw:
        raw.hello()
        raw.send(b'{"jsonrpc":"2.0","id":1,')
    with RawConnection(socket_path) as raw:
        raw.hello()
        raw.send_message(id=1, method="memory.recall", params={"query": "left alone"})

    # No common protocol, and a capability nobody has.
    with RawConnection(socket_path) as raw:
        raw.send_message(
            id=0, method="hello", params={"client": "new", "protocol": {"min": 98, "max": 99}}
        )
        assert _code(raw.receive()) == "protocol.mismatch"
    with RawConnection(socket_path) as raw:
        raw.send_message(
            id=0,
            method="hello",
            params={"client": "x", "protocol": {"min": 1, "max": 1}, "required": ["telepathy"]},
        )
        assert _code(raw.receive()) == "protocol.mismatch"

    assert client.status().pid == pid


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
_SAFE = sorted(
    set(METHODS) - {"daemon.shutdown", "hello", "model.install", "daemon.sync", "events.subscribe"}
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_parameters_of_any_method_get_a_coded_answer(
    socket_path: Path, data: st.DataObject
) -> None:
    method = data.draw(st.sampled_from(_SAFE))
    fields = METHODS[method].params.__struct_fields__
    names = st.sampled_from([*fields, "unknown"]) if fields else st.just("unknown")
    params = data.draw(st.dictionaries(names, _VALUES, max_size=5) | _VALUES)
    with RawConnection(socket_path) as raw:
        raw.hello()
        raw.send(
            json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
            + b"\n"
        )
        answer = raw.receive()
        while answer is not None and "method" in answer:
            answer = raw.receive()
    assert answer is not None and answer["id"] == 7
    if "error" in answer:
        assert answer["error"]["data"]["code"] != "internal.bug", answer
