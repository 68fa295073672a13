"""The documents of commands that the terminal side carries out by itself.

What the daemon answers is described in `hindsight_daemon.protocol.documents`; the same rules hold.
"""

from __future__ import annotations

from typing import Any

from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import MemoryView


class ConfigDocument(Document, kw_only=True):
    """hindsight.config/1; `origins` says default, file or `$VARIABLE` for every key."""

    path: str
    exists: bool
    settings: dict[str, Any]
    origins: dict[str, str]
    schema: str = "hindsight.config/1"


class ConfigValue(Document, kw_only=True):
    """hindsight.config-value/1"""

    key: str
    value: Any
    origin: str
    path: str
    schema: str = "hindsight.config-value/1"


class InstalledFile(Document, kw_only=True):
    """One file; `state` is written, unchanged or planned."""

    path: str
    state: str


class InstallDocument(Document, kw_only=True):
    """hindsight.install/1; `commands` are for the person to run."""

    files: list[InstalledFile]
    dry_run: bool = False
    commands: list[str] = []
    schema: str = "hindsight.install/1"


class TextDocument(Document, kw_only=True):
    """hindsight.text/1: a generated file, such as a completion script."""

    name: str
    text: str
    schema: str = "hindsight.text/1"


class LogDocument(Document, kw_only=True):
    """hindsight.log/1: the end of the daemon's log."""

    path: str
    lines: list[dict[str, Any]]
    schema: str = "hindsight.log/1"


class DemoQuery(Document, kw_only=True):
    """One question of the demo and its answer."""

    query: str
    took_ms: float
    memories: list[MemoryView]


class DemoDocument(Document, kw_only=True):
    """hindsight.demo/1"""

    transcripts: int
    events: int
    ingest_ms: float
    memories: list[dict[str, Any]]
    queries: list[DemoQuery]
    schema: str = "hindsight.demo/1"
