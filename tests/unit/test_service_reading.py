# ruff: noqa: ARG002 - a family has to take what the port hands it
"""A family that trips over a transcript costs that transcript, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from hindsight_daemon.errors import Bug
from hindsight_daemon.model import Event
from hindsight_daemon.service.reading import LastTurns, ReadJob, read
from hindsight_daemon.sources import registry
from hindsight_daemon.sources.port import Parser, RawLine, Skipped, TranscriptContext

SECRET = "what was said"


class TrippingParser:
    """Looks a key up that is not there."""

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self.unknown: dict[str, int] = {}

    def feed(self, line: RawLine) -> Iterator[Event]:
        yield {}[line.text]  # type: ignore[misc]

    def state(self) -> str:
        return ""


class Tripping:
    """A family of one kind of transcript, with a mistake in its parser."""

    name = "tripping"
    parser_version = 1
    container: Literal["lines"] = "lines"

    def score(self, head: str, path: str) -> float:
        return 1.0

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        return []

    def matches(self, path: Path) -> bool:
        return False

    def parser(self, context: TranscriptContext) -> Parser:
        return TrippingParser()


def test_a_mistake_in_a_parser_is_a_refusal_of_its_transcript_that_quotes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SOURCES", (*registry.SOURCES, Tripping()))
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"text": SECRET}) + "\n", encoding="utf-8")
    job = ReadJob(path=str(path), now=datetime(2026, 8, 1, tzinfo=UTC), source="tripping")
    with pytest.raises(Bug) as caught:
        list(read(job, LastTurns()))
    assert str(path) in caught.value.message and "KeyError" in caught.value.message
    assert SECRET not in caught.value.message + caught.value.hint
