"""Records to Arrow tables and back, column by column.

Imports pyarrow; loaded only together with the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from hindsight_daemon.model import Key, Record
from hindsight_daemon.store.outbox import (
    Floats,
    OutboxRow,
    Table,
    encode,
    from_micros,
    micros,
)
from hindsight_daemon.store.schema import (
    RECORD,
    RECORDS,
    SCHEMAS,
    TIME,
    WHOLE_RECORDS,
    field_types,
    is_nested,
    vector_column,
    vector_type,
)

R = TypeVar("R", bound=Record)

_decoders: dict[tuple[type[Record], str], msgspec.json.Decoder[Any]] = {
    (record_type, name): msgspec.json.Decoder(hint)
    for record_type in RECORDS.values()
    for name, hint in field_types(record_type).items()
    if is_nested(hint)
}
_encode = msgspec.json.Encoder().encode


def _json(value: object) -> str | None:
    return None if value is None or value == () else _encode(value).decode("utf-8")


def table_of(table: Table, rows: Sequence[OutboxRow]) -> pa.Table:
    """Build the Arrow table of records that are all of `table`.

    Keys get a vector column for every embedder among them; a key has at most one vector.
    """
    record_type = RECORDS[table]
    records: list[Any] = [row.record for row in rows]
    arrays: list[pa.Array] = []
    fields: list[pa.Field] = []
    for field in SCHEMAS[table]:
        if field.name == RECORD:
            arrays.append(pa.array([encode(record) for record in records], field.type))
        elif field.name == "vector":
            vectors = [None if row.vector is None else row.vector.tolist() for row in rows]
            arrays.append(pa.array(vectors, field.type))
        else:
            values = [getattr(record, field.name) for record in records]
            arrays.append(_column(values, field.type, (record_type, field.name) in _decoders))
        fields.append(field)
    if table is Table.KEYS:
        for embedder in sorted({row.record.embedder for row in rows if _has_vector(row)}):  # type: ignore[union-attr]
            arrays.append(_vectors([_vector_for(row, embedder) for row in rows]))
            fields.append(pa.field(vector_column(embedder), arrays[-1].type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _has_vector(row: OutboxRow) -> bool:
    return row.vector is not None and isinstance(row.record, Key)


def _vector_for(row: OutboxRow, embedder: str) -> Floats | None:
    is_its = isinstance(row.record, Key) and row.record.embedder == embedder
    return row.vector if is_its else None


def _column(values: list[Any], kind: pa.DataType, as_json: bool) -> pa.Array:
    if as_json:
        return pa.array([_json(value) for value in values], kind)
    if kind == TIME:
        numbers = [None if value is None else micros(value) for value in values]
        return pa.array(numbers, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _vectors(vectors: Sequence[Floats | None]) -> pa.Array:
    dimension = next(len(vector) for vector in vectors if vector is not None)
    matrix = np.zeros((len(vectors), dimension), dtype=np.float32)
    absent = np.ones(len(vectors), dtype=bool)
    for index, vector in enumerate(vectors):
        if vector is not None:
            matrix[index] = vector
            absent[index] = False
    return pa.FixedSizeListArray.from_arrays(
        pa.array(matrix.reshape(-1)), type=vector_type(dimension), mask=pa.array(absent)
    )


def columns_of(record_type: type[Record]) -> list[str]:
    """Return the table's columns that a record is rebuilt from; vectors are left out."""
    if record_type in WHOLE_RECORDS:
        return [RECORD]
    return [name for name in field_types(record_type) if name != "vector"]


def records_of(table: pa.Table, record_type: type[R]) -> list[R]:
    """Rebuild the records of a result; columns that it lacks take the field's default."""
    if record_type in WHOLE_RECORDS:
        decode = msgspec.msgpack.Decoder(record_type).decode
        return [decode(body) for body in table.column(RECORD).to_pylist()]
    names = [name for name in columns_of(record_type) if name in table.column_names]
    columns = [_values(table.column(name), (record_type, name)) for name in names]
    return [
        record_type(**dict(zip(names, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]


def _values(column: pa.ChunkedArray, place: tuple[type[Record], str]) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        values: list[Any] = column.cast(pa.int64()).to_pylist()
        values = [None if value is None else from_micros(value) for value in values]
    else:
        values = column.to_pylist()
        if decoder := _decoders.get(place):
            values = [None if value is None else decoder.decode(value) for value in values]
        elif pa.types.is_list(column.type):
            values = [None if value is None else tuple(value) for value in values]
    if column.null_count:
        default = _default(*place)
        values = [default if value is None else value for value in values]
    return values


def _default(record_type: type[Record], name: str) -> Any:
    for field in msgspec.structs.fields(record_type):
        if field.name == name and field.default is not msgspec.NODEFAULT:
            return field.default
    return None
