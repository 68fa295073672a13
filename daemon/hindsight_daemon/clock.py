"""Time and identity: UTC now, UUIDv7 ids, and ids that follow from content."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from, so that tests can set it."""

    def now(self) -> datetime:
        """Return the present moment, timezone-aware, in UTC."""


class SystemClock:
    """The real clock."""

    def now(self) -> datetime:
        """Return the present moment, timezone-aware, in UTC."""
        return datetime.now(UTC)


def _format_uuid7(at: datetime, tail: bytes) -> str:
    millis = max(0, int(at.timestamp() * 1000)) & ((1 << 48) - 1)
    raw = bytearray(millis.to_bytes(6, "big") + tail[:10])
    raw[6] = (raw[6] & 0x0F) | 0x70
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_id(at: datetime) -> str:
    """Return a fresh UUIDv7 (RFC 9562) for the moment `at`."""
    return _format_uuid7(at, os.urandom(10))


def id_from(at: datetime, seed: str) -> str:
    """Return the UUIDv7 that follows from `at` and `seed`: the same input gives the same id.

    Used where a write may be replayed (turns, episodes), so that it upserts and never doubles.
    """
    return _format_uuid7(at, hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest())


def parse_time(text: str) -> datetime | None:
    """Read an ISO 8601 time as aware UTC; a time without zone counts as UTC; None if unreadable."""
    try:
        value = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
