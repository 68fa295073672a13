"""The drift alarm: what the transcripts below each root came to, and loud words if that is nothing.

Counts live in the checkpoints, so they are as durable as what they count; what a root holds is
looked up when somebody asks. Judging is `engine.drift`'s.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from hindsight_daemon.engine.drift import Found, SourceTally, alarms, tallies
from hindsight_daemon.ingest.discover import default_roots, refusal_of, shallow_roots, walk_files
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.ingest.tally import tally_after
from hindsight_daemon.model import Checkpoint
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import Check, DoctorResult, SourceReport
from hindsight_daemon.protocol.params import NoParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.reading import Piece
from hindsight_daemon.service.services import Services
from hindsight_daemon.sources.registry import SOURCES, families_by_root, is_read_whole
from hindsight_daemon.store.port import WriteBatch

_SHARE_OF_TIME = 50
_PAUSE_S = 2.0
_MAX_LOOKED_INTO = 500
_FEW = 3
_MAX_PROBLEM_CHARS = 200


def roots_of(s: Services) -> list[Path]:
    """Return the agents' default folders and the configured ones, existing or not."""
    configured = [Path(root).expanduser() for root in s.settings.watch.roots]
    return list(dict.fromkeys([*default_roots(os.environ, Path.home()), *configured]))


def counted(
    piece: Piece, former: Checkpoint | None, *, is_first: bool, at: datetime
) -> tuple[Piece, Checkpoint]:
    """Return a piece whose checkpoint tells what the transcript came to, and that checkpoint."""
    batch = piece.batch
    tally = tally_after(
        former, batch, is_first=is_first, is_whole=is_read_whole(batch.source), at=at
    )
    checkpoint = msgspec.structs.replace(batch.checkpoint, tally=tally)
    batch = msgspec.structs.replace(batch, checkpoint=checkpoint)
    return msgspec.structs.replace(piece, batch=batch), checkpoint


async def note_problem(s: Services, path: str, problem: str) -> None:
    """Keep why a transcript could not be read; what was read of it before stays known."""
    problem = problem.replace(f"`{path}`", "it")[:_MAX_PROBLEM_CHARS]
    former = await s.store.checkpoint(path)
    known = former or Checkpoint(path=path, source="", parser_version=0)
    if known.tally.problem != problem:
        tally = msgspec.structs.replace(known.tally, problem=problem)
        checkpoint = msgspec.structs.replace(known, tally=tally)
        await s.write(WriteBatch(checkpoints=(checkpoint,)))


async def sources(s: Services, _params: NoParams, _call: Call) -> DoctorResult:
    """Say of every root that exists what its transcripts came to, and which families there are."""
    found = await _look(s, roots_of(s))
    checks = [
        Check(
            name=f"source {one.source}",
            status="warning" if one.state in ("silent", "drift") else "ok",
            message=f"`{one.root}`: {one.why or _in_words(one)}",
            hint="`hindsight doctor sources --json` has all counts; see if there is an update",
        )
        for one in found
    ]
    if not checks:
        checks = [Check(name="sources", status="ok", message="no agent has left transcripts here")]
    names = sorted(source.name for source in SOURCES)
    return DoctorResult(checks=checks, sources=[_report(one) for one in found], names=names)


async def look_at_sources(s: Services, read: Iterable[str]) -> None:
    """Renew the alarms if some of the paths that were `read` lie where agents write."""
    roots = await asyncio.to_thread(lambda: [root for root in roots_of(s) if root.is_dir()])
    paths = [Path(path) for path in read]
    if any(path.is_relative_to(root) for path in paths for root in roots):
        await _renew_alarms(s, roots)


async def look_forever(s: Services, roots: list[Path], stirred: asyncio.Event) -> None:
    """Renew the alarms whenever something was read, using little of the time for it."""
    while True:
        await stirred.wait()
        stirred.clear()
        started = time.monotonic()
        await _renew_alarms(s, roots)
        await asyncio.sleep(max(_PAUSE_S, _SHARE_OF_TIME * (time.monotonic() - started)))


async def _renew_alarms(s: Services, roots: Sequence[Path]) -> None:
    found = await _look(s, roots)
    s.source_alarms = [
        Notice(code=code, message=f"{message}; see `hindsight doctor sources`")
        for code, message in alarms(found)
    ]


async def _look(s: Services, roots: Sequence[Path]) -> list[SourceTally]:
    checkpoints = {one.path: one for one in await s.store.checkpoints()}
    named = {Path(root).expanduser() for root in s.settings.watch.roots}
    return await asyncio.to_thread(_look_below, roots, checkpoints, named)


def _look_below(
    roots: Sequence[Path], checkpoints: dict[str, Checkpoint], named: set[Path]
) -> list[SourceTally]:
    families = families_by_root(os.environ, Path.home())
    shallow = shallow_roots(os.environ, Path.home()) - named
    found: list[SourceTally] = []
    for root in roots:
        if not root.is_dir():
            continue
        owners = families.get(root, ())
        files: list[Found] = []
        looked_into = 0
        for path in walk_files(root, shallow=root in shallow):
            owner = next((family.name for family in owners if family.matches(path)), "")
            checkpoint = checkpoints.get(str(path))
            refusal = ""
            if checkpoint is None and looked_into < _MAX_LOOKED_INTO:
                looked_into += 1
                refusal = refusal_of(path)
                if refusal and not owner:
                    continue  # a folder that a person named may hold all kinds of files
            files.append(_found(path, owner, checkpoint, refusal))
        found.extend(tallies(str(root), files))
    return found


def _found(path: Path, owner: str, checkpoint: Checkpoint | None, refusal: str) -> Found:
    size, modified_at = 0, 0.0
    try:
        stamp = stamp_of(path)
        size, modified_at = stamp.size, stamp.mtime_ns / 1e9
    except OSError:
        refusal = refusal or "cannot be looked at"
    return Found(
        source=(checkpoint.source if checkpoint is not None else "") or owner or "unknown",
        size_bytes=size,
        modified_at=modified_at,
        tally=checkpoint.tally if checkpoint is not None else None,
        refusal=refusal,
    )


def _report(one: SourceTally) -> SourceReport:
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    return SourceReport(**{**fields, "read_at": one.read_at.isoformat() if one.read_at else ""})


def _in_words(one: SourceTally) -> str:
    if one.state == "unread":
        return f"{one.found} transcripts found, none was read yet"
    said = f"{one.found} found, {one.read} read, {one.events} events of {one.records} records"
    if one.empty:
        said += f", {one.empty} without any"
    for reasons in (one.skipped, one.skipped_lines):
        if reasons:
            reason, times = next(iter(reasons.items()))
            said += f", skipped {sum(reasons.values())} (mostly: {reason}, {times})"
    if one.unknown:
        said += f", unknown types {', '.join(list(one.unknown)[:_FEW])}"
    return said
