"""Arrow schemas of the LanceDB tables, derived from the records; which column has which index.

Imports pyarrow; loaded only together with the engine. A field that a record gains becomes a
column at the next open, null in older rows. Nested records are JSON texts.
"""

from __future__ import annotations

import hashlib
import re
import types
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from hindsight_daemon.model import Event, Key, Memory, Record, Tombstone, ToolCall
from hindsight_daemon.store.outbox import Table

TIME = pa.timestamp("us", tz="UTC")

_PLAIN: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: TIME,
    tuple[str, ...]: pa.list_(pa.string()),
    tuple[float, ...]: pa.list_(pa.float32()),
}
_COMPRESSED = {b"lance-encoding:compression": b"zstd", b"lance-encoding:compression-level": b"3"}
_COMPRESSED_COLUMNS = {(Event, "text"), (Event, "tool"), (Event, "origin")}

RECORD = "record"
"""Column with the whole record as MessagePack, vectors left out."""
WHOLE_RECORDS: tuple[type[Record], ...] = (Memory, Key)
"""Records that reads rebuild from `RECORD`: a column costs as much to fetch as a row, so fifty of
them are too slow for recall. The plain columns serve filters, indices and other programs."""

RECORDS: dict[Table, type[Record]] = {
    Table.MEMORIES: Memory,
    Table.KEYS: Key,
    Table.EVENTS: Event,
    Table.TOOL_CALLS: ToolCall,
    Table.TOMBSTONES: Tombstone,
}


def without_none(hint: Any) -> Any:
    """Return `X` for `X | None`, and other types as they are."""
    if get_origin(hint) in (Union, types.UnionType):
        rest = [part for part in get_args(hint) if part is not type(None)]
        return rest[0] if len(rest) == 1 else hint
    return hint


def column_type(hint: Any) -> pa.DataType:
    """Return the Arrow type for a field's type; what has none of its own is JSON text."""
    plain = without_none(hint)
    if get_origin(plain) is Literal:
        return pa.string()
    return _PLAIN.get(plain, pa.string())


def is_nested(hint: Any) -> bool:
    """Tell whether a field is kept as JSON text."""
    plain = without_none(hint)
    return plain not in _PLAIN and get_origin(plain) is not Literal


def field_types(record_type: type[Record]) -> dict[str, Any]:
    """Return the types of the fields that are plain columns, in order."""
    hints = get_type_hints(record_type)
    names = record_type.__struct_fields__
    return {n: hints[n] for n in names if not (record_type is Key and n == "vector")}


def _schema(record_type: type[Record]) -> pa.Schema:
    fields = [
        pa.field(
            name,
            column_type(hint),
            metadata=_COMPRESSED if (record_type, name) in _COMPRESSED_COLUMNS else None,
        )
        for name, hint in field_types(record_type).items()
    ]
    if record_type in WHOLE_RECORDS:
        fields.append(pa.field(RECORD, pa.binary(), metadata=_COMPRESSED))
    return pa.schema(fields)


SCHEMAS: dict[Table, pa.Schema] = {table: _schema(record) for table, record in RECORDS.items()}
"""The keys' vector columns join when the first vector of an embedder arrives."""

BTREE: dict[Table, tuple[str, ...]] = {
    Table.MEMORIES: ("id", "session_id", "created_at"),
    Table.KEYS: ("id", "memory_id", "session_id", "created_at"),
    Table.EVENTS: ("id", "session_id"),
    Table.TOOL_CALLS: ("id", "session_id"),
    Table.TOMBSTONES: (),
}
BITMAP: dict[Table, tuple[str, ...]] = {
    Table.MEMORIES: ("kind", "status"),
    Table.KEYS: ("project", "kind", "layer", "status", "scope", "embedder"),
    Table.EVENTS: (),
    Table.TOOL_CALLS: (),
    Table.TOMBSTONES: (),
}
FULL_TEXT = "terms"
"""Column of KEYS that the keyword arm searches."""


def vector_column(embedder: str) -> str:
    """Return the column of KEYS for an embedder's vectors; distinct embedders never share one."""
    slug = re.sub(r"[^a-z0-9]+", "_", embedder.lower()).strip("_")[:40]
    return f"vector_{slug}_{hashlib.sha256(embedder.encode('utf-8')).hexdigest()[:6]}"


def vector_type(dimension: int) -> pa.DataType:
    """Return the type of a vector column."""
    return pa.list_(pa.float32(), dimension)
