"""Framing: one UTF-8 JSON object a line, at most `MAX_FRAME_BYTES` with its newline.

Public; pure bytes, no sockets, so that both ends and the fuzz tests share it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hindsight_daemon.errors import BadFrame

MAX_FRAME_BYTES = 8 * 1024 * 1024


class LineBuffer:
    """Collects received bytes and hands out complete lines.

    Raises `BadFrame` once a line grows past the cap; the connection must then be closed, since
    the rest of that line cannot be told from the next message.
    """

    def __init__(self, limit_bytes: int = MAX_FRAME_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._size_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """Bytes of the unfinished last line."""
        return self._size_bytes

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield each line that `data` completes, without newline; blank lines are passed over."""
        while data:
            head, newline, data = data.partition(b"\n")
            self._size_bytes += len(head)
            if self._size_bytes >= self._limit_bytes:
                raise BadFrame(f"a message is longer than {self._limit_bytes} bytes")
            self._parts.append(head)
            if not newline:
                return
            line = b"".join(self._parts).strip()
            self._parts.clear()
            self._size_bytes = 0
            if line:
                yield line
