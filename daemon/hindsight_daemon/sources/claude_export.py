"""Claude Code sessions exported as one JSON document with the records under `loglines`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from hindsight_daemon.model import Event
from hindsight_daemon.sources.claude_parser import ClaudeParser
from hindsight_daemon.sources.fields import sequence
from hindsight_daemon.sources.json_text import decode_object
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext


class ExportParser(ClaudeParser):
    """Reads one exported document; the number of a record stands in for its line."""

    def feed(self, line: RawLine) -> Iterator[Event]:
        """Yield the events of the whole document."""
        try:
            records = sequence(decode_object(line.text).get("loglines"))
        except ValueError as exc:
            self.skipped.append(Skipped(line=line.number, reason=str(exc)))
            return
        for number, record in enumerate(records, 1):
            if isinstance(record, dict):
                yield from self.feed_record(msgspec.structs.replace(line, number=number), record)


class ClaudeExport:
    """Exports of Claude Code on the web."""

    name = "claude-code-export"
    parser_version = 1
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a JSON object that begins with the key `loglines` or has it near the top."""
        begin = head.lstrip()
        return 0.95 if begin.startswith("{") and '"loglines"' in begin[:4096] else 0.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG002
        """Exports have no home."""
        return []

    def matches(self, path: Path) -> bool:
        """Accept JSON documents."""
        return path.suffix == ".json"

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser for one document."""
        return ExportParser(context)


SOURCE = ClaudeExport()
