"""Whether reading a transcript goes on where it stopped or starts over; pure.

The rules: a file is the same if device, inode and the hash of what lies around the beginning and
before the offset are the same, it has not shrunk below the offset, and the parser is the one that
read it. Everything else means reading from zero; stable event ids make that harmless.
"""

from __future__ import annotations

import hashlib

from hindsight_daemon.model import Checkpoint, Record


class FileFacts(Record, frozen=True, kw_only=True):
    """What the file system says of a transcript now."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    is_packed: bool = False


class Resume(Record, frozen=True, kw_only=True):
    """Where to start reading; `restarted` says why it is not where reading stopped."""

    offset: int = 0
    line: int = 0
    state: str = ""
    restarted: str = ""


def prefix_hash(prefix: bytes) -> str:
    """Return the hash stored in a checkpoint.

    `prefix` is the first 4 KiB (or less, up to the offset) and the 64 bytes before the offset.
    """
    return hashlib.sha256(prefix).hexdigest()


def reason_to_restart(
    checkpoint: Checkpoint, facts: FileFacts, *, source: str, parser_version: int, prefix: bytes
) -> str:
    """Say why a transcript has to be read from zero; empty if reading can go on.

    `prefix` is read from the file as it is now, for the checkpoint's offset.
    """
    if checkpoint.source != source:
        return f"it is read as `{source}` now, was `{checkpoint.source}`"
    if checkpoint.parser_version != parser_version:
        return "the parser has changed"
    if facts.is_packed:
        # Offsets count unpacked bytes, and packed files are not appended to.
        if (facts.size, facts.mtime_ns) != (checkpoint.size, checkpoint.mtime_ns):
            return "the packed file is another one"
    elif facts.size < checkpoint.offset:
        return "the file was cut"
    if checkpoint.offset and prefix_hash(prefix) != checkpoint.prefix_hash:
        return "the file was rewritten"
    if checkpoint.inode and (checkpoint.device, checkpoint.inode) != (facts.device, facts.inode):
        return "the file was replaced"
    return ""


def plan(
    checkpoint: Checkpoint | None,
    facts: FileFacts,
    *,
    source: str,
    parser_version: int,
    prefix: bytes,
) -> Resume:
    """Decide where to start reading."""
    if checkpoint is None:
        return Resume()
    reason = reason_to_restart(
        checkpoint, facts, source=source, parser_version=parser_version, prefix=prefix
    )
    if reason:
        return Resume(restarted=reason)
    return Resume(offset=checkpoint.offset, line=checkpoint.line, state=checkpoint.state)
