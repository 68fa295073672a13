"""The gate on every write path: secrets out, tombstoned and junk texts refused, with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.model import Tombstone

MAX_TEXT_CHARS = 20_000


class Verdict:
    """Whether a text may be stored; `text` is what may be stored of it."""

    __slots__ = ("reason", "redactions", "text", "tombstone")

    def __init__(self, text: str, redactions: int, reason: str = "", tombstone: str = "") -> None:
        self.text = text
        self.redactions = redactions
        self.reason = reason
        self.tombstone = tombstone

    @property
    def is_refused(self) -> bool:
        """True if nothing may be stored."""
        return bool(self.reason)


class Gate:
    """Knows all tombstones; asked before anything becomes a memory."""

    def __init__(self, tombstones: Iterable[Tombstone]) -> None:
        self._forgotten: dict[str, Tombstone] = {}
        self.learn(tombstones)

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """All of them."""
        return tuple(self._forgotten.values())

    def learn(self, tombstones: Iterable[Tombstone]) -> None:
        """Take new tombstones into account at once."""
        for tombstone in tombstones:
            self._forgotten[tombstone.normalized_text] = tombstone

    def tombstone_of(self, text: str) -> Tombstone | None:
        """Return the tombstone that blocks `text`, if one does."""
        # Normalising costs more than all the rest, and most people never forget anything.
        return self._forgotten.get(normalize(text)) if self._forgotten else None

    def screen(self, text: str) -> Verdict:
        """Redact `text` and say whether it may become a memory."""
        clean, redactions = redact(text)
        clean = clean.strip()
        tombstone = self.tombstone_of(clean) or self.tombstone_of(text)
        if tombstone is not None:
            since = tombstone.since.date().isoformat()
            why = f" ({tombstone.reason})" if tombstone.reason else ""
            return Verdict(clean, redactions, f"forgotten on {since}{why}", tombstone.id)
        if not clean:
            return Verdict(clean, redactions, "empty text")
        return Verdict(clean, redactions)
