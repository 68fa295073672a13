"""Every public transcript gives what a count over its raw records finds in it, no more, no less.

The counts know nothing of the parsers: they go through the JSON and look at types and ids.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.model import Event
from tests.support.transcripts import events_of

NOTHING_SAID = {
    # Snapshots of files and a title of another session.
    "obra_episodic-memory__medium-conversation.jsonl",
    # Token counts and stream marks only.
    "jazzyalex_agent-sessions__codex_050_legacy.jsonl",
    "jazzyalex_agent-sessions__codex_051_usage.jsonl",
    "jazzyalex_agent-sessions__codex_052_raw.jsonl",
    "ryoppippi_ccusage__session-alpha.jsonl",
    "steipete_CodexBar__sibling-a.jsonl",
    "steipete_CodexBar__sibling-b.jsonl",
    # The database of a chat whose messages were taken out.
    "jazzyalex_agent-sessions__test-store.db",
}
NO_TRANSCRIPT = {
    "steipete_CodexBar__codex-historical-usage-real-legacy.jsonl": "usage lines",
    "cline_cline__session.json": "a side file",
    "jazzyalex_agent-sessions__summary.json": "a side file",
    "kenn-io_agentsview__meta.json": "a side file",
    "kenn-io_agentsview__vibe~session_with_tools~meta.json": "a side file",
    "S2thend_cursor-history__empty.jsonl": "empty",
    "kenn-io_agentsview__vibe~session_empty~messages.jsonl": "empty",
    "kenn-io_agentsview__zed-legacy-threads.sql": "statements that make a database",
}
"""Kiro's payloads are values of a table, OpenCode's files parts of a tree: both have own tests."""
CALLS = ("tool_use", "toolCall", "function_call", "custom_tool_call", "local_shell_call")
RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
SHAPES = ("claude-code", "codex", "pi", "openclaw", "iflow", "qwen-code")


def _files(shared: Path, *folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((shared / "transcripts" / folder).glob("*")):
            if path.name not in NO_TRANSCRIPT:
                yield path


def _records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log or of an export, each native id once."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        found = json.loads(text)["loglines"]
    else:
        found = [json.loads(line) for line in text.splitlines() if _is_json(line)]
    unique: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(found):
        # Only Claude Code writes a record again as it is; Qwen gives several the same id.
        key = record.get("uuid") if path.parent.name == "claude-code" else ""
        unique.setdefault(key or f"line {number}", record)
    return list(unique.values())


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message, or the item of a rollout."""
    payload, message = record.get("payload"), record.get("message")
    if record.get("type") == "response_item" and isinstance(payload, dict):
        return [payload]
    if record.get("type") == "progress" or not isinstance(message, dict):
        return [record] if record.get("type") in CALLS + RESULTS else []
    if message.get("role") == "toolResult":
        return [{**message, "type": "tool_result", "tool_use_id": message.get("toolCallId")}]
    if isinstance(message.get("parts"), list):
        kinds = (("functionCall", "tool_use"), ("functionResponse", "tool_result"))
        return [{**p[k], "type": to} for p in message["parts"] for k, to in kinds if k in p]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def _ids(records: list[dict[str, Any]], types: tuple[str, ...]) -> set[str]:
    """Return the ids of calls or results; what has none is counted by its family's own tests."""
    return {
        str(block.get("tool_use_id") or block.get("call_id") or block.get("id"))
        for record in records
        for block in _blocks(record)
        if block.get("type") in types
    } - {"None"}


def _called(events: list[Event], kind: str) -> set[str]:
    return {event.tool.call_id for event in events if event.kind == kind and event.tool}


def _times(path: Path) -> list[datetime]:
    text = path.read_text(encoding="utf-8")
    stamps = re.findall(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*Z?)"', text)
    found = [datetime.fromisoformat(stamp) for stamp in stamps]
    return sorted(one if one.tzinfo else one.replace(tzinfo=UTC) for one in found)


@pytest.mark.parametrize("folder", SHAPES)
def test_calls_results_failures_and_times_are_those_in_the_records(
    shared: Path, folder: str
) -> None:
    for path in _files(shared, folder):
        records, events = _records(path), events_of(path)
        calls, results = _ids(records, CALLS), _ids(records, RESULTS)
        assert calls <= _called(events, "tool_call"), path
        assert results <= _called(events, "tool_result"), path
        if folder != "codex":
            # Codex also tells calls by what their end says, and searches that have no id; of Pi
            # what a person ran is a call as well.
            # Calls without an id are named by their line.
            named = _called(events, "tool_call")
            nameless = re.compile(r"!|\w+-(line-)?\d|\[trimmed|$")
            assert {one for one in named if one in calls or not nameless.match(one)} == calls, path
        failed = {
            str(block["tool_use_id"])
            for record in records
            for block in _blocks(record)
            if "tool_use_id" in block and True in (block.get("is_error"), block.get("isError"))
        }
        flagged = {e.tool.call_id for e in events if e.tool and e.tool.is_error is True}
        assert failed <= flagged, path
        times = _times(path)
        own = sorted(event.ts for event in events if event.ts)
        assert not own or (times[0] <= own[0] and own[-1] <= times[-1]), path
        assert len({event.id for event in events}) == len(events), path


def test_claudes_sessions_and_prompts_are_those_in_the_records(shared: Path) -> None:
    counted = Counter[str]()
    for path in _files(shared, "claude-code"):
        records, events = _records(path), events_of(path)
        typed = [
            record
            for record in records
            if record.get("type") == "user"
            and not any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))
            and (record.get("origin") or {}).get("kind") in (None, "human", "user")
            and _typed(record)
        ]
        queued = [
            record
            for record in records
            if isinstance(record.get("attachment"), dict)
            and record["attachment"].get("type") == "queued_command"
        ]
        people = [
            event
            for event in events
            if event.kind == "prompt" and not event.is_synthetic and not event.is_sidechain
        ]
        commands = sum("<command-name>" in json.dumps(record.get("message")) for record in records)
        most = len(typed) + len(queued) + _enqueued(records) + commands
        assert len(typed) <= len(people) <= most, path
        named = {record["sessionId"] for record in records if record.get("sessionId")}
        main = {e.session_id for e in events if not e.is_sidechain and not e.parent_session_id}
        assert not named or main <= named | {path.stem}, path
        counted["prompts"] += len(typed)
        counted["people"] += len(people)
    assert counted["prompts"] >= 50


def _enqueued(records: list[dict[str, Any]]) -> int:
    return sum(r.get("type") == "queue-operation" and bool(r.get("content")) for r in records)


def _typed(record: dict[str, Any]) -> str:
    content = (record.get("message") or {}).get("content")
    if isinstance(content, list):
        if any(block.get("type") == "tool_result" for block in content):
            return ""
        pictures = [block for block in content if block.get("type") == "image"]
        content = "".join(block.get("text", "") for block in content)
        content = content or ("[image]" if pictures else "")
    text = str(content or "").strip()
    is_envelope = text.startswith(("<", "[Request interrupted", "Caveat:", "This session is being"))
    return "" if is_envelope else text


def test_codex_prompts_interrupts_compactions_and_results_are_those_in_the_records(
    shared: Path,
) -> None:
    for path in _files(shared, "codex"):
        records, events = _records(path), events_of(path)
        payloads = [record.get("payload") or {} for record in records]
        kinds = Counter(
            str(payload.get("type"))
            for record, payload in zip(records, payloads, strict=True)
            if record.get("type") == "event_msg"
        )
        typed = {p["message"] for p in payloads if p.get("type") == "user_message"}
        typed |= {text for p in [*payloads, *records] if (text := _spoken(p))}
        said = {event.text for event in events if event.kind == "prompt"}
        plain = {" ".join(text.split()) for text in typed}
        assert plain <= {" ".join(text.split()) for text in said}, path
        assert len(said) <= max(len(typed), 1), path
        interrupts = sum(event.kind == "interrupt" for event in events)
        assert interrupts == kinds["turn_aborted"] + kinds["thread_rolled_back"], path
        compacted = sum(record.get("type") == "compacted" for record in records)
        compacted += sum(record.get("type") == "compaction" for record in records)
        assert sum(event.kind == "compaction" for event in events) >= min(compacted, 1), path
        named = {payload.get("id") for r, payload in zip(records, payloads, strict=True)
                 if r.get("type") == "session_meta"}  # fmt: skip
        if events and named:
            assert {event.session_id for event in events} <= named, path


def _spoken(item: dict[str, Any]) -> str:
    """Return what a person said in an item of a rollout or of a stream."""
    if item.get("type") != "message" or item.get("role") != "user":
        return ""
    blocks = item.get("content")
    text = "".join(block.get("text", "") for block in blocks) if isinstance(blocks, list) else ""
    text = text or str(item.get("message") or (blocks if isinstance(blocks, str) else ""))
    return "" if text.startswith(("<", "# AGENTS.md")) else text


def test_every_public_file_is_read_or_known_to_hold_nothing(shared: Path) -> None:
    silent, refused = set(), {}
    for path in sorted((shared / "transcripts").glob("*/*")):
        if path.parent.name in ("kiro", "opencode"):
            continue
        try:
            events = events_of(path)
        except HindsightError as exc:
            refused[path.name] = exc.message
            continue
        if not events:
            silent.add(path.name)
    meta = {name for name in silent if "archived-fork" in name}
    assert silent - meta == NOTHING_SAID
    assert len(meta) == 2
    assert refused.keys() == NO_TRANSCRIPT.keys()


def test_the_index_lists_what_is_read_here(shared: Path) -> None:
    """Interrupts and failures that the index counted by hand, except in rendered Markdown."""
    index = (shared / "transcripts" / "INDEX.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| (\S+) \|.*$", index, re.MULTILINE):
        path = shared / "transcripts" / row
        (line,) = [one for one in index.splitlines() if one.startswith(f"| {row} |")]
        if path.suffix == ".md" or not (told := re.search(r"tool errors (\d+)", line)):
            continue
        failed = sum(bool(e.tool and e.tool.is_error) for e in events_of(path))
        known = {"small.jsonl": 1}  # two records of one id, trimmed by whoever made the file
        name = path.name.split("__")[-1]
        wanted = min(int(told[1]), known.get(name, 999)) if "claude" in row else int(told[1])
        assert failed >= wanted, (row, failed)
