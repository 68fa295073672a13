"""The LanceDB tables: opened, written, searched. The only module that imports lancedb.

Import it late and off the event loop: loading the engine costs seconds. Rows may be behind the
journal; `lance_store` lays the unfolded ones over what is found here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_CPU_THREADS", "2")
os.environ.setdefault("LANCE_IO_THREADS", "4")

import lancedb
import pyarrow as pa
from lancedb.index import FTS, Bitmap, BTree, IvfRq
from lancedb.query import MatchQuery

from hindsight_daemon.config import StoreSettings
from hindsight_daemon.model import Record
from hindsight_daemon.store.failures import engine_errors
from hindsight_daemon.store.outbox import Floats, OutboxRow, Table
from hindsight_daemon.store.rows import columns_of, records_of, table_of
from hindsight_daemon.store.schema import (
    BITMAP,
    BTREE,
    FULL_TEXT,
    RECORDS,
    SCHEMAS,
    vector_column,
)
from hindsight_daemon.store.sweep import SyncSweep
from hindsight_daemon.store.where import in_list, lance_literal

R = TypeVar("R", bound=Record)

_IDS_PER_STATEMENT = 500
_TERMS_LIMIT = 96
_PROBES = 50
_PROBES_LARGE = 200
_LARGE_ROWS = 300_000
_REFINE = 10


class IndexState(Record, frozen=True, kw_only=True):
    """An index of a table: its column and how many rows it covers and lacks."""

    name: str
    column: str
    kind: str
    indexed: int
    unindexed: int


class Lance:
    """All tables of one store."""

    def __init__(self, connection: Any, local: Path | None, *, read_only: bool) -> None:
        self._connection = connection
        self._local = local
        self._read_only = read_only
        self._tables: dict[Table, Any] = {}
        self._columns: dict[Table, list[str]] = {}
        self._vector_columns: set[str] = set()
        self._sweeps: dict[Table, SyncSweep] = {}
        self._key_rows = 0

    @classmethod
    async def connect(
        cls, uri: str, local: Path | None, settings: StoreSettings, *, read_only: bool
    ) -> Lance:
        """Connect to `uri`; `local` is its folder if it is one. Tables are opened by `open`."""
        with engine_errors(f"store `{uri}`"):
            session = lancedb.Session(
                index_cache_size_bytes=settings.cache_bytes,
                metadata_cache_size_bytes=settings.cache_bytes // 16,
            )
            connection = await lancedb.connect_async(uri, session=session)
        return cls(connection, local, read_only=read_only)

    async def open(self, table: Table, *, is_synced: bool) -> None:
        """Open a table, or create it with its full-text index; a reader leaves it out instead.

        Unless `is_synced`, its files are synced first: a killed process may have left some that
        later versions of the table will refer to.
        """
        with engine_errors(f"table `{table.label}`"):
            if table.label in await self._names():
                handle = await self._connection.open_table(table.label)
            elif self._read_only:
                return
            else:
                handle = await self._connection.create_table(
                    table.label, schema=SCHEMAS[table], exist_ok=True
                )
                if table is Table.KEYS:
                    await handle.create_index(FULL_TEXT, config=_full_text())
            self._tables[table] = handle
            names = set((await handle.schema()).names)
            missing = [field for field in SCHEMAS[table] if field.name not in names]
            if missing and not self._read_only:
                await handle.add_columns(missing)
                names |= {field.name for field in missing}
            self._columns[table] = [n for n in columns_of(RECORDS[table]) if n in names]
            if table is Table.KEYS:
                self._vector_columns = {name for name in names if name.startswith("vector_")}
                self._key_rows = await handle.count_rows()
        if self._local is not None and not self._read_only:
            self._sweeps[table] = SyncSweep(self.folder(table))
            sweep = self._sweeps[table]
            await asyncio.to_thread(sweep.mark_all if is_synced else sweep.sync)

    async def _names(self) -> list[str]:
        names: list[str] = []
        token: str | None = None
        while True:
            page = await self._connection.list_tables(page_token=token)
            names.extend(page.tables)
            token = page.page_token
            if not token:
                return names

    def folder(self, table: Table) -> Path:
        """Return the folder of a table of a local store."""
        assert self._local is not None
        return self._local / f"{table.label}.lance"

    @property
    def is_local(self) -> bool:
        """Whether the tables are files of this machine."""
        return self._local is not None

    def close(self) -> None:
        """Release all tables."""
        for handle in self._tables.values():
            handle.close()
        self._tables.clear()
        self._connection.close()

    async def write(
        self,
        table: Table,
        *,
        add: Sequence[OutboxRow] = (),
        upsert: Sequence[OutboxRow] = (),
        remove: Sequence[str] = (),
    ) -> None:
        """Write rows: `add` must be new ids, `upsert` may exist, `remove` may be gone."""
        handle = self._tables[table]
        with engine_errors(f"table `{table.label}`"):
            for ids in _chunks(remove):
                await handle.delete(in_list("id", ids, lance_literal))
            if upsert:
                rows = await self._arrow(table, upsert, every_column=True)
                await (
                    handle.merge_insert("id")
                    .when_matched_update_all()
                    .when_not_matched_insert_all()
                    # The engine refuses a missing vector as a bad one unless it is told to keep it.
                    .execute(rows, on_bad_vectors="null")
                )
            if add:
                await handle.add(await self._arrow(table, add, every_column=False))

    async def unfoldable(self, table: Table, rows: Sequence[OutboxRow]) -> dict[int, str]:
        """Return the rows that no table could hold, by number, with the reason."""
        return await asyncio.to_thread(_unfoldable, table, rows)

    async def _arrow(
        self, table: Table, rows: Sequence[OutboxRow], *, every_column: bool
    ) -> pa.Table:
        # Off the loop: a thousand events take some 20 ms to become columns.
        built = await asyncio.to_thread(table_of, table, rows)
        if table is not Table.KEYS:
            return built
        for field in built.schema:
            if field.name.startswith("vector_") and field.name not in self._vector_columns:
                await self._tables[table].add_columns(field)
                self._vector_columns.add(field.name)
        if every_column:
            # A replaced key must not keep the vector that another model gave its old text.
            schema = await self._tables[table].schema()
            for name in sorted(self._vector_columns - set(built.schema.names)):
                built = built.append_column(name, pa.nulls(built.num_rows, schema.field(name).type))
        return built

    async def sync(self, table: Table) -> None:
        """Make the last commits of a local table survive a power loss."""
        if table in self._sweeps:
            with engine_errors(f"table `{table.label}`"):
                await asyncio.to_thread(self._sweeps[table].sync)

    async def by_column(
        self, table: Table, column: str, values: Sequence[str], record_type: type[R]
    ) -> list[R]:
        """Return the records whose text `column` is among `values`."""
        handle = self._tables.get(table)
        found: list[R] = []
        if handle is None:
            return found
        with engine_errors(f"table `{table.label}`"):
            for part in _chunks(values):
                query = handle.query().where(in_list(column, part, lance_literal))
                result = await query.select(self._columns[table]).to_arrow()
                found.extend(records_of(result, record_type))
        return found

    async def vectors(self, key_ids: Sequence[str], embedder: str) -> dict[str, Floats]:
        """Return the stored vectors of this embedder among these keys."""
        column = vector_column(embedder)
        found: dict[str, Floats] = {}
        if column not in self._vector_columns:
            return found
        with engine_errors("table `keys`"):
            for part in _chunks(key_ids):
                query = self._tables[Table.KEYS].query()
                condition = f"{in_list('id', part, lance_literal)} AND {column} IS NOT NULL"
                result = await query.where(condition).select(["id", column]).to_arrow()
                flat = result.combine_chunks().column(column)
                for key_id, vector in zip(result.column("id").to_pylist(), flat, strict=True):
                    found[key_id] = vector.values.to_numpy().copy()
        return found

    async def search_vector(
        self, vector: Floats, embedder: str, condition: str, limit: int
    ) -> list[tuple[str, float]]:
        """Return the ids of the nearest keys with their cosine similarity, best first."""
        column = vector_column(embedder)
        if column not in self._vector_columns:
            return []
        with engine_errors("vector search"):
            query = (
                self._tables[Table.KEYS]
                .query()
                .nearest_to(vector)
                .column(column)
                .distance_type("cosine")
                .nprobes(_PROBES_LARGE if self._key_rows > _LARGE_ROWS else _PROBES)
                .refine_factor(_REFINE)
                .where(condition)
                .limit(limit)
                .select(["id", "_distance"])
            )
            result = await query.to_arrow()
        scores = [1.0 - distance for distance in result.column("_distance").to_pylist()]
        return list(zip(result.column("id").to_pylist(), scores, strict=True))

    async def search_terms(
        self, terms: Sequence[str], condition: str, limit: int
    ) -> list[tuple[str, float]]:
        """Return the ids of the best keys by BM25 with their scores, best first."""
        if Table.KEYS not in self._tables:
            return []
        with engine_errors("keyword search"):
            query = (
                self._tables[Table.KEYS]
                .query()
                .nearest_to_text(MatchQuery(" ".join(terms[:_TERMS_LIMIT]), FULL_TEXT))
                .where(condition)
                .limit(limit)
                .select(["id", "_score"])
            )
            result = await query.to_arrow()
        scores = [float(score) for score in result.column("_score").to_pylist()]
        return list(zip(result.column("id").to_pylist(), scores, strict=True))

    async def column_where(self, table: Table, columns: Sequence[str], condition: str) -> pa.Table:
        """Return some columns of the rows that meet a condition (empty: all rows)."""
        handle = self._tables.get(table)
        if handle is None:
            return SCHEMAS[table].empty_table().select(list(columns))
        with engine_errors(f"table `{table.label}`"):
            query = handle.query().select(list(columns))
            return await (query.where(condition) if condition else query).to_arrow()

    async def records_where(self, table: Table, condition: str) -> list[Any]:
        """Return the records that meet a condition."""
        if table not in self._tables:
            return []
        result = await self.column_where(table, self._columns[table], condition)
        return records_of(result, RECORDS[table])

    async def batches(
        self,
        table: Table,
        columns: Sequence[str] | dict[str, str],
        condition: str = "",
        *,
        batch_rows: int | None = None,
    ) -> AsyncIterator[pa.RecordBatch]:
        """Iterate some columns of a table's rows (all, or those that meet a condition).

        A dict of columns maps names to SQL expressions; reads real rows.
        """
        handle = self._tables.get(table)
        if handle is None:
            return
        chosen = columns if isinstance(columns, dict) else list(columns)
        with engine_errors(f"table `{table.label}`"):
            query = handle.query().select(chosen)
            query = query.where(condition) if condition else query
            async for batch in await query.to_batches(max_batch_length=batch_rows):
                yield batch

    async def count(self, table: Table, condition: str | None = None) -> int:
        """Return how many rows a table holds."""
        handle = self._tables.get(table)
        if handle is None:
            return 0
        with engine_errors(f"table `{table.label}`"):
            return int(await handle.count_rows(condition))

    async def shape(self, table: Table) -> tuple[int, int]:
        """Return rows and fragments of a table."""
        handle = self._tables.get(table)
        if handle is None:
            return 0, 0
        with engine_errors(f"table `{table.label}`"):
            stats = await handle.stats()
        return int(stats["num_rows"]), int(stats["fragment_stats"]["num_fragments"])

    async def live_bytes(self, table: Table) -> int:
        """Return the size of the rows of the newest version."""
        with engine_errors(f"table `{table.label}`"):
            return int((await self._tables[table].stats())["total_bytes"])

    async def indices(self, table: Table) -> list[IndexState]:
        """Return the indices of a table."""
        handle = self._tables[table]
        with engine_errors(f"table `{table.label}`"):
            return [
                IndexState(
                    name=index.name,
                    column=index.columns[0],
                    kind=index.index_type,
                    indexed=index.num_indexed_rows or 0,
                    unindexed=index.num_unindexed_rows or 0,
                )
                for index in await handle.list_indices()
            ]

    def vector_columns(self) -> list[str]:
        """Return the vector columns of KEYS."""
        return sorted(self._vector_columns)

    async def dimensions(self, embedders: Sequence[str]) -> dict[str, int]:
        """Return the vector length of those embedders that have a column."""
        if not self._vector_columns:
            return {}
        schema = await self._tables[Table.KEYS].schema()
        columns = {name: vector_column(name) for name in embedders}
        return {
            name: int(schema.field(column).type.list_size)
            for name, column in columns.items()
            if column in self._vector_columns
        }

    async def create_index(self, table: Table, column: str) -> None:
        """Build the index that belongs to a column, replacing one that is there."""
        if column.startswith("vector_"):
            config: Any = IvfRq(distance_type="cosine")
        elif column == FULL_TEXT:
            config = _full_text()
        elif column in BITMAP[table]:
            config = Bitmap()
        else:
            assert column in BTREE[table], column
            config = BTree()
        with engine_errors(f"index on `{table.label}.{column}`"):
            await self._tables[table].create_index(column, config=config, replace=True)

    async def optimize(self, table: Table, keep_versions_for: timedelta) -> None:
        """Compact fragments, bring indices up to date and drop old versions."""
        with engine_errors(f"compaction of `{table.label}`"):
            await self._tables[table].optimize(cleanup_older_than=keep_versions_for)
        if table is Table.KEYS:
            self._key_rows = await self.count(Table.KEYS)


def _unfoldable(table: Table, rows: Sequence[OutboxRow]) -> dict[int, str]:
    found: dict[int, str] = {}
    for row in rows:
        try:
            if row.record is not None:
                table_of(table, [row])
        except (TypeError, ValueError, AttributeError, OverflowError) as exc:
            found[row.seq] = f"{type(exc).__name__}: {exc}"
    return found


def _full_text() -> FTS:
    return FTS(
        with_position=False,
        base_tokenizer="whitespace",
        max_token_length=400,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )


def _chunks(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[i : i + _IDS_PER_STATEMENT] for i in range(0, len(values), _IDS_PER_STATEMENT)]
