"""`ingest`: transcripts in, events and turns stored, ended tasks consolidated."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from hindsight_daemon.errors import HindsightError, NoInput, PermissionProblem, StorageFailed
from hindsight_daemon.ingest.discover import (
    default_roots,
    find_transcripts,
    is_at_home,
    shallow_roots,
)
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.protocol.documents import IngestedFile, IngestResult
from hindsight_daemon.protocol.params import IngestParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.consolidate import Consolidated, consolidate_session
from hindsight_daemon.service.drift import counted, look_at_sources, note_problem
from hindsight_daemon.service.filters import moment
from hindsight_daemon.service.ingest_warnings import passed_over, warnings_of
from hindsight_daemon.service.reading import ReadJob
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.storing import Shelf, take_in
from hindsight_daemon.service.worker import BULK_BYTES, WorkerDied
from hindsight_daemon.sources.port import Source
from hindsight_daemon.sources.registry import families_by_root

_MAX_PATHS_IN_REPORT = 2000
_log = logging.getLogger("hindsight.ingest")


class Target(msgspec.Struct, frozen=True):
    """One transcript to read, and how it is to be named and attributed."""

    path: Path
    size_bytes: int
    label: str = ""


def expand(
    paths: tuple[str, ...], label: str, since: datetime | None = None
) -> tuple[list[Target], list[IngestedFile]]:
    """Turn files and folders into transcripts; unusable ones become reports with an error.

    Those that have not changed from `since` on are left out.
    """
    targets: list[Target] = []
    failed: list[IngestedFile] = []
    families = families_by_root(os.environ, Path.home())
    for text in paths:
        path = Path(text)
        try:
            if not path.exists() and not path.is_symlink():
                raise NoInput(f"`{text}` does not exist")
            found = _in_folder(path, families) if path.is_dir() else [path]
            targets.extend(
                Target(file, _size(file), label) for file in found if _has_changed(file, since)
            )
        except (HindsightError, OSError) as exc:
            failed.append(_failure(text, exc))
    return targets, failed


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _has_changed(path: Path, since: datetime | None) -> bool:
    if since is None:
        return True
    try:
        return stamp_of(path).mtime_ns / 1e9 >= since.timestamp()
    except OSError:
        # Reading it will say what is wrong with it.
        return True


def _failure(path: str, exc: Exception) -> IngestedFile:
    if isinstance(exc, HindsightError):
        return IngestedFile(path=path, error=exc.message, error_code=exc.code, hint=exc.hint)
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    is_denied = isinstance(exc, PermissionError)
    return IngestedFile(
        path=path,
        error=f"cannot read `{path}`: {reason}",
        error_code=PermissionProblem.code if is_denied else "input.io",
        hint=PermissionProblem.default_hint if is_denied else "",
    )


def _in_folder(folder: Path, families: Mapping[Path, tuple[Source, ...]]) -> list[Path]:
    shallow = folder in shallow_roots(os.environ, Path.home())
    transcripts = find_transcripts(folder, shallow=shallow)
    found = [one.path for one in transcripts if is_at_home(one.path, families)]
    if not found:
        raise NoInput(f"folder `{folder}` holds no transcripts of an agent that lives there")
    return found


def agent_roots() -> list[Path]:
    """Return the agents' own transcript folders that exist for this user."""
    return [root for root in default_roots(os.environ, Path.home()) if root.is_dir()]


async def ingest(s: Services, params: IngestParams, call: Call) -> IngestResult:
    """Read the transcripts at `params.paths` from where they were left."""
    started = time.monotonic()
    if params.request_key and (former := await s.store.answered(params.request_key)):
        return msgspec.json.decode(former, type=IngestResult)
    paths = params.paths or tuple(str(root) for root in await asyncio.to_thread(agent_roots))
    if not paths:
        raise NoInput(
            "no agent transcripts were found on this machine",
            hint="name a file or folder: `hindsight ingest PATH`",
        )
    since = moment("since", params.since)
    targets, failed = await asyncio.to_thread(expand, paths, params.label, since)
    if not params.paths:
        # An agent that is installed but was never used is no problem of this call.
        failed = [one for one in failed if one.error_code != NoInput.code]
    total_bytes = sum(target.size_bytes for target in targets)
    result = IngestResult(files=failed, episodes=0, memories=0, dry_run=params.dry_run)
    async with s.ingest_lock:
        reports = await _read_all(s, params, targets, total_bytes, call, result)
    result.files.extend(reports[:_MAX_PATHS_IN_REPORT])
    result.warnings.extend(warnings_of(reports))
    taken = {target.path for target in targets}
    result.warnings.extend(await asyncio.to_thread(passed_over, paths, taken))
    if not params.dry_run:
        await look_at_sources(s, paths)
    if params.wait and not params.dry_run:
        await s.settle(call)
    result.took_ms = round((time.monotonic() - started) * 1000, 1)
    return result


async def _read_all(
    s: Services,
    params: IngestParams,
    targets: Sequence[Target],
    total_bytes: int,
    call: Call,
    result: IngestResult,
) -> list[IngestedFile]:
    """Store what all transcripts hold, which is then searchable, and only then learn from it."""
    started = time.monotonic()
    shelf = Shelf(s)
    reports: list[IngestedFile] = []
    touched: dict[str, None] = {}
    done_bytes = 0
    call.items = len(targets)
    for call.item, target in enumerate(targets, 1):
        await call.report("read", done_bytes, total_bytes, str(target.path))
        report = await read_one(s, params, target, call, done_bytes, total_bytes, result, shelf)
        done_bytes += target.size_bytes
        touched.update(dict.fromkeys(report.sessions))
        reports.append(report)
    await shelf.flush()
    result.read_ms = round((time.monotonic() - started) * 1000, 1)
    if not params.dry_run:
        # The worker still has the sessions in mind that were read last; the others come from
        # the store.
        for number, session_id in enumerate(touched):
            await call.report("consolidate", number, len(touched), session_id)
            count(result, await consolidate_session(s, session_id, final=params.final))
    return reports


def count(result: IngestResult, made: Consolidated) -> None:
    """Add what consolidation made to the report."""
    result.episodes += made.episodes
    result.memories += len(made.memory_ids)
    result.memory_ids.extend(made.memory_ids)
    result.refused += made.refused


async def read_one(
    s: Services,
    params: IngestParams,
    target: Target,
    call: Call,
    done_bytes: int,
    total_bytes: int,
    result: IngestResult,
    shelf: Shelf,
) -> IngestedFile:
    """Read one transcript to its end; problems of the file end up in its report.

    The end of it may be left on the shelf, which the caller flushes.
    """
    name = target.label or str(target.path)
    report = IngestedFile(path=name, size_bytes=target.size_bytes)

    async def progress(reached: int) -> None:
        await call.report("read", done_bytes + reached, total_bytes, name)

    try:
        try:
            is_bulk = total_bytes >= BULK_BYTES
            await _read_pieces(s, params, target, report, progress, result, shelf, is_bulk=is_bulk)
        except WorkerDied:
            # Once more, from the checkpoint of what was stored, in this process.
            await _read_pieces(s, params, target, report, progress, result, shelf, is_bulk=False)
    except StorageFailed:
        # The transcript is fine, our disk is not: stop the whole run, the checkpoint holds.
        raise
    except (HindsightError, OSError) as exc:
        failure = _failure(name, exc)
        report.error, report.error_code, report.hint = (
            failure.error,
            failure.error_code,
            failure.hint,
        )
        if not params.dry_run:
            await shelf.flush_path(name)
            await note_problem(s, name, report.error)
        _log.info("transcript.unusable", extra={"facts": {"code": report.error_code}})
    if report.events and not params.dry_run:
        s.happenings.publish(
            "transcript.read", path=name, source=report.source, events=report.events
        )
    return report


async def _read_pieces(
    s: Services,
    params: IngestParams,
    target: Target,
    report: IngestedFile,
    progress: Callable[[int], Awaitable[None]],
    result: IngestResult,
    shelf: Shelf,
    *,
    is_bulk: bool,
) -> None:
    await shelf.flush_path(report.path)
    former = None if params.dry_run else await s.store.checkpoint(report.path)
    job = ReadJob(
        path=str(target.path),
        now=s.clock.now(),
        checkpoint=former if former is not None and former.source else None,
        source=params.source,
        session_id=params.session_id,
        project=params.project,
        cwd=params.cwd,
        label=target.label,
        final=params.final,
        own_folders=tuple(
            str(folder) for folder in (s.paths.data_dir, s.paths.state_dir, s.paths.cache_dir)
        ),
    )
    async with contextlib.aclosing(s.worker.read(job, is_bulk=is_bulk)) as pieces:
        is_first = True
        async for piece in pieces:
            piece, former = counted(piece, former, is_first=is_first, at=job.now)
            is_first = False
            await take_in(s, params, piece, report, result, shelf, is_bulk=is_bulk)
            await progress(min(piece.batch.checkpoint.offset, report.size_bytes))
