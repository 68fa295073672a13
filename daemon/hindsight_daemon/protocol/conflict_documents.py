"""The documents about memories that say otherwise than each other.

Public. Each top-level document names its schema, such as `hindsight.conflicts/1`.
"""

from __future__ import annotations

from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import MemoryView


class ConflictView(Document, kw_only=True):
    """Two memories that cannot both hold, and why."""

    newer: MemoryView
    older: MemoryView
    reason: str


class ConflictsResult(Document, kw_only=True):
    """hindsight.conflicts/1: last told first; `total` also counts those beyond the limit."""

    conflicts: list[ConflictView]
    total: int = 0
    schema: str = "hindsight.conflicts/1"


class ResolveResult(Document, kw_only=True):
    """hindsight.resolve/1: the memories decided upon, and those of them that were retired."""

    resolved: list[str]
    superseded: list[str] = []
    dry_run: bool = False
    schema: str = "hindsight.resolve/1"
