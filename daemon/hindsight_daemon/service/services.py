"""What every use case works with: store, models, settings, clock, and the state between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from hindsight_daemon.clock import Clock
from hindsight_daemon.config import Settings
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.engine.admission import STATEMENT_KINDS
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.paths import Paths
from hindsight_daemon.process import rss_bytes
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import StatusResult
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.gate import Gate
from hindsight_daemon.service.given import Given
from hindsight_daemon.service.happening_bus import HappeningBus
from hindsight_daemon.service.judging import Judging
from hindsight_daemon.service.likeness import LikenessIndex
from hindsight_daemon.service.worker import Worker
from hindsight_daemon.store.open import open_store
from hindsight_daemon.store.port import SearchFilter, Store, WriteBatch

_SETTLE_LOOK_S = 0.5


class Services:
    """The daemon's working set; one for each process."""

    def __init__(
        self,
        store: Store,
        models: ModelHost,
        gate: Gate,
        settings: Settings,
        paths: Paths,
        clock: Clock,
        *,
        read_only: bool = False,
    ) -> None:
        self.store = store
        self.models = models
        self.gate = gate
        self.settings = settings
        self.paths = paths
        self.clock = clock
        self.read_only = read_only
        self.ingest_lock = asyncio.Lock()
        self.admission_lock = asyncio.Lock()
        self.likeness = LikenessIndex()
        self._fills_likeness = False
        self.vectors_wanted = asyncio.Event()
        self.vectors_settled = asyncio.Event()
        self.component_failures: dict[str, str] = {}
        self.watching: list[str] = []
        self.consolidation_wanted = asyncio.Event()
        self.full_sessions: set[str] = set()
        self.consolidation = ""
        """What the run of consolidation that is under way was started by, empty if none is."""
        self.stirred_projects: set[str] | None = None
        """Projects whose lessons changed since they were looked at; None: any may have."""
        self.source_alarms: list[Notice] = []
        self.retention: dict[str, int] = {"runs": 0, "sessions": 0, "events": 0, "bytes": 0}
        self.stop_when_idle: Callable[[], None] = lambda: None
        self.started_at = clock.now()
        self.has_told_no_model = False
        self.worker = Worker()
        self.happenings = HappeningBus(clock)
        self.judging = Judging(settings.judge, store, clock, paths.state_dir / "judge")
        self.given = Given(store)
        self._loose: set[asyncio.Task[None]] = set()

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work whose outcome no caller waits for; a failure is shown in the status."""
        task = asyncio.get_running_loop().create_task(work)
        self._loose.add(task)

        def done(finished: asyncio.Task[None]) -> None:
            self._loose.discard(finished)
            if not finished.cancelled() and (failure := finished.exception()) is not None:
                self.component_failures["background"] = f"{type(failure).__name__}: {failure}"

        task.add_done_callback(done)

    def fill_likeness(self) -> None:
        """Begin to take the stored statements into the index of likeness, unless that goes on."""
        if not self._fills_likeness:
            self._fills_likeness = True
            self.in_background(self._fill_likeness())

    async def _fill_likeness(self) -> None:
        try:
            where = SearchFilter(now=self.clock.now(), kinds=STATEMENT_KINDS)
            await self.likeness.fill(self.store, where)
        finally:
            self._fills_likeness = False

    async def conflicted(self) -> list[str]:
        """Return the ids of statements that say otherwise than another one."""
        if not self.likeness.is_complete:
            await self._fill_likeness()
        return sorted(self.likeness.conflicted)

    async def write(self, batch: WriteBatch) -> None:
        """Commit a batch; new keys wake the embedder, new tombstones reach the gate."""
        await self.store.commit(batch)
        for memory in batch.memories:
            if memory.kind in STATEMENT_KINDS:
                self.likeness.note(memory)
        self.gate.learn(batch.tombstones, lifted=batch.lifted, held=batch.held)
        if self.stirred_projects is not None:
            if batch.removed:
                self.stirred_projects = None
            else:
                distilled = (m.project for m in batch.memories if m.kind != "turn")
                self.stirred_projects.update(distilled)
        if batch.keys:
            self.vectors_settled.clear()
            self.vectors_wanted.set()

    async def describe(self, status: StatusResult) -> None:
        """Fill in what the status of an open store says."""
        stats = await self.store.stats()
        status.store_uri = stats.uri
        status.embedder = self.models.model_id or "none"
        if self.models.sends_to:
            text = f"texts of memories and queries are sent to {self.models.sends_to}, redacted"
            status.warnings.append(Notice(code="embedder.remote", message=text))
        status.embedder_loaded = self.models.is_loaded
        status.pending_vectors = stats.pending_vectors if self.models.model_id else 0
        status.pending_fold = stats.pending_fold
        status.judge = self.judging.in_words()
        status.watching = list(self.watching)
        status.warnings.extend(self.source_alarms)
        for name, problem in self.component_failures.items():
            status.warnings.append(Notice(code=f"component.{name}", message=problem))
        if stats.last_failure:
            status.warnings.append(Notice(code="store.maintenance", message=stats.last_failure))
        for text in (self.judging.problem, self.judging.trouble):
            if text:
                status.warnings.append(Notice(code="judge.problem", message=text))
        if self.models.problem:
            status.warnings.append(Notice(code="embedder.problem", message=self.models.problem))

    def rss_bytes(self) -> int:
        """Return the resident memory of this process."""
        return rss_bytes()

    async def settle(self, call: Call) -> None:
        """Wait until every key has its vector, telling `call` how many still wait."""
        if not self.models.model_id or self.read_only:
            return
        total = 0
        while True:
            waiting = (await self.store.stats()).pending_vectors
            if not waiting or self.models.problem:
                return
            total = max(total, waiting)
            await call.report("embed", total - waiting, total, "")
            self.vectors_wanted.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SETTLE_LOOK_S):
                    await self.vectors_settled.wait()

    async def close(self) -> None:
        """Release models and store, after the loose ends are done."""
        if self._loose:
            await asyncio.wait(list(self._loose), timeout=5.0)
        await self.worker.stop()
        await self.judging.close()
        await asyncio.to_thread(self.models.unload)
        await self.store.close()


def _models(settings: Settings, paths: Paths) -> ModelHost:
    return ModelHost(settings.embed, paths.models_dir, clean=lambda text: redact(text)[0])


async def open_services(
    paths: Paths, settings: Settings, clock: Clock, *, read_only: bool = False
) -> Services:
    """Open the store and get models ready to be loaded on first use."""
    store = await open_store(paths, settings.store, clock, read_only=read_only)
    try:
        models = await asyncio.to_thread(_models, settings, paths)
        gate = Gate(await store.tombstones(), await store.held())
    except HindsightError:
        await store.close()
        raise
    return Services(store, models, gate, settings, paths, clock, read_only=read_only)
