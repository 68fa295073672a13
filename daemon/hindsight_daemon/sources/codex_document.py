"""The first Codex command line's sessions: one JSON document with `session` and `items`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from hindsight_daemon.model import Event
from hindsight_daemon.sources import codex
from hindsight_daemon.sources.codex_parser import CodexParser
from hindsight_daemon.sources.fields import mapping, sequence
from hindsight_daemon.sources.json_text import decode_object
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext


class DocumentParser(CodexParser):
    """Reads one document; the number of an item stands in for its line."""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of the whole document."""
        try:
            document = decode_object(line.text)
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        session = {"instructions": None, **mapping(document.get("session"))}
        records = [session, *sequence(document.get("items"))]
        for number, record in enumerate(records, 1):
            if isinstance(record, dict):
                yield from self.feed_record(msgspec.structs.replace(line, number=number), record)


class CodexDocument:
    """Sessions of the Codex command line of spring 2025."""

    name = "codex-document"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a JSON object that begins with `session` and has `items`."""
        begin = head.lstrip()[:4096]
        if not begin.startswith("{") or '"session"' not in begin[:32]:
            return 0.0
        return 0.92 if '"items"' in begin or '"instructions"' in begin else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders of the later rollouts, where these lie as well."""
        return codex.SOURCE.roots(env, home)

    def matches(self, path: Path) -> bool:
        """Accept rollouts that are documents."""
        return path.name.startswith("rollout-") and path.suffix == ".json"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one document."""
        return DocumentParser(context)


SOURCE = CodexDocument()
