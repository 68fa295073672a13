"""The gate on every write path: secrets out; forgotten, junk and steering texts kept out, with why.

Whatever becomes a memory passes `screen` first: transcripts, consolidation, `remember`, MCP,
import. What looks like an attempt to steer agents is held for a person rather than lost (see
`quarantine`); what a person released passes from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hindsight_daemon.engine.forgotten import Forgotten, sentences_of
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.engine.screen import is_junk, is_noise
from hindsight_daemon.engine.steering import needs_confirmation, steers
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.model import CONFIRM_TAG, RELEASED_TAG, Held, HeldState, Tombstone, Trust
from hindsight_daemon.service.recent import Recent

MAX_TEXT_CHARS = 20_000

Action = Literal["pass", "refuse", "hold"]


class Verdict:
    """Whether a text may be stored; `text` is what may be stored of it."""

    __slots__ = (
        "action",
        "held_id",
        "is_junk",
        "reason",
        "redactions",
        "tags",
        "text",
        "tombstone",
    )

    def __init__(
        self,
        text: str,
        redactions: int,
        action: Action = "pass",
        reason: str = "",
        *,
        tombstone: str = "",
        held_id: str = "",
        tags: tuple[str, ...] = (),
    ) -> None:
        self.text = text
        self.redactions = redactions
        self.action = action
        self.reason = reason
        self.tombstone = tombstone
        self.held_id = held_id
        """The id under which the same text is held already."""
        self.tags = tags
        """Marks that a memory of this text has to carry."""

    @property
    def is_refused(self) -> bool:
        """True if nothing may be stored, for now or for good."""
        return self.action != "pass"

    @property
    def is_held(self) -> bool:
        """True if a person has to decide; the writer puts it into quarantine."""
        return self.action == "hold"


def blocked_by(tombstone: Tombstone, text: str, redactions: int = 0) -> Verdict:
    """Return the verdict on a text that was forgotten."""
    since = tombstone.since.date().isoformat()
    why = f" ({tombstone.reason})" if tombstone.reason else ""
    return Verdict(text, redactions, "refuse", f"forgotten on {since}{why}", tombstone=tombstone.id)


class Gate:
    """Knows all tombstones and what is or was held; asked before anything becomes a memory."""

    def __init__(self, tombstones: Iterable[Tombstone] = (), held: Iterable[Held] = ()) -> None:
        self.forgotten = Forgotten()
        self._recent = Recent()
        self._held: dict[str, tuple[str, HeldState]] = {}
        self.learn(tombstones, held=held)

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """All of them."""
        return tuple(self.forgotten)

    @property
    def decisions(self) -> dict[str, tuple[str, HeldState]]:
        """Id and state of what is or was held, by the digest of its text."""
        return self._held

    def learn(
        self,
        tombstones: Iterable[Tombstone] = (),
        *,
        lifted: Iterable[str] = (),
        held: Iterable[Held] = (),
    ) -> None:
        """Take what was just committed into account."""
        if gone := tuple(lifted):
            self.forgotten.lift(gone)
        self.forgotten.add(tombstones)
        for one in held:
            self._held[one.digest] = (one.id, one.state)

    def knows(self, decisions: dict[str, tuple[str, HeldState]]) -> Gate:
        """Take over another gate's decisions; returns itself."""
        self._held.update(decisions)
        return self

    def tombstone_of(self, text: str) -> Tombstone | None:
        """Return the tombstone that blocks `text`, or a sentence of it, if one does."""
        return self.forgotten.blocking_part(text) if self.forgotten else None

    def screen(self, text: str, *, trust: Trust = "agent", source: str = "") -> Verdict:
        """Redact `text` and say whether it may become a memory of this origin.

        A person may state rules in whatever words; all others must not speak to the reader, and
        what one `source` (a session, a client) says is also looked at together.
        """
        clean, redactions = redact(text)
        clean = clean.strip()
        tombstone = self.forgotten.blocking(clean) or self.forgotten.blocking(text)
        if tombstone is not None:
            return blocked_by(tombstone, clean, redactions)
        if not clean:
            return Verdict(clean, redactions, "refuse", "empty text")
        is_own_word = trust == "user"
        junk = is_noise(clean) if is_own_word else is_junk(clean)
        if junk:
            return Verdict(clean, redactions, "refuse", junk)
        tags = (CONFIRM_TAG,) if needs_confirmation(clean) else ()
        # Asked of the text as it came: what was redacted must not hide what it is sent to.
        suspicion = steers(text, is_own_word=is_own_word)
        suspicion = suspicion or self._recent.suspicion(source, clean, is_own_word=is_own_word)
        if suspicion:
            return self._suspect(clean, redactions, suspicion, tags)
        return Verdict(clean, redactions, tags=tags)

    def _suspect(
        self, clean: str, redactions: int, suspicion: str, tags: tuple[str, ...]
    ) -> Verdict:
        held_id, state = self._held.get(content_hash(clean), ("", "held"))
        if state == "released":
            return Verdict(clean, redactions, tags=(RELEASED_TAG, *tags))
        if state == "dropped":
            return Verdict(clean, redactions, "refuse", f"{suspicion}: a person refused it")
        return Verdict(clean, redactions, "hold", suspicion, held_id=held_id, tags=tags)

    def excerpt(self, text: str) -> str:
        """Return what may be kept of a text beside the memory itself, such as a goal or a key.

        Secrets are replaced; sentences that were forgotten or that steer are left out.
        """
        clean, _ = redact(text)
        clean = self.forgotten.without(clean)
        if not steers(clean):
            return clean
        kept = " ".join(part for part in sentences_of(clean) if not steers(part))
        return "" if steers(kept) else kept
