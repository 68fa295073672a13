"""Reads transcripts for tests of the sources, and tells their events as short lines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "transcripts"


def events_of(path: Path) -> list[Event]:
    """Return all events of a transcript, its family told by its content."""
    return [event for batch in read_transcript(path) for event in batch.events]


def fixture(name: str) -> Path:
    """Return the only file of a fixture folder."""
    (file,) = (path for path in sorted((FIXTURES / name).rglob("*")) if path.is_file())
    return file


def story(name: str) -> list[str]:
    """Return the events of a fixture as lines."""
    return [told(event) for event in events_of(fixture(name))]


def told(event: Event) -> str:
    """Return kind, tool with its end, or text, and flags of an event."""
    words: list[str] = [event.kind]
    if event.tool is not None:
        tool = event.tool
        words += [tool.name, tool.command or " ".join(event.files)]
        if event.kind == "tool_result":
            words += [tool.status, "" if tool.exit_code is None else f"→{tool.exit_code}"]
            words += ["failed"] if tool.is_error and tool.exit_code is None else []
    else:
        words.append(event.text)
    words += ["(synthetic)"] if event.is_synthetic else []
    words += ["(sidechain)"] if event.is_sidechain else []
    words += ["(end)"] if event.ends_turn else []
    return " ".join(word for word in words if word)


def lines(path: Path, *records: Any) -> Path:
    """Write JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)
    path.write_text(text, encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    """Write a JSON document as agents do, over several lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def tally(folder: Path) -> dict[str, dict[str, int]]:
    """Count what the files of a folder hold, by file; refused files are left out.

    Per file: `sessions`, each kind of event, `failed` results and events without a time.
    """
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.iterdir()):
        try:
            events = events_of(path)
        except HindsightError:
            continue
        counts = Counter[str](event.kind for event in events)
        counts["sessions"] = len({event.session_id for event in events})
        counts["human"] = sum(
            event.kind == "prompt" and not event.is_synthetic and not event.is_sidechain
            for event in events
        )
        counts["failed"] = sum(bool(event.tool and event.tool.is_error) for event in events)
        counts["timeless"] = sum(event.ts is None for event in events)
        found[path.name.split("__", 1)[-1]] = dict(counts)
    return found


def texts(events: list[Event], kind: str) -> list[str]:
    """Return the texts of one kind of events."""
    return [event.text for event in events if event.kind == kind]
