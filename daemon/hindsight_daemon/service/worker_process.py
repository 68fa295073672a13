"""The other end of `worker`: a process that reads transcripts and distils sessions.

Takes one job at a time from standard input and answers on standard output, both in frames of
`worker_frames`. It has no store, no socket and no models, and ends when its input ends: a daemon
that is killed takes it along.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import msgspec

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.service.learning import learn
from hindsight_daemon.service.reading import LastTurns, ReadJob, read
from hindsight_daemon.service.session_memory import ReadEvents
from hindsight_daemon.service.worker_frames import (
    Done,
    Failed,
    Forgot,
    Read,
    Reply,
    Taught,
    decode_job,
    encode,
    read_frame,
)

_NICENESS = 10


def serve() -> int:
    """Work until standard input ends."""
    # Interactive work on this machine goes first; it also keeps recalls quick.
    os.nice(_NICENESS)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    last_turns = LastTurns()
    in_mind = ReadEvents()
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        try:
            job = decode_job(frame)
            if isinstance(job, ReadJob):
                for piece in read(job, last_turns):
                    in_mind.take(piece.batch.events)
                    _answer(out, Read(piece=piece))
            else:
                if job.in_mind:
                    events = in_mind.let_go(job.session.session_id, job.in_mind)
                    if events is None:
                        _answer(out, Forgot())
                        continue
                    job = msgspec.structs.replace(job, events=events)
                for learned in learn(job):
                    _answer(out, Taught(learned=learned))
        except HindsightError as exc:
            _answer(out, Failed(code=exc.code, message=exc.message, hint=exc.hint))
        except OSError as exc:
            reason = exc.strerror or str(exc)
            _answer(out, Failed(code="", message=reason, hint=""))
        else:
            _answer(out, Done())
    return 0


def _answer(out: BinaryIO, reply: Reply) -> None:
    out.write(encode(reply))
    out.flush()
