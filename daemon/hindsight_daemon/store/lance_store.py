"""LanceStore: the `Store` that the daemon uses, a journal in front of LanceDB tables.

Runs on one event loop. Every read lays the unfolded rows over what the tables say; what it takes
from the overlay is taken before the table is asked, so a row that is folded meanwhile is seen in
one place at least, and counted once.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from hindsight_daemon.clock import Clock
from hindsight_daemon.config import StoreSettings
from hindsight_daemon.errors import BadInput, Busy, DiskFull, HindsightError, StorageFailed
from hindsight_daemon.model import (
    Checkpoint,
    Event,
    Held,
    HeldState,
    HistoryEntry,
    Key,
    Memory,
    MemoryKind,
    SessionState,
    Tombstone,
    WorkingState,
)
from hindsight_daemon.store import judge_rows
from hindsight_daemon.store.bm25 import TermStatistics, score
from hindsight_daemon.store.event_search import events_near, search_events
from hindsight_daemon.store.fold import Folder
from hindsight_daemon.store.health import StoreHealth
from hindsight_daemon.store.journal import Journal
from hindsight_daemon.store.journal_read import JournalReads
from hindsight_daemon.store.journal_write import BatchWriter, KeyFill, KeyVectors, text_digest
from hindsight_daemon.store.lance import Lance
from hindsight_daemon.store.outbox import Floats, Op, OutboxRow, Table
from hindsight_daemon.store.overlay import Overlay
from hindsight_daemon.store.port import (
    EventFilter,
    JudgeJob,
    JudgeUse,
    KeyHit,
    RecallRecord,
    SearchFilter,
    StoreProblem,
    StoreStats,
    WriteBatch,
)
from hindsight_daemon.store.record_cache import (
    KEYS_BYTES,
    MEMORIES_BYTES,
    RecordCache,
    key_bytes,
    memory_bytes,
)
from hindsight_daemon.store.upkeep import Upkeep
from hindsight_daemon.store.where import conditions, lance_literal, matches

log = logging.getLogger(__name__)

BACKLOG_ROWS = 20_000
BACKLOG_BYTES = 40 * 1024 * 1024
_EVENTS_AT_ONCE = 500
_OVERFETCH_LIMIT = 200


class Parts(msgspec.Struct, frozen=True):
    """What `open_store` has put together."""

    uri: str
    local: Path | None
    settings: StoreSettings
    clock: Clock
    journal: Journal
    lance: Lance
    overlay: Overlay
    statistics: TermStatistics
    next_seq: int
    replay_through: dict[Table, int]
    problems: list[StoreProblem]


class LanceStore:
    """The store of one daemon; see `store.port.Store` for what its methods promise."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._journal = parts.journal
        self._reads = JournalReads(parts.journal)
        self._lance = parts.lance
        self._overlay = parts.overlay
        self._memories = RecordCache(MEMORIES_BYTES, memory_bytes)
        self._keys_seen = RecordCache(KEYS_BYTES, key_bytes)
        self._writer = BatchWriter(parts.next_seq)
        self._projects = self._reads.projects()
        self._dimensions = self._reads.dimensions()
        self._upkeep = Upkeep(parts.journal, parts.lance, parts.clock)
        self._folder = Folder(
            parts.journal, parts.lance, parts.overlay, self._upkeep, parts.replay_through
        )
        self._health = StoreHealth(
            parts.uri, parts.local, parts.journal, parts.lance, parts.overlay
        )
        self._background: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start folding and what else runs beside the calls; not for a reader."""
        self._folder.start()
        task = asyncio.create_task(self._settle_in(), name="store-settle-in")
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _settle_in(self) -> None:
        """Learn term frequencies, read every row once and bring catalog and tables together."""
        try:
            async for batch in self._lance.batches(Table.KEYS, ["terms"]):
                await asyncio.to_thread(
                    self._parts.statistics.add_all, batch.column("terms").to_pylist()
                )
            self._parts.problems.extend(await self._folder.reconcile())
        except HindsightError as exc:
            problem = StoreProblem(where="store", what=exc.message, severity="error")
            self._parts.problems.append(problem)
        for problem in self._parts.problems:
            log.warning("%s: %s (%s)", problem.where, problem.what, problem.severity)

    # Writing

    async def commit(self, batch: WriteBatch) -> None:
        """Make the batch durable; concurrent commits may share one transaction."""
        self._refuse_if_full()
        while self._overlay.pending() > BACKLOG_ROWS or self._overlay.size_bytes > BACKLOG_BYTES:
            await self._folder.drained()
            if self._folder.is_failing:
                raise Busy(f"the tables cannot be written: {self._folder.last_failure}")
        vectors = self._given_vectors(batch)
        if not batch.fresh_vectors:
            vectors.update(await self._kept_vectors(batch.keys, vectors))
        now = self._parts.clock.now()

        def job(db: sqlite3.Connection) -> list[OutboxRow]:
            return self._writer.write(db, batch, vectors, now)

        await self._journal.run(job, self._show)

    def _show(self, rows: list[OutboxRow]) -> None:
        for row in rows:
            if row.table is Table.MEMORIES:
                if isinstance(row.record, Memory):
                    self._memories.put(row.record)
                    self._projects.add(row.record.project)
                else:
                    self._memories.drop([row.id])
            elif row.table is Table.KEYS:
                self._keys_seen.drop([row.id])
            if isinstance(row.record, Key):
                self._keys_seen.put(row.record)
                self._projects.add(row.record.project)
                if row.op is Op.ADD:
                    self._parts.statistics.add(row.record.terms)
        self._overlay.apply(rows)
        if rows:
            self._folder.notify()

    def _refuse_if_full(self) -> None:
        folders = {self._journal.path.parent, self._parts.local or self._journal.path.parent}
        for folder in folders:
            try:
                free = shutil.disk_usage(folder).free
            except OSError as exc:
                raise StorageFailed(f"folder `{folder}`: {exc.strerror}") from exc
            if free < self._parts.settings.reserve_bytes:
                raise DiskFull(
                    f"only {free} bytes are free in `{folder}`,"
                    f" {self._parts.settings.reserve_bytes} are kept in reserve"
                )

    def _given_vectors(self, batch: WriteBatch) -> dict[str, KeyVectors]:
        given: dict[str, KeyVectors] = {}
        rows: list[Key | Tombstone] = [*batch.keys, *batch.tombstones]
        for row in rows:
            if row.vector is not None:
                vector = self._checked(row.vector, row.embedder, keyed=isinstance(row, Key))
                given[row.id] = KeyVectors(vector, row.embedder)
        return given

    def _checked(self, values: Sequence[float], embedder: str, *, keyed: bool = True) -> Floats:
        vector = np.asarray(values, dtype=np.float32)
        if not embedder:
            raise BadInput("a vector came without the name of its embedder")
        if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
            raise BadInput(f"a vector of `{embedder}` holds no finite numbers")
        if keyed:
            expected = self._dimensions.setdefault(embedder, len(vector))
            if len(vector) != expected:
                raise BadInput(
                    f"a vector of `{embedder}` has {len(vector)} numbers, its others {expected}"
                )
        return vector

    async def _kept_vectors(
        self, keys: Sequence[Key], given: dict[str, KeyVectors]
    ) -> dict[str, KeyVectors]:
        """Return the vectors of keys that are written again with unchanged text."""
        bare = {key.id: key for key in keys if key.id not in given}
        kept: dict[str, KeyVectors] = {}
        wanted: dict[str, dict[str, int]] = {}
        for key_id, state in self._reads.key_states(list(bare)).items():
            if state.embedder and state.digest == text_digest(bare[key_id]):
                wanted.setdefault(state.embedder, {})[key_id] = state.rev
        for embedder, revs in wanted.items():
            for key_id, vector in (await self._vectors(list(revs), embedder)).items():
                kept[key_id] = KeyVectors(vector, embedder, revs[key_id])
        return kept

    async def _vectors(self, key_ids: Sequence[str], embedder: str) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        for key_id in key_ids:
            row = self._overlay.row(Table.KEYS, key_id)
            if row is not None and row.vector is not None:
                found[key_id] = row.vector
        missing = [key_id for key_id in key_ids if key_id not in found]
        if missing:
            found.update(await self._lance.vectors(missing, embedder))
        return found

    async def fill_vectors(self, vectors: dict[str, tuple[float, ...]], embedder: str) -> None:
        """Set the vectors of existing keys by key id; ids that are gone meanwhile are ignored."""
        self._refuse_if_full()
        checked = {key_id: self._checked(v, embedder) for key_id, v in vectors.items()}
        states = self._reads.key_states(list(checked))
        keys = {key.id: key for key in await self._keys(list(states))}
        fills = [KeyFill(keys[i], checked[i], states[i].rev) for i in states if i in keys]
        if not fills:
            return
        now = self._parts.clock.now()

        def job(db: sqlite3.Connection) -> list[OutboxRow]:
            return self._writer.fill(db, fills, embedder, now)

        await self._journal.run(job, self._show)

    # Memories

    async def answered(self, request_key: str) -> str | None:
        """Return the stored response of a request that was already carried out."""
        return self._reads.answered(request_key)

    async def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist among `ids` (full ids)."""
        existing = self._reads.existing(ids)
        found: dict[str, Memory] = {}
        missing: list[str] = []
        for memory_id in dict.fromkeys(ids):
            if memory_id not in existing:
                continue
            memory = self._overlay.memory(memory_id) or self._memories.get(memory_id)
            if memory is not None:
                found[memory_id] = memory
            else:
                missing.append(memory_id)
        if missing:
            rounds = self._folder.rounds
            for memory in await self._lance.by_column(Table.MEMORIES, "id", missing, Memory):
                changed = self._overlay.row(Table.MEMORIES, memory.id)
                found[memory.id] = memory
                # A change that was committed or folded while we read makes this copy an old one.
                if changed is None and rounds == self._folder.rounds:
                    self._memories.put(memory)
        return {memory_id: found[memory_id] for memory_id in ids if memory_id in found}

    async def resolve(self, prefix: str) -> str:
        """Return the one full id that starts with `prefix`; `NotFound` or `AmbiguousId`."""
        return self._reads.resolve(prefix)

    async def short_ids(self, ids: Sequence[str]) -> dict[str, str]:
        """Return for each id its shortest unique prefix, at least 8 characters."""
        return {memory_id: self._reads.short_id(memory_id) for memory_id in ids}

    async def list(
        self, where: SearchFilter, *, limit: int, before_id: str = ""
    ) -> Sequence[Memory]:
        """Return memories newest first (by id, which orders by time); page with `before_id`."""
        ids = self._reads.list_ids(where, self._projects, limit, before_id)
        return tuple((await self.get(ids)).values())

    async def same_content(self, content_hash: str, project: str) -> str | None:
        """Return the id of a live memory with this content hash in this project, if any."""
        return self._reads.same_content(content_hash, project)

    async def with_content(self, content_hashes: Sequence[str]) -> Sequence[str]:
        """Return the ids of all memories with one of these content hashes, in any project."""
        return tuple(self._reads.with_content(content_hashes))

    async def memories_of_session(
        self, session_id: str, kinds: Sequence[MemoryKind]
    ) -> Sequence[Memory]:
        """Return the memories of these kinds that came from a session."""
        return tuple((await self.get(self._reads.ids_of_session(session_id, kinds))).values())

    # Keys

    async def search_vector(
        self, vector: Sequence[float], embedder: str, where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        """Nearest keys of this embedder; score = cosine similarity."""
        floats = self._checked(vector, embedder) if embedder in self._dimensions else None
        if floats is None or limit < 1:
            return ()
        fresh = self._overlay.search_vector(floats, embedder, where, limit)
        hidden = self._overlay.hidden_keys()
        found = await self._lance.search_vector(
            floats, embedder, self._condition(where), limit + min(len(hidden), _OVERFETCH_LIMIT)
        )
        return await self._merged(fresh, found, hidden, where, limit)

    async def search_terms(
        self, terms: Sequence[str], where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        """Best keys by BM25 over `Key.terms` for the OR of `terms`."""
        unique = list(dict.fromkeys(term for text in terms for term in text.split()))
        if not unique or limit < 1:
            return ()
        fresh = self._overlay.search_terms(unique, where, limit)
        hidden = self._overlay.hidden_keys()
        found = await self._lance.search_terms(
            unique, self._condition(where), limit + min(len(hidden), _OVERFETCH_LIMIT)
        )
        hits = await self._merged(fresh, found, hidden, where, limit)
        if not fresh:
            return hits
        # The table scores by what it holds, the overlay by all there is: on a small table that is
        # being filled the two differ widely, so both are scored by the same statistics.
        statistics = self._parts.statistics
        same = [KeyHit(key=h.key, score=score(h.key.terms, unique, statistics)) for h in hits]
        return tuple(sorted(same, key=lambda hit: -hit.score))

    async def search_recent(self, where: SearchFilter, *, limit: int) -> Sequence[KeyHit]:
        """Newest keys; score = created_at as Unix seconds."""
        ids = self._reads.list_ids(where, self._projects, limit, "")
        keys = list(await self.keys_of(ids))
        keys.sort(key=lambda key: (key.created_at, key.memory_id, key.id), reverse=True)
        return tuple(KeyHit(key=key, score=key.created_at.timestamp()) for key in keys[:limit])

    def _condition(self, where: SearchFilter) -> str:
        return " AND ".join(conditions(where, self._projects, lance_literal))

    async def _merged(
        self,
        fresh: Sequence[KeyHit],
        found: Sequence[tuple[str, float]],
        hidden: frozenset[str],
        where: SearchFilter,
        limit: int,
    ) -> Sequence[KeyHit]:
        scores = {key_id: score for key_id, score in found if key_id not in hidden}
        # A key may have been changed or removed while the table was searched, so it is taken as
        # it is now and has to pass the filter once more.
        hits = [KeyHit(key=key, score=scores[key.id]) for key in await self._keys(list(scores))]
        hits = [hit for hit in (*fresh, *hits) if not self._overlay.is_removed_key(hit.key.id)]
        hits.sort(key=lambda hit: -hit.score)
        return tuple([hit for hit in hits if matches(where, hit.key)][:limit])

    async def keys_of(self, memory_ids: Sequence[str]) -> Sequence[Key]:
        """Return all keys of these memories, without their vectors."""
        return await self._keys(self._reads.key_ids_of(memory_ids))

    async def keys_without_vector(self, embedder: str, *, limit: int) -> Sequence[Key]:
        """Return keys with no vector of this embedder, distilled kinds first, then newest first."""
        ids = self._reads.keys_pending(embedder, limit)
        keys = {key.id: key for key in await self._keys(ids)}
        return tuple(keys[key_id] for key_id in ids if key_id in keys)

    async def _keys(self, key_ids: Sequence[str]) -> Sequence[Key]:
        found: dict[str, Key] = {}
        missing: list[str] = []
        for key_id in key_ids:
            row = self._overlay.row(Table.KEYS, key_id)
            if row is not None:
                if isinstance(row.record, Key):
                    found[key_id] = row.record
            elif (key := self._keys_seen.get(key_id)) is not None:
                found[key_id] = key
            else:
                missing.append(key_id)
        if missing:
            rounds = self._folder.rounds
            for key in await self._lance.by_column(Table.KEYS, "id", missing, Key):
                found[key.id] = key
                changed = self._overlay.row(Table.KEYS, key.id)
                if changed is None and rounds == self._folder.rounds:
                    self._keys_seen.put(key)
        return tuple(found[key_id] for key_id in key_ids if key_id in found)

    # Events and sessions

    async def known_events(self, event_ids: Sequence[str]) -> set[str]:
        """Return which of these event ids are already stored."""
        return self._reads.known_events(event_ids)

    async def events_of(self, session_id: str, *, after_seq: int = -1) -> AsyncIterator[Event]:
        """Iterate the events of a session in order of `seq`, a bounded number in memory."""
        fresh = self._overlay.events_of(session_id, after_seq)
        fresh_ids = {event.id for event in fresh}
        is_removed = self._overlay.removal_check()
        condition = f"session_id = {lance_literal(session_id)} AND seq > {int(after_seq)}"
        numbers = await self._lance.column_where(Table.EVENTS, ["seq"], condition)
        ordered = sorted(set(numbers.column("seq").to_pylist()))
        place = 0
        for start in range(0, len(ordered), _EVENTS_AT_ONCE):
            part = ordered[start : start + _EVENTS_AT_ONCE]
            events: list[Event] = await self._lance.records_where(
                Table.EVENTS, f"{condition} AND seq >= {part[0]} AND seq <= {part[-1]}"
            )
            # Rows folded since the look at the numbers may appear here as well as in `fresh`.
            events = [e for e in events if e.id not in fresh_ids and not is_removed(e.id)]
            while place < len(fresh) and fresh[place].seq <= part[-1]:
                events.append(fresh[place])
                place += 1
            for event in sorted(events, key=lambda event: (event.seq, event.id)):
                yield event
        for event in fresh[place:]:
            yield event

    async def events_by_id(self, event_ids: Sequence[str]) -> Sequence[Event]:
        """Return the stored events among `event_ids`."""
        found = {e.id: e for i in event_ids if (e := self._overlay.event(i)) is not None}
        missing = [
            event_id
            for event_id in event_ids
            if event_id not in found and not self._overlay.is_removed_event(event_id)
        ]
        if missing:
            for event in await self._lance.by_column(Table.EVENTS, "id", missing, Event):
                found[event.id] = event
        return tuple(found[event_id] for event_id in event_ids if event_id in found)

    async def events_near(
        self, session_id: str, seq: int, *, before: int, after: int
    ) -> Sequence[Event]:
        """Return the events at `seq` with those at so many numbers before and after, in order."""
        return await events_near(self._overlay, self._lance, session_id, seq, before, after)

    async def search_events(self, text: str, where: EventFilter, *, limit: int) -> Sequence[Event]:
        """Return events that hold `text` in any case, newest first, those without time last."""
        return await search_events(self._overlay, self._lance, text, where, limit)

    async def sessions(self, *, unconsolidated: bool = False) -> Sequence[SessionState]:
        """Return session states, newest activity first."""
        return tuple(self._reads.sessions(unconsolidated=unconsolidated))

    async def session(self, session_id: str) -> SessionState | None:
        """Return the state of one session."""
        return self._reads.session(session_id)

    async def checkpoint(self, path: str) -> Checkpoint | None:
        """Return the checkpoint of a transcript path."""
        return self._reads.checkpoint(path)

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """Return all checkpoints."""
        return tuple(self._reads.checkpoints())

    # Bookkeeping

    async def tombstones(self) -> Sequence[Tombstone]:
        """Return all tombstones."""
        return tuple(self._reads.tombstones())

    async def held(self, *, state: HeldState | None = None) -> Sequence[Held]:
        """Return what is or was held."""
        return tuple(self._reads.held(state))

    async def history(self, memory_id: str) -> Sequence[HistoryEntry]:
        """Return the journal lines of one memory, oldest first."""
        return tuple(self._reads.history(memory_id))

    async def recalls(self, *, limit: int, session_id: str = "") -> Sequence[RecallRecord]:
        """Return the newest recalls, of one session or of all; looks through `limit` at most."""
        return self._reads.recalls(limit, session_id)

    async def recall_record(self, recall_id: str) -> RecallRecord | None:
        """Return what a recall returned."""
        return self._reads.recall_record(recall_id)

    async def working(self, session_id: str = "") -> Sequence[WorkingState]:
        """Return the live state of one session, or of all; what was changed last first."""
        return tuple(self._reads.working(session_id))

    async def progress(self, prefix: str) -> dict[str, str]:
        """Return the notes of background work whose names start with `prefix`."""
        return self._reads.progress(prefix)

    async def judge_jobs(self, *, limit: int = 1000) -> Sequence[JudgeJob]:
        """Return the judge's jobs, those due first first."""
        return judge_rows.jobs(self._journal, limit)

    async def judge_use(self, since_day: str) -> Sequence[JudgeUse]:
        """Return what the judge cost from an ISO date on, by day, purpose and model."""
        return judge_rows.use(self._journal, since_day)

    async def judge_answer(self, key: str) -> str | None:
        """Return a kept answer of the judge; answers are kept for some months."""
        return judge_rows.answer(self._journal, key)

    async def stats(self) -> StoreStats:
        """Return counts and health; cheap enough to be asked every few seconds."""
        return await self._health.stats(self._folder, self._upkeep)

    async def check(self) -> Sequence[StoreProblem]:
        """Scan real rows of every table and report damage."""
        await asyncio.gather(*self._background)
        if not self._journal.read_only and not self._folder.is_failing:
            await self._folder.flush()
        return (*self._parts.problems, *self._folder.left_out, *await self._health.check())

    async def flush(self) -> None:
        """Fold everything committed so far into the tables."""
        await self._folder.flush()

    async def maintain(self, *, force: bool = False) -> bool:
        """Compact, index and prune if the policy says so; return whether anything was done."""
        return await self._folder.maintain(force=force)

    async def close(self) -> None:
        """Fold what is pending and release all files."""
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if not self._journal.read_only:
            await self._folder.stop()
        await asyncio.to_thread(self._journal.close)
        self._lance.close()
