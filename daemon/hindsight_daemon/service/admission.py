"""The one way in for distilled memories: merged, set in place of an older one, or added.

`remember`, consolidation, generalisation, imports and whatever else writes statements hand their
memories to an `Admission` and commit what it collected. What becomes of each is decided by
`engine.admission`; here the known memories are looked up and the batch is put together. The gate
must have been asked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from hindsight_daemon.engine.admission import (
    STATEMENT_KINDS,
    Finding,
    compare,
    doubted,
    said_at,
    strengthened,
)
from hindsight_daemon.engine.generalise import is_generalised
from hindsight_daemon.model import HistoryEntry, Key, Memory, Record
from hindsight_daemon.service.likeness import LikenessIndex, words_of
from hindsight_daemon.service.services import Services
from hindsight_daemon.store.port import SearchFilter, WriteBatch

CANDIDATES = 24
"""Keys looked at for each new memory; what says the same or contradicts shares its rare words."""

_RETIRED = ("superseded", "contradicted", "archived")

Outcome = Literal["added", "merged", "superseded"]


class Admitted(Record, frozen=True, kw_only=True):
    """What became of one memory.

    `memory` is the one that now stands for the statement: the new one, or the known one that it
    was merged into. With `superseded` it took the place of `affected`. `added` memories may
    themselves be superseded at once (an older statement told late) or be in conflict with
    `conflicts`; `reason` says so.
    """

    outcome: Outcome
    memory: Memory
    affected: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    reason: str = ""


class Admission:
    """Collects the changes of one write; to be used within `async with services.admission_lock`.

    Memories admitted earlier in the same write are known to those that follow.
    """

    def __init__(self, s: Services, *, actor: str, why: str = "") -> None:
        self._s = s
        self._why = why
        self._actor = actor
        self._memories: dict[str, Memory] = {}
        self._keys: dict[str, tuple[Key, ...]] = {}
        self._history: list[HistoryEntry] = []
        self._told: list[tuple[str, str]] = []
        self._new: set[str] = set()
        self._likeness = LikenessIndex()

    @property
    def memories(self) -> dict[str, Memory]:
        """What will be written, by id."""
        return self._memories

    async def admit(
        self,
        memory: Memory,
        keys: Sequence[Key],
        *,
        action: str = "remembered",
        why: str = "",
        instead_of: Collection[str] = (),
    ) -> Admitted:
        """Take one statement in; `action` and `why` go into its history if it is added.

        A memory whose id is known already is a new revision of itself: it keeps what became of
        it meanwhile, such as a successor. `instead_of` are ids that this write removes or writes
        anew, so that there is nothing to compare with.
        """
        why = why or self._why
        former = (await self._known([memory.id])).get(memory.id)
        if former is not None:
            memory = _revised(former, memory)
        if memory.status in _RETIRED or memory.kind not in STATEMENT_KINDS:
            self._add(memory, keys, action, why, former)
            return Admitted(outcome="added", memory=memory, affected=(memory.id,))
        findings = [
            (known, compare(memory, known)) for known in await self._near(memory, instead_of)
        ]
        same = [(known, found) for known, found in findings if found.verdict == "same"]
        if same:
            return await self._merge(memory, *_best(same))
        late = await self._told_late(memory)
        if late is not None:
            return await self._merge(
                memory, late, Finding(verdict="same", reason="known, and replaced since then")
            )
        return await self._place(memory, keys, findings, action, why, former)

    def batch(self, *, history: Iterable[HistoryEntry] = (), **more: Any) -> WriteBatch:
        """Return all of it as one write; `more` are the other fields that the batch is to have."""
        return WriteBatch(
            memories=tuple(self._memories.values()),
            keys=tuple(key for keys in self._keys.values() for key in keys),
            replace_keys_of=tuple(i for i in self._keys if i in self._new),
            history=(*self._history, *history),
            **more,
        )

    def publish(self) -> None:
        """Tell the listeners; to be called when the batch is written."""
        for what, memory_id in self._told:
            if (memory := self._memories.get(memory_id)) is not None:
                self._s.happenings.publish_memory(what, memory)  # type: ignore[arg-type]

    # What is known

    async def _known(self, ids: Iterable[str]) -> dict[str, Memory]:
        wanted = [i for i in ids if i]
        found = {i: self._memories[i] for i in wanted if i in self._memories}
        found.update(await self._s.store.get([i for i in wanted if i not in found]))
        return {i: found[i] for i in wanted if i in found}

    async def _near(self, memory: Memory, ignored: Collection[str]) -> list[Memory]:
        """Return live statements that may say the same or the opposite, exact ones first."""
        now = self._s.clock.now()
        exact = await self._s.store.same_content(memory.content_hash, memory.project)
        fresh = self._likeness.near(memory.project, memory.text, limit=CANDIDATES)
        ids = dict.fromkeys([exact or "", *fresh, *await self._alike(memory)])
        known = await self._known(i for i in ids if i != memory.id)
        return [
            one
            for one in known.values()
            # What was generalised holds the words of its supports and is rebuilt from them.
            if one.status not in _RETIRED
            and not is_generalised(one)
            and (one.expires_at is None or one.expires_at > now)
            and (one.id in self._memories or one.id not in ignored)
            and _has_same_readers(one, memory)
        ]

    async def _alike(self, memory: Memory) -> list[str]:
        """Return ids of stored statements that share words; from the tables until all are known."""
        likeness = self._s.likeness
        if likeness.is_complete:
            return likeness.near(memory.project, memory.text, limit=CANDIDATES)
        where = SearchFilter(
            now=self._s.clock.now(), projects=(memory.project,), kinds=STATEMENT_KINDS
        )
        self._s.fill_likeness()
        words = words_of(memory.text)
        hits = await self._s.store.search_terms(sorted(words), where, limit=CANDIDATES)
        return [hit.key.memory_id for hit in hits]

    async def _told_late(self, memory: Memory) -> Memory | None:
        """Return a replaced memory of the same text that `memory` tells nothing newer than."""
        ids = await self._s.store.with_content([memory.content_hash])
        for known in (await self._known(ids)).values():
            if (
                known.id != memory.id
                and known.status == "superseded"
                and known.project == memory.project
                and _has_same_readers(known, memory)
                and (known.valid_to is None or said_at(memory) <= known.valid_to)
                and compare(memory, known).verdict == "same"
            ):
                return known
        return None

    # What is done

    async def _merge(self, memory: Memory, known: Memory, finding: Finding) -> Admitted:
        merged = strengthened(known, memory, now=self._s.clock.now())
        if merged is not known:
            await self._change(known, merged, "merged", finding.reason)
        return Admitted(
            outcome="merged", memory=merged, affected=(known.id,), reason=finding.reason
        )

    async def _place(
        self,
        memory: Memory,
        keys: Sequence[Key],
        findings: Sequence[tuple[Memory, Finding]],
        action: str,
        why: str,
        former: Memory | None,
    ) -> Admitted:
        older = [pair for pair in findings if pair[1].verdict == "replaces"]
        newer = [pair for pair in findings if pair[1].verdict == "replaced"]
        clashing = [pair for pair in findings if pair[1].verdict == "clashes"]
        older.sort(key=lambda pair: said_at(pair[0]), reverse=True)
        reason = ""
        for known, finding in older:
            await self._change(
                known,
                replaced_by(known, memory, finding.reason, now=self._s.clock.now()),
                "superseded",
                f"by {memory.id}: {finding.reason}",
            )
            reason = reason or finding.reason
        if older:
            memory = msgspec.structs.replace(
                memory,
                supersedes=older[0][0].id,
                also_supersedes=tuple(known.id for known, _ in older[1:]),
            )
        for known, finding in clashing:
            others = tuple(dict.fromkeys([*known.conflicts_with, memory.id]))
            flagged = msgspec.structs.replace(known, conflicts_with=others)
            await self._change(known, flagged, "conflict", finding.reason)
            reason = reason or finding.reason
            memory = doubted(memory, known)
        memory = msgspec.structs.replace(
            memory,
            conflicts_with=tuple(
                dict.fromkeys([*memory.conflicts_with, *(known.id for known, _ in clashing)])
            ),
        )
        if newer:
            successor, finding = min(newer, key=lambda pair: said_at(pair[0]))
            memory = replaced_by(memory, successor, finding.reason, now=self._s.clock.now())
            reason = reason or f"older than `{successor.id}`, which holds: {finding.reason}"
        keys = [rekeyed(key, memory) for key in keys]
        self._add(memory, keys, action, why or reason, former)
        conflicts = tuple(known.id for known, _ in clashing)
        if older:
            affected = (memory.id, *(known.id for known, _ in older))
            return Admitted(
                outcome="superseded",
                memory=memory,
                affected=affected,
                conflicts=conflicts,
                reason=reason,
            )
        affected = (memory.id, *(known.id for known, _ in newer))
        return Admitted(
            outcome="added", memory=memory, affected=affected, conflicts=conflicts, reason=reason
        )

    def _add(
        self, memory: Memory, keys: Sequence[Key], action: str, why: str, former: Memory | None
    ) -> None:
        self._memories[memory.id] = memory
        self._keys[memory.id] = tuple(keys)
        self._new.add(memory.id)
        if memory.kind in STATEMENT_KINDS:
            self._likeness.add(memory)
        self._history.append(self._entry(action, memory, why, former))
        if former is None:
            self._told.append(("added", memory.id))

    async def _change(self, known: Memory, changed: Memory, action: str, reason: str) -> None:
        """Write a known memory anew, its keys along, because searches filter by their columns."""
        self._memories[known.id] = changed
        keys = self._keys.get(known.id) or await self._s.store.keys_of([known.id])
        self._keys[known.id] = tuple(rekeyed(key, changed) for key in keys)
        self._history.append(self._entry(action, changed, reason, known))
        if action in ("merged", "superseded"):
            self._told.append((action, known.id))

    def _entry(
        self, action: str, memory: Memory, reason: str, before: Memory | None
    ) -> HistoryEntry:
        return HistoryEntry(
            at=self._s.clock.now(),
            actor=self._actor,
            action=action,
            memory_id=memory.id,
            reason=reason,
            before=msgspec.json.encode(before).decode() if before else "",
            after=msgspec.json.encode(memory).decode(),
        )


def replaced_by(known: Memory, successor: Memory, reason: str, *, now: datetime) -> Memory:
    """Return `known` retired in favour of `successor`; it held until that one began to."""
    return msgspec.structs.replace(
        known,
        status="superseded",
        verdict_reason=reason,
        superseded_by=successor.id,
        valid_to=max(said_at(successor), said_at(known)),
        updated_at=now,
        version=known.version + 1,
    )


def rekeyed(key: Key, memory: Memory) -> Key:
    """Return a key with the columns that it takes from its memory brought up to date."""
    return msgspec.structs.replace(
        key,
        created_at=memory.valid_from or memory.created_at,
        scope=memory.scope,
        status=memory.status,
        importance_score=memory.importance_score,
        confidence=memory.confidence,
        expires_at=memory.expires_at,
    )


def _revised(former: Memory, memory: Memory) -> Memory:
    """Return a new revision of a memory with what became of the former one."""
    if memory.kind not in STATEMENT_KINDS:
        return msgspec.structs.replace(
            memory,
            created_at=former.created_at,
            pinned=former.pinned or memory.pinned,
            version=former.version + 1,
        )
    return msgspec.structs.replace(
        memory,
        created_at=former.created_at,
        status=former.status if former.status in _RETIRED else memory.status,
        verdict_reason=former.verdict_reason,
        supersedes=former.supersedes,
        also_supersedes=former.also_supersedes,
        superseded_by=former.superseded_by,
        conflicts_with=former.conflicts_with,
        valid_to=former.valid_to,
        pinned=former.pinned or memory.pinned,
        confidence=max(former.confidence, memory.confidence),
        evidence=(
            *memory.evidence,
            *(link for link in former.evidence if link not in memory.evidence),
        ),
        derived_from=tuple(dict.fromkeys([*memory.derived_from, *former.derived_from])),
        version=former.version + 1,
    )


def _has_same_readers(one: Memory, other: Memory) -> bool:
    # What an agent noted for itself neither merges with nor replaces what others read: they would
    # see it, or lose what they know to something they cannot see.
    if one.scope == "private" or other.scope == "private":
        return one.scope == other.scope and one.agent == other.agent
    return True


def _best(same: Sequence[tuple[Memory, Finding]]) -> tuple[Memory, Finding]:
    return max(same, key=lambda pair: (pair[0].pinned, pair[0].confidence))
