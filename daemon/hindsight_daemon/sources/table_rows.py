"""What database sources share: recognising tables, columns that may be missing, session marks.

For `sources` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight_daemon.sources.json_text import decode_json
from hindsight_daemon.sources.port import DATABASE_HEAD, SqlValue, Tables

_SURE = 0.95
ROW_ID = "rowid"
_VALUES_AT_ONCE = 500


def tables_score(head: str, wanted: Mapping[str, str]) -> float:
    """Rate a database by whether it has the wanted tables with the wanted columns (by spaces)."""
    if not head.startswith(DATABASE_HEAD):
        return 0.0
    found: dict[str, set[str]] = {}
    for line in head.split("\n")[1:]:
        table, _, columns = line.partition(": ")
        found[table] = set(columns.split(" "))
    fits = all(set(columns.split()) <= found.get(table, set()) for table, columns in wanted.items())
    return _SURE if fits else 0.0


def named_row(
    tables: Tables, table: str, wanted: Iterable[str], where: str, *values: SqlValue
) -> dict[str, Any]:
    """Return the wanted columns of one row, without those that the table has not or that are NULL.

    Empty if there is no such row. `where` and `table` are a source's own words, never data.
    """
    names = [name for name in wanted if name in tables.columns(table)]
    if not names:
        return {}
    listed = ", ".join(f'"{name}"' for name in names)
    found = tables.row(f'SELECT {listed} FROM "{table}" WHERE {where} LIMIT 1', *values)
    if found is None:
        return {}
    return {name: value for name, value in zip(names, found, strict=True) if value is not None}


def keys_of(
    tables: Tables, table: str, column: str, where: str, order: Iterable[str], *values: SqlValue
) -> list[Any]:
    """Return one column (or `rowid`) of the fitting rows, ordered by the columns there are."""
    columns = tables.columns(table)
    if column not in columns and not (columns and column == ROW_ID):
        return []
    by = ", ".join(f'"{name}"' for name in order if name in columns) or f'"{column}"'
    query = f'SELECT "{column}" FROM "{table}" WHERE {where} ORDER BY {by}'
    return [key for (key,) in tables.rows(query, *values)]


def marks_by(
    tables: Tables, table: str, group: str, *maxima: str, among: Sequence[str] | None = None
) -> dict[str, str]:
    """Return for each value of column `group` how many rows it has and the maxima of columns.

    Deleted rows move the count, changed ones the maximum of a time, and rows that were put in
    place of others the maximum of `rowid`. `among` asks for these values only.
    """
    columns = tables.columns(table)
    if group not in columns:
        return {}
    wanted = "".join(f', MAX("{name}")' for name in maxima if name in columns or name == ROW_ID)
    query = f'SELECT "{group}", COUNT(*){wanted} FROM "{table}"'
    if among is None:
        return _marks(tables.rows(f'{query} GROUP BY "{group}"'))
    found: dict[str, str] = {}
    for start in range(0, len(among), _VALUES_AT_ONCE):
        part = among[start : start + _VALUES_AT_ONCE]
        marks = ", ".join("?" for _ in part)
        found |= _marks(
            tables.rows(f'{query} WHERE "{group}" IN ({marks}) GROUP BY "{group}"', *part)
        )
    return found


def _marks(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    return {str(key): ":".join(map(str, rest)) for key, *rest in rows}


def json_value(value: Any) -> Any:
    """Return the value of JSON in a column of type TEXT or BLOB, None if there is none."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    try:
        return decode_json(value)
    except ValueError:
        return None
