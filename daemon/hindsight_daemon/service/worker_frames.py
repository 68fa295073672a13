"""Frames between the daemon and its worker process: four bytes of length, then MessagePack."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from hindsight_daemon.model import Record
from hindsight_daemon.service.learning import Learned, LearnJob
from hindsight_daemon.service.reading import Piece, ReadJob

HEADER = struct.Struct(">I")


class Read(Record, frozen=True, kw_only=True, tag="piece"):
    """A piece of a transcript."""

    piece: Piece


class Taught(Record, frozen=True, kw_only=True, tag="taught"):
    """What one task taught."""

    learned: Learned


class Forgot(Record, frozen=True, kw_only=True, tag="forgot"):
    """The events of the session are not (or not all) in mind; they have to be sent along."""


class Failed(Record, frozen=True, kw_only=True, tag="failed"):
    """The job could not be done; without a code it was the operating system's word."""

    code: str
    message: str
    hint: str


class Done(Record, frozen=True, kw_only=True, tag="done"):
    """The job is done and nothing more will come."""


Job = ReadJob | LearnJob
Reply = Read | Taught | Forgot | Failed | Done

_encoder = msgspec.msgpack.Encoder()
_jobs = msgspec.msgpack.Decoder(Job)
_replies = msgspec.msgpack.Decoder(Reply)


def encode(message: Job | Reply) -> bytes:
    """Return a whole frame."""
    body = _encoder.encode(message)
    return HEADER.pack(len(body)) + body


def decode_job(body: bytes) -> Job:
    """Read the body of a frame from the daemon."""
    return _jobs.decode(body)


def decode_reply(body: bytes) -> Reply:
    """Read the body of a frame from the worker."""
    return _replies.decode(body)


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next frame's body, None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    body = stream.read(size)
    return body if len(body) == size else None
