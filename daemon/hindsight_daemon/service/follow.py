"""Follows the transcripts of the agents on this machine and consolidates tasks that ended.

The watcher's threads only say which files changed; everything is read here, newest first, under the
same lock as an explicit ingest. Events are stored and searchable first, lessons are drawn behind.
Reading yields between batches, so that recalls stay quick during a backfill.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hindsight_daemon.engine.ending import judge
from hindsight_daemon.errors import HindsightError, StorageFailed
from hindsight_daemon.ingest.discover import find_transcripts, is_at_home, shallow_roots
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.ingest.watcher import Watcher
from hindsight_daemon.protocol.documents import IngestResult
from hindsight_daemon.protocol.params import IngestParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.drift import look_forever, roots_of
from hindsight_daemon.service.ingest import Target, read_one
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.storing import Shelf
from hindsight_daemon.service.working import catch_up
from hindsight_daemon.sources.registry import families_by_root, is_current

RECONCILE_EVERY_S = 900.0
_CONSOLIDATE_LOOK_S = 5.0
_GROUP_BYTES = 8 * 1024 * 1024
_log = logging.getLogger("hindsight.follow")


async def follow_forever(s: Services) -> None:
    """Watch, read and consolidate until cancelled; returns at once if watching is off."""
    if not s.settings.watch.enabled:
        return
    roots = roots_of(s)
    loop = asyncio.get_running_loop()
    changed: asyncio.Queue[set[Path]] = asyncio.Queue()

    def on_changed(paths: set[Path]) -> None:
        loop.call_soon_threadsafe(changed.put_nowait, paths)

    watcher = Watcher(
        roots,
        on_changed=on_changed,
        shallow=_shallow(s),
        poll_s=s.settings.watch.poll_s,
    )
    await asyncio.to_thread(watcher.start)
    s.watching = [str(root) for root in roots if root.is_dir()]
    await catch_up(s)
    stirred = asyncio.Event()
    untaught = _Untaught()
    tasks = [
        asyncio.create_task(_read_forever(s, roots, changed, stirred, untaught)),
        asyncio.create_task(_learn_forever(s, untaught)),
        asyncio.create_task(_close_tasks_forever(s)),
        asyncio.create_task(look_forever(s, roots, stirred)),
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(watcher.stop)


async def _read_forever(
    s: Services,
    roots: list[Path],
    changed: asyncio.Queue[set[Path]],
    stirred: asyncio.Event,
    untaught: _Untaught,
) -> None:
    reconciled_at = -RECONCILE_EVERY_S
    while True:
        due_in_s = reconciled_at + RECONCILE_EVERY_S - time.monotonic()
        if due_in_s <= 0:
            reconciled_at = time.monotonic()
            found = await asyncio.to_thread(_transcripts_under, roots, _shallow(s))
            untaught.add(await _read_all(s, found))
            stirred.set()
            continue
        try:
            async with asyncio.timeout(due_in_s):
                paths = await changed.get()
        except TimeoutError:
            continue
        while not changed.empty():
            paths |= changed.get_nowait()
        untaught.add(await _read_all(s, sorted(paths)))
        stirred.set()


def _shallow(s: Services) -> frozenset[Path]:
    """Return the folders to look into without their subfolders, unless a person named them."""
    named = {Path(root).expanduser() for root in s.settings.watch.roots}
    return shallow_roots(os.environ, Path.home()) - named


def _transcripts_under(roots: list[Path], shallow: frozenset[Path]) -> list[Path]:
    found: list[Path] = []
    for root in roots:
        if root.is_dir():
            try:
                found.extend(one.path for one in find_transcripts(root, shallow=root in shallow))
            except (HindsightError, OSError) as exc:
                _log.info("root.unusable", extra={"facts": {"root": str(root), "why": str(exc)}})
    # What was used last is what will be asked for first.
    return sorted(found, key=_mtime, reverse=True)


def _mtime(path: Path) -> float:
    try:
        return stamp_of(path).mtime_ns / 1e9
    except OSError:
        return 0.0


def _size_bytes(path: Path) -> int:
    try:
        return stamp_of(path).size
    except OSError:
        return 0


async def _is_unchanged(s: Services, path: Path) -> bool:
    checkpoint = await s.store.checkpoint(str(path))
    if checkpoint is None or not is_current(checkpoint.source, checkpoint.parser_version):
        return False
    try:
        now = stamp_of(path)
    except OSError:
        return True
    return (now.size, now.mtime_ns, now.inode) == (
        checkpoint.size,
        checkpoint.mtime_ns,
        checkpoint.inode,
    )


class _Untaught:
    """Sessions that were read and have still to be learned from, oldest reading first."""

    def __init__(self) -> None:
        self._final: dict[str, bool] = {}
        self._some = asyncio.Event()

    def add(self, sessions: Mapping[str, bool]) -> None:
        """Note sessions, each with whether nothing more is expected of it."""
        self._final.update(sessions)
        if self._final:
            self._some.set()

    async def next(self) -> tuple[str, bool]:
        """Wait for a session and return it with whether it is final."""
        await self._some.wait()
        session_id = next(iter(self._final))
        final = self._final.pop(session_id)
        if not self._final:
            self._some.clear()
        return session_id, final


async def _read_all(s: Services, paths: list[Path]) -> dict[str, bool]:
    """Store what is new in transcripts; small ones are committed together.

    Returns the sessions that have to be learned from, each with whether it is at its end.
    """
    touched: dict[str, bool] = {}
    families = families_by_root(os.environ, Path.home())
    changed = [
        path for path in paths if is_at_home(path, families) and not await _is_unchanged(s, path)
    ]
    total_bytes = sum(map(_size_bytes, changed))
    try:
        for group in _groups(changed):
            # What lies on the shelf is known to nobody else, so the lock is held until it is empty.
            async with s.ingest_lock:
                shelf = Shelf(s)
                for path in group:
                    touched.update(await _read_one(s, path, total_bytes, shelf))
                await shelf.flush()
    except StorageFailed as exc:
        s.component_failures["follow"] = exc.message
        raise
    return touched


def _groups(paths: list[Path]) -> Iterator[list[Path]]:
    group: list[Path] = []
    size_bytes = 0
    for path in paths:
        group.append(path)
        size_bytes += _size_bytes(path)
        if size_bytes >= _GROUP_BYTES:
            yield group
            group, size_bytes = [], 0
    if group:
        yield group


async def _read_one(s: Services, path: Path, total_bytes: int, shelf: Shelf) -> dict[str, bool]:
    try:
        stamp = stamp_of(path)
    except OSError:
        return {}
    # A file that has not changed for so long holds ended tasks only.
    final = time.time() - stamp.mtime_ns / 1e9 > s.settings.watch.idle_task_s
    result = IngestResult(files=[], episodes=0, memories=0)
    report = await read_one(
        s,
        IngestParams(paths=(), final=final),
        Target(path, stamp.size),
        Call(client="follow"),
        0,
        total_bytes,
        result,
        shelf,
    )
    if report.error:
        _log.info("transcript.unusable", extra={"facts": {"code": report.error_code}})
    elif result.events:
        _log.info("transcript.read", extra={"facts": {"events": result.events}})
    return dict.fromkeys(report.sessions if result.events else (), final)


async def _learn_forever(s: Services, untaught: _Untaught) -> None:
    while True:
        session_id, final = await untaught.next()
        # One session at a time: whoever waits to store new lines comes in between.
        async with s.ingest_lock:
            await consolidate_session(s, session_id, final=final)


async def read_now(s: Services, path: Path) -> None:
    """Read one transcript of a known agent and close its tasks; a hook said that one has ended."""
    families = families_by_root(os.environ, Path.home())
    if not is_at_home(path, families):
        return
    touched = await _read_all(s, [path])
    for state in await s.store.sessions(unconsolidated=True):
        if state.transcript == str(path) or state.session_id in touched:
            final = state.transcript == str(path) or touched[state.session_id]
            async with s.ingest_lock:
                await consolidate_session(s, state.session_id, final=final)


async def _close_tasks_forever(s: Services) -> None:
    while True:
        await asyncio.sleep(_CONSOLIDATE_LOOK_S)
        await close_ended_tasks(s)


async def close_ended_tasks(s: Services) -> None:
    """Consolidate the sessions whose last task is over by now; see `engine.ending`."""
    # A newer session that took another's place is nearly always among those that wait as well;
    # where it is not, the older one ends by silence.
    waiting = await s.store.sessions(unconsolidated=True)
    for state in waiting:
        ending = judge(
            state, now=s.clock.now(), idle_s=s.settings.watch.idle_task_s, others=waiting
        )
        if ending.is_over:
            async with s.ingest_lock:
                await consolidate_session(s, state.session_id, final=True)
            _log.info("task.closed", extra={"facts": {"why": ending.reason}})
