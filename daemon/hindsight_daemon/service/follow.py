"""Follows the transcripts of the agents on this machine and consolidates tasks that ended.

The watcher's threads only say which files changed; everything is read here, one file at a time,
newest first, under the same lock as an explicit ingest. Reading yields between batches, so that
recalls stay quick during a backfill.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
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
from hindsight_daemon.service.ingest import Target, count, read_one
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.storing import Shelf
from hindsight_daemon.service.working import catch_up
from hindsight_daemon.sources.registry import families_by_root, is_current

RECONCILE_EVERY_S = 900.0
_CONSOLIDATE_LOOK_S = 5.0
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
    tasks = [
        asyncio.create_task(_read_forever(s, roots, changed, stirred)),
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
    s: Services, roots: list[Path], changed: asyncio.Queue[set[Path]], stirred: asyncio.Event
) -> None:
    reconciled_at = -RECONCILE_EVERY_S
    while True:
        due_in_s = reconciled_at + RECONCILE_EVERY_S - time.monotonic()
        if due_in_s <= 0:
            reconciled_at = time.monotonic()
            await _read_all(s, await asyncio.to_thread(_transcripts_under, roots, _shallow(s)))
            stirred.set()
            continue
        try:
            async with asyncio.timeout(due_in_s):
                paths = await changed.get()
        except TimeoutError:
            continue
        while not changed.empty():
            paths |= changed.get_nowait()
        await _read_all(s, sorted(paths))
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


async def _read_all(s: Services, paths: list[Path]) -> None:
    families = families_by_root(os.environ, Path.home())
    changed = [
        path for path in paths if is_at_home(path, families) and not await _is_unchanged(s, path)
    ]
    total_bytes = sum(map(_size_bytes, changed))
    for path in changed:
        result = IngestResult(files=[], episodes=0, memories=0)
        try:
            stamp = stamp_of(path)
            # A file that has not changed for so long holds ended tasks only.
            final = time.time() - stamp.mtime_ns / 1e9 > s.settings.watch.idle_task_s
            params = IngestParams(paths=(), final=final)
            async with s.ingest_lock:
                target = Target(path, stamp.size)
                call = Call(client="follow")
                shelf = Shelf(s)
                report = await read_one(s, params, target, call, 0, total_bytes, result, shelf)
                await shelf.flush()
                for session_id in report.sessions if result.events else ():
                    count(result, await consolidate_session(s, session_id, final=final))
        except OSError:
            continue
        except StorageFailed as exc:
            s.component_failures["follow"] = exc.message
            raise
        if report.error:
            _log.info("transcript.unusable", extra={"facts": {"code": report.error_code}})
        elif result.events:
            _log.info(
                "transcript.read",
                extra={"facts": {"events": result.events, "memories": result.memories}},
            )


async def read_now(s: Services, path: Path) -> None:
    """Read one transcript of a known agent and close its tasks; a hook said that one has ended."""
    families = families_by_root(os.environ, Path.home())
    if not is_at_home(path, families):
        return
    await _read_all(s, [path])
    checkpoint = await s.store.checkpoint(str(path))
    if checkpoint is None:
        return
    for state in await s.store.sessions(unconsolidated=True):
        if state.transcript == str(path):
            async with s.ingest_lock:
                await consolidate_session(s, state.session_id, final=True)


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
