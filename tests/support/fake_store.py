"""A store that lives in memory and passes the same contract tests as the real one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence

from msgspec import structs

from hindsight_daemon.errors import AmbiguousId, BadInput, NotFound
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
    ToolCall,
    WorkingState,
)
from hindsight_daemon.store import event_match
from hindsight_daemon.store.port import (
    EventFilter,
    JudgeJob,
    JudgeUse,
    KeyHit,
    RecallRecord,
    SearchFilter,
    StoreProblem,
    StoreStats,
    TableStats,
    WriteBatch,
)
from hindsight_daemon.store.where import matches


def _shared(left: str, right: str) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


class FakeStore:
    """Dictionaries behind the `Store` protocol; brute force everywhere."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.keys: dict[str, Key] = {}
        self.events: dict[str, Event] = {}
        self.tool_calls: dict[str, ToolCall] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._held: dict[str, Held] = {}
        self._history: list[HistoryEntry] = []
        self._checkpoints: dict[str, Checkpoint] = {}
        self._sessions: dict[str, SessionState] = {}
        self._recalls: dict[str, RecallRecord] = {}
        self._responses: dict[str, str] = {}
        self._working: dict[str, WorkingState] = {}
        self._progress: dict[str, str] = {}
        self._dimensions: dict[str, int] = {}
        self._dropped: set[str] = set()
        self._judge_jobs: dict[str, JudgeJob] = {}
        self._judge_use: dict[tuple[str, str, str], JudgeUse] = {}
        self._judge_answers: dict[str, str] = {}

    async def commit(self, batch: WriteBatch) -> None:
        for key in batch.keys:
            if key.vector is not None:
                self._check(key.vector, key.embedder)
        written = {key.id for key in batch.keys}
        dropped = {*batch.removed, *batch.replace_keys_of}
        self.keys = {
            i: k for i, k in self.keys.items() if k.memory_id not in dropped or i in written
        }
        for memory_id in batch.removed:
            self.memories.pop(memory_id, None)
        self.memories.update({memory.id: memory for memory in batch.memories})
        for key in batch.keys:
            old = self.keys.get(key.id)
            if key.vector is None:
                key = structs.replace(key, embedder="")
                kept = old is not None and old.vector is not None and not batch.fresh_vectors
                if old is not None and kept and old.text == key.text:
                    key = structs.replace(key, vector=old.vector, embedder=old.embedder)
            self.keys[key.id] = key
        for event in batch.events:
            if event.id not in self._dropped:
                self.events.setdefault(event.id, event)
        self.events.update({event.id: event for event in batch.grown if event.id in self.events})
        for event_id in batch.dropped_events:
            self.events.pop(event_id, None)
        self._dropped.update(batch.dropped_events)
        self.tool_calls.update({call.id: call for call in batch.tool_calls})
        for tombstone_id in batch.lifted:
            self._tombstones.pop(tombstone_id, None)
        self._tombstones.update({tombstone.id: tombstone for tombstone in batch.tombstones})
        self._held.update({held.id: held for held in batch.held})
        self._history.extend(batch.history)
        self._checkpoints.update({c.path: c for c in batch.checkpoints})
        self._sessions.update({s.session_id: s for s in batch.sessions})
        self._recalls.update({r.recall_id: r for r in batch.recalls})
        self._working.update({state.session_id: state for state in batch.working})
        for session_id in batch.working_gone:
            self._working.pop(session_id, None)
        noted = {**self._progress, **batch.progress}
        self._progress = {name: value for name, value in noted.items() if value}
        for done, digest in batch.judge_done.items():
            if done in self._judge_jobs and self._judge_jobs[done].digest == digest:
                del self._judge_jobs[done]
        self._judge_jobs.update({job.id: job for job in batch.judge_jobs})
        for use in batch.judge_use:
            key = (use.day, use.purpose, use.model)
            old = self._judge_use.get(key)
            if old is not None:
                use = structs.replace(
                    use,
                    calls=old.calls + use.calls,
                    failures=old.failures + use.failures,
                    tokens_in=old.tokens_in + use.tokens_in,
                    tokens_out=old.tokens_out + use.tokens_out,
                )
            self._judge_use[key] = use
        self._judge_answers.update(batch.judge_answers)
        if batch.request_key:
            self._responses.setdefault(batch.request_key, batch.response)

    def _check(self, vector: Sequence[float], embedder: str) -> None:
        if not embedder or not vector or not all(map(math.isfinite, vector)):
            raise BadInput("not a vector")
        if self._dimensions.setdefault(embedder, len(vector)) != len(vector):
            raise BadInput("wrong length of vector")

    async def answered(self, request_key: str) -> str | None:
        return self._responses.get(request_key)

    async def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        return {i: self.memories[i] for i in ids if i in self.memories}

    async def resolve(self, prefix: str) -> str:
        wanted = prefix.strip().lower()
        found = sorted(i for i in self.memories if wanted and i.startswith(wanted))
        if not found:
            raise NotFound(f"no memory has the id `{prefix}`")
        if len(found) > 1 and found[0] != wanted:
            raise AmbiguousId(f"the id `{prefix}` fits several memories")
        return found[0]

    async def short_ids(self, ids: Sequence[str]) -> dict[str, str]:
        def short(memory_id: str) -> str:
            shared = max(
                (_shared(memory_id, i) for i in self.memories if i != memory_id), default=0
            )
            return memory_id[: max(8, shared + 1)]

        return {memory_id: short(memory_id) for memory_id in ids}

    async def list(
        self, where: SearchFilter, *, limit: int, before_id: str = ""
    ) -> Sequence[Memory]:
        found = sorted((i for i, m in self.memories.items() if matches(where, m)), reverse=True)
        found = [i for i in found if not before_id or i < before_id]
        return tuple(self.memories[i] for i in found[:limit])

    async def same_content(self, content_hash: str, project: str) -> str | None:
        dead = ("superseded", "contradicted", "archived")
        found = [
            m.id
            for m in self.memories.values()
            if m.content_hash == content_hash and m.project == project and m.status not in dead
        ]
        return max(found) if found and content_hash else None

    async def with_content(self, content_hashes: Sequence[str]) -> Sequence[str]:
        wanted = set(content_hashes) - {""}
        return tuple(sorted(m.id for m in self.memories.values() if m.content_hash in wanted))

    def _hits(self, scores: dict[str, float], limit: int) -> Sequence[KeyHit]:
        order = sorted(scores, key=lambda i: (-scores[i], i))[:limit]
        return tuple(
            KeyHit(key=structs.replace(self.keys[i], vector=None), score=scores[i]) for i in order
        )

    async def search_vector(
        self, vector: Sequence[float], embedder: str, where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        scores: dict[str, float] = {}
        for key in self.keys.values():
            if key.vector is not None and key.embedder == embedder and matches(where, key):
                dot = sum(a * b for a, b in zip(key.vector, vector, strict=True))
                norm = math.hypot(*key.vector) * math.hypot(*vector)
                scores[key.id] = dot / norm if norm else 0.0
        return self._hits(scores, limit)

    async def search_terms(
        self, terms: Sequence[str], where: SearchFilter, *, limit: int
    ) -> Sequence[KeyHit]:
        wanted = {word for term in terms for word in term.split()}
        texts = {key.id: Counter(key.terms.split()) for key in self.keys.values()}
        average = sum(t.total() for t in texts.values()) / max(1, len(texts))
        scores: dict[str, float] = {}
        for word in sorted(wanted):
            holders = [i for i, counts in texts.items() if word in counts]
            weight = math.log(1 + (len(texts) - len(holders) + 0.5) / (len(holders) + 0.5))
            for i in holders:
                if matches(where, self.keys[i]):
                    count, length = texts[i][word], texts[i].total()
                    norm = 1.2 * (0.25 + 0.75 * length / average)
                    scores[i] = scores.get(i, 0.0) + weight * count * 2.2 / (count + norm)
        return self._hits(scores, limit)

    async def search_recent(self, where: SearchFilter, *, limit: int) -> Sequence[KeyHit]:
        scores = {k.id: k.created_at.timestamp() for k in self.keys.values() if matches(where, k)}
        return self._hits(scores, limit)

    async def keys_of(self, memory_ids: Sequence[str]) -> Sequence[Key]:
        found = [k for k in self.keys.values() if k.memory_id in memory_ids]
        return tuple(structs.replace(k, vector=None) for k in found)

    async def keys_without_vector(self, embedder: str, *, limit: int) -> Sequence[Key]:
        found = [k for k in self.keys.values() if k.embedder != embedder]
        found.sort(key=lambda k: (k.kind == "turn", -k.created_at.timestamp(), k.id))
        return tuple(structs.replace(k, vector=None) for k in found[:limit])

    async def fill_vectors(self, vectors: dict[str, tuple[float, ...]], embedder: str) -> None:
        for key_id, vector in vectors.items():
            self._check(vector, embedder)
            if key := self.keys.get(key_id):
                self.keys[key_id] = structs.replace(key, vector=vector, embedder=embedder)

    async def known_events(self, event_ids: Sequence[str]) -> set[str]:
        return {i for i in event_ids if i in self.events or i in self._dropped}

    async def events_of(self, session_id: str, *, after_seq: int = -1) -> AsyncIterator[Event]:
        found = [
            e for e in self.events.values() if e.session_id == session_id and e.seq > after_seq
        ]
        for event in sorted(found, key=lambda e: (e.seq, e.id)):
            yield event

    async def events_by_id(self, event_ids: Sequence[str]) -> Sequence[Event]:
        return tuple(self.events[i] for i in event_ids if i in self.events)

    async def events_near(
        self, session_id: str, seq: int, *, before: int, after: int
    ) -> Sequence[Event]:
        events = [e for e in self.events.values() if e.session_id == session_id]
        numbers = sorted({e.seq for e in events})
        lower = [n for n in numbers if n < seq]
        wanted = set(lower[len(lower) - min(before, len(lower)) :]) | {seq}
        wanted |= set([n for n in numbers if n > seq][:after])
        return tuple(sorted((e for e in events if e.seq in wanted), key=lambda e: (e.seq, e.id)))

    async def search_events(self, text: str, where: EventFilter, *, limit: int) -> Sequence[Event]:
        needle = text.lower()
        found = [
            e for e in self.events.values() if needle and event_match.matches(needle, where, e)
        ]
        found.sort(
            key=lambda e: event_match.order_of(e.ts, e.session_id, e.seq, e.id), reverse=True
        )
        return tuple(found[: max(0, limit)])

    async def sessions(self, *, unconsolidated: bool = False) -> Sequence[SessionState]:
        found = [
            s
            for s in self._sessions.values()
            if not unconsolidated or s.events > s.consolidated_events
        ]

        def last(state: SessionState) -> float:
            moment = state.last_at or state.last_seen_at or state.first_at
            return moment.timestamp() if moment else 0.0

        return tuple(sorted(found, key=lambda s: (-last(s), s.session_id)))

    async def session(self, session_id: str) -> SessionState | None:
        return self._sessions.get(session_id)

    async def checkpoint(self, path: str) -> Checkpoint | None:
        return self._checkpoints.get(path)

    async def checkpoints(self) -> Sequence[Checkpoint]:
        return tuple(self._checkpoints[path] for path in sorted(self._checkpoints))

    async def memories_of_session(
        self, session_id: str, kinds: Sequence[MemoryKind]
    ) -> Sequence[Memory]:
        found = [
            m
            for m in self.memories.values()
            if m.session_id == session_id and (not kinds or m.kind in kinds)
        ]
        return tuple(sorted(found, key=lambda m: m.id))

    async def tombstones(self) -> Sequence[Tombstone]:
        return tuple(sorted(self._tombstones.values(), key=lambda t: (t.since, t.id)))

    async def held(self, *, state: HeldState | None = None) -> Sequence[Held]:
        found = [h for h in self._held.values() if state is None or h.state == state]
        return tuple(sorted(found, key=lambda h: (h.since, h.id)))

    async def history(self, memory_id: str) -> Sequence[HistoryEntry]:
        return tuple(h for h in self._history if h.memory_id == memory_id)

    async def recall_record(self, recall_id: str) -> RecallRecord | None:
        return self._recalls.get(recall_id)

    async def working(self, session_id: str = "") -> Sequence[WorkingState]:
        found = [w for w in self._working.values() if session_id in ("", w.session_id)]
        return tuple(sorted(found, key=lambda w: (-w.updated_at.timestamp(), w.session_id)))

    async def progress(self, prefix: str) -> dict[str, str]:
        return {n: self._progress[n] for n in sorted(self._progress) if n.startswith(prefix)}

    async def judge_jobs(self, *, limit: int = 1000) -> Sequence[JudgeJob]:
        return sorted(self._judge_jobs.values(), key=lambda job: (job.at, job.id))[:limit]

    async def judge_use(self, since_day: str) -> Sequence[JudgeUse]:
        return [use for key, use in sorted(self._judge_use.items()) if key[0] >= since_day]

    async def judge_answer(self, key: str) -> str | None:
        return self._judge_answers.get(key)

    async def stats(self) -> StoreStats:
        by: dict[str, dict[str, int]] = {
            name: dict(Counter(getattr(m, name) for m in self.memories.values()))
            for name in ("layer", "kind", "status")
        }
        embedders = Counter(k.embedder for k in self.keys.values())
        pending = embedders.pop("", 0)
        rows = {
            "memories": len(self.memories),
            "keys": len(self.keys),
            "events": len(self.events),
            "tool_calls": len(self.tool_calls),
            "tombstones": len(self._tombstones),
        }
        return StoreStats(
            uri="memory",
            size_bytes=0,
            tables={name: TableStats(rows=n) for name, n in rows.items()},
            pending_fold=0,
            pending_vectors=pending,
            memories_by=by,
            events=len(self.events),
            sessions=len(self._sessions),
            tombstones=len(self._tombstones),
            held=sum(h.state == "held" for h in self._held.values()),
            sources=dict(Counter(e.agent for e in self.events.values())),
            embedders=dict(embedders),
        )

    async def check(self) -> Sequence[StoreProblem]:
        return ()

    async def flush(self) -> None:
        return None

    async def maintain(self, *, force: bool = False) -> bool:
        return force

    async def close(self) -> None:
        return None
