"""Reads transcripts and distils sessions beside the event loop: in a thread, or for bulk work in
one child process, which leaves the daemon its interpreter for recalls.

There is never more than one child; it starts with the first bulk job, ends after a while without
work, and dies with the daemon because its pipes do. If it dies by itself the job is done in a
thread instead, from where it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence

import msgspec

from hindsight_daemon.errors import HindsightError, error_from_wire
from hindsight_daemon.model import Event
from hindsight_daemon.service.learning import Learned, LearnJob, learn
from hindsight_daemon.service.reading import LastTurns, Piece, ReadJob, read
from hindsight_daemon.service.session_memory import StoredEvents
from hindsight_daemon.service.worker_frames import (
    HEADER,
    Done,
    Failed,
    Forgot,
    Job,
    Read,
    Reply,
    Taught,
    decode_reply,
    encode,
)

BULK_BYTES = 2 * 1024 * 1024
"""From this size on what is to be read is worth a process, which takes half a second to start."""

IDLE_S = 20.0
_READ_AHEAD_BYTES = 4 * 1024 * 1024
_log = logging.getLogger("hindsight.worker")


class WorkerDied(Exception):
    """The child ended in the middle of a job."""


class Worker:
    """Does jobs one after the other; callers hold the ingest lock."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._last_turns = LastTurns()
        self._stored = StoredEvents()
        self._used_at = time.monotonic()
        self._is_busy = False

    @property
    def is_running(self) -> bool:
        """Tell whether there is a child."""
        return self._process is not None and self._process.returncode is None

    async def read(self, job: ReadJob, *, is_bulk: bool) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of a transcript; raises `WorkerDied`, or what reading raises."""
        if not is_bulk:
            async for piece in _ahead(read(job, self._last_turns)):
                yield piece
            return
        async with contextlib.aclosing(self._ask(job)) as replies:
            async for reply in replies:
                if isinstance(reply, Read):
                    yield reply.piece

    def note_stored(self, read: Sequence[Event], stored: Sequence[Event]) -> None:
        """Note which events of a piece that the child read were stored as new, and as what."""
        self._stored.note(read, stored)

    async def learn(
        self, job: LearnJob, events_of: Callable[[], AsyncIterator[Event]]
    ) -> list[Learned]:
        """Return what a session teaches, from the child if there is one.

        `events_of` gives the events of the session, which the child may still know by itself.
        """
        session = job.session
        count = self._stored.count_of(session.session_id)
        self._stored.drop(session.session_id)
        if self.is_running and count and count == session.events and session.thinned_through < 0:
            learned = await self._learned(msgspec.structs.replace(job, in_mind=count))
            if learned is not None:
                return learned
        job = msgspec.structs.replace(job, events=tuple([event async for event in events_of()]))
        learned = await self._learned(job) if self.is_running else None
        return await asyncio.to_thread(learn, job) if learned is None else learned

    async def _learned(self, job: LearnJob) -> list[Learned] | None:
        """Return what the child makes of it; None if it has died or lacks the events."""
        learned: list[Learned] = []
        try:
            async with contextlib.aclosing(self._ask(job)) as replies:
                async for reply in replies:
                    if isinstance(reply, Taught):
                        learned.append(reply.learned)
                    elif isinstance(reply, Forgot):
                        return None
        except WorkerDied:
            return None
        return learned

    async def _ask(self, job: Job) -> AsyncGenerator[Reply, None]:
        process = await self._started()
        self._is_busy = True
        finished = False
        try:
            async for reply in _converse(process, job):
                if isinstance(reply, Failed):
                    finished = True
                    raise _error(reply)
                if isinstance(reply, Done):
                    finished = True
                    return
                if isinstance(reply, Forgot):
                    finished = True
                yield reply
        except (asyncio.IncompleteReadError, ConnectionError) as exc:
            _log.warning("worker.died", extra={"facts": {"status": process.returncode}})
            raise WorkerDied from exc
        finally:
            self._is_busy = False
            self._used_at = time.monotonic()
            if not finished:
                # What it still has to say belongs to a job nobody waits for.
                await self.stop()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._stored.clear()
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "hindsight_daemon",
                "--worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_READ_AHEAD_BYTES,
            )
        return self._process

    async def stop_if_idle(self) -> None:
        """End the child if it had nothing to do for a while."""
        if self._process and not self._is_busy and time.monotonic() - self._used_at > IDLE_S:
            await self.stop()

    async def stop(self) -> None:
        """End the child now."""
        process, self._process = self._process, None
        self._stored.clear()
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _converse(process: asyncio.subprocess.Process, job: Job) -> AsyncGenerator[Reply, None]:
    if process.stdin is None or process.stdout is None:
        raise ConnectionError("the worker has no pipes")
    process.stdin.write(encode(job))
    await process.stdin.drain()
    while True:
        (size,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
        yield decode_reply(await process.stdout.readexactly(size))


def _error(failed: Failed) -> Exception:
    if failed.code:
        return error_from_wire(failed.code, failed.message, failed.hint, {})
    return OSError(0, failed.message)


async def _ahead(pieces: Iterator[Piece]) -> AsyncGenerator[Piece, None]:
    """Yield from a blocking iterator, whose next piece is made while this one is used."""
    making = asyncio.create_task(asyncio.to_thread(next, pieces, None))
    try:
        while (piece := await making) is not None:
            making = asyncio.create_task(asyncio.to_thread(next, pieces, None))
            yield piece
    finally:
        if not making.done():
            await asyncio.wait([making])
        with contextlib.suppress(HindsightError, OSError, asyncio.CancelledError):
            making.result()
