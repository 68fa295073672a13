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
from datetime import timedelta
from pathlib import Path

from hindsight_daemon.errors import HindsightError, StorageFailed
from hindsight_daemon.ingest.discover import default_roots, find_transcripts
from hindsight_daemon.ingest.watcher import Watcher
from hindsight_daemon.protocol.documents import IngestResult
from hindsight_daemon.protocol.params import IngestParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import consolidate_session
from hindsight_daemon.service.ingest import Target, count, read_one
from hindsight_daemon.service.services import Services

RECONCILE_EVERY_S = 900.0
_CONSOLIDATE_LOOK_S = 5.0
_QUIET_AFTER_END_S = 60.0
_log = logging.getLogger("hindsight.follow")


def roots_to_follow(s: Services) -> list[Path]:
    """Return the agents' default folders and the configured ones, existing or not."""
    configured = [Path(root).expanduser() for root in s.settings.watch.roots]
    return list(dict.fromkeys([*default_roots(os.environ, Path.home()), *configured]))


async def follow_forever(s: Services) -> None:
    """Watch, read and consolidate until cancelled; returns at once if watching is off."""
    if not s.settings.watch.enabled:
        return
    roots = roots_to_follow(s)
    loop = asyncio.get_running_loop()
    changed: asyncio.Queue[set[Path]] = asyncio.Queue()

    def on_changed(paths: set[Path]) -> None:
        loop.call_soon_threadsafe(changed.put_nowait, paths)

    watcher = Watcher(roots, on_changed=on_changed, poll_s=s.settings.watch.poll_s)
    await asyncio.to_thread(watcher.start)
    s.watching = [str(root) for root in roots if root.is_dir()]
    reader = asyncio.create_task(_read_forever(s, roots, changed))
    closer = asyncio.create_task(_close_tasks_forever(s))
    try:
        await asyncio.gather(reader, closer)
    finally:
        reader.cancel()
        closer.cancel()
        await asyncio.to_thread(watcher.stop)


async def _read_forever(s: Services, roots: list[Path], changed: asyncio.Queue[set[Path]]) -> None:
    reconciled_at = -RECONCILE_EVERY_S
    while True:
        due_in_s = reconciled_at + RECONCILE_EVERY_S - time.monotonic()
        if due_in_s <= 0:
            reconciled_at = time.monotonic()
            await _read_all(s, await asyncio.to_thread(_transcripts_under, roots))
            continue
        try:
            async with asyncio.timeout(due_in_s):
                paths = await changed.get()
        except TimeoutError:
            continue
        while not changed.empty():
            paths |= changed.get_nowait()
        await _read_all(s, sorted(paths))


def _transcripts_under(roots: list[Path]) -> list[Path]:
    found: list[Path] = []
    for root in roots:
        if root.is_dir():
            try:
                found.extend(one.path for one in find_transcripts(root))
            except (HindsightError, OSError) as exc:
                _log.info("root.unusable", extra={"facts": {"root": str(root), "why": str(exc)}})
    # What was used last is what will be asked for first.
    return sorted(found, key=_mtime, reverse=True)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


async def _is_unchanged(s: Services, path: Path) -> bool:
    checkpoint = await s.store.checkpoint(str(path))
    if checkpoint is None:
        return False
    try:
        now = path.stat()
    except OSError:
        return True
    return (now.st_size, now.st_mtime_ns, now.st_ino) == (
        checkpoint.size,
        checkpoint.mtime_ns,
        checkpoint.inode,
    )


async def _read_all(s: Services, paths: list[Path]) -> None:
    for path in paths:
        if await _is_unchanged(s, path):
            continue
        result = IngestResult(files=[], episodes=0, memories=0)
        try:
            info = path.stat()
            # A file that has not changed for so long holds ended tasks only.
            final = time.time() - info.st_mtime > s.settings.watch.idle_task_s
            params = IngestParams(paths=(), final=final)
            async with s.ingest_lock:
                size = info.st_size
                target = Target(path, size)
                report = await read_one(s, params, target, Call(client="follow"), 0, size, result)
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


async def _close_tasks_forever(s: Services) -> None:
    idle = timedelta(seconds=s.settings.watch.idle_task_s)
    while True:
        await asyncio.sleep(_CONSOLIDATE_LOOK_S)
        now = s.clock.now()
        for state in await s.store.sessions(unconsolidated=True):
            seen = state.last_seen_at or state.last_at
            spoken = state.last_at or state.last_seen_at
            if seen is None or spoken is None:
                continue
            # A backfilled session is quiet since it was written, a live one since it was read.
            quiet_s = (now - spoken).total_seconds()
            read_s = (now - seen).total_seconds()
            if quiet_s >= idle.total_seconds() and read_s >= min(_QUIET_AFTER_END_S, quiet_s / 10):
                async with s.ingest_lock:
                    await consolidate_session(s, state.session_id, final=True)
