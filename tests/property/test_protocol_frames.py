"""Framing: any cutting of the stream gives the same lines, and no line outgrows the cap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.errors import BadFrame
from hindsight_daemon.protocol.envelope import decode_request
from hindsight_daemon.protocol.frames import LineBuffer

_LINES = st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=12)


@given(_LINES, st.lists(st.integers(1, 7), min_size=1, max_size=20))
def test_any_partition_of_the_stream_gives_the_same_lines(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer, seen, position, turn = LineBuffer(), [], 0, 0
    while position < len(stream):
        size = cuts[turn % len(cuts)]
        seen.extend(buffer.feed(stream[position : position + size]))
        position, turn = position + size, turn + 1
    assert seen == [line.strip() for line in lines if line.strip()]
    assert buffer.pending_bytes == 0


def _feed_all(buffer: LineBuffer, chunks: list[bytes]) -> None:
    for chunk in chunks:
        list(buffer.feed(chunk))


@given(st.integers(1, 100), st.integers(1, 30))
def test_a_line_beyond_the_cap_is_refused_before_it_is_whole(extra: int, step: int) -> None:
    buffer = LineBuffer(limit_bytes=64)
    data = b"x" * (64 + extra)
    with pytest.raises(BadFrame):
        _feed_all(buffer, [data[start : start + step] for start in range(0, len(data), step)])
    assert buffer.pending_bytes <= 64 + step


@given(st.binary(max_size=200))
def test_no_bytes_make_the_request_decoder_raise_anything_but_bad_frame(data: bytes) -> None:
    try:
        request = decode_request(data)
    except BadFrame:
        return
    assert isinstance(request.method, str)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b'{"method":"x","params":' + b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"id":1}', -32600),
        (b'{"method":5}', -32600),
        (b'{"jsonrpc":"1.0","method":"hello"}', -32600),
        (b'{"method":"hello","id":{}}', -32600),
    ],
)
def test_malformed_requests_tell_syntax_from_structure(line: bytes, code: int) -> None:
    with pytest.raises(BadFrame) as caught:
        decode_request(line)
    assert caught.value.detail["rpc"] == code
