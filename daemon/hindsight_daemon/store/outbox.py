"""The rows that pass from the journal to the LanceDB tables: their names, operations and bodies.

Pure. A row is self-contained: whichever operation came last for an id decides what the table
will hold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hindsight_daemon.model import Event, Key, Memory, Tombstone, ToolCall

Floats = npt.NDArray[np.float32]
Row = Memory | Key | Event | ToolCall | Tombstone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

encode = msgspec.msgpack.Encoder().encode


class Table(IntEnum):
    """The LanceDB tables, by their number in the journal."""

    MEMORIES = 1
    KEYS = 2
    EVENTS = 3
    TOOL_CALLS = 4
    TOMBSTONES = 5

    @property
    def label(self) -> str:
        """Name of the table in LanceDB."""
        return self.name.lower()


class Op(IntEnum):
    """What a row does: `ADD` is a write of an id that the table cannot hold yet."""

    ADD = 1
    PUT = 2
    REMOVE = 3


class OutboxRow(msgspec.Struct, frozen=True):
    """One change of one row; `record` is None for `REMOVE`.

    Keys and tombstones carry their vector beside the record, which has none.
    """

    seq: int
    table: Table
    op: Op
    id: str
    record: Row | None = None
    vector: Floats | None = None


_DECODERS: dict[Table, msgspec.msgpack.Decoder[Any]] = {
    Table.MEMORIES: msgspec.msgpack.Decoder(Memory),
    Table.KEYS: msgspec.msgpack.Decoder(Key),
    Table.EVENTS: msgspec.msgpack.Decoder(Event),
    Table.TOOL_CALLS: msgspec.msgpack.Decoder(ToolCall),
    Table.TOMBSTONES: msgspec.msgpack.Decoder(Tombstone),
}


def decode_row(
    seq: int, table: int, op: int, row_id: str, body: bytes | None, vector: bytes | None
) -> OutboxRow:
    """Rebuild a row from its columns in the journal."""
    where = Table(table)
    record = None if body is None else _DECODERS[where].decode(body)
    floats = None if vector is None else np.frombuffer(vector, dtype=np.float32)
    return OutboxRow(seq, where, Op(op), row_id, record, floats)


def micros(at: datetime) -> int:
    """Return a time as microseconds since 1970 UTC."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """Return the time that `micros` gave."""
    return _EPOCH + timedelta(microseconds=value)
