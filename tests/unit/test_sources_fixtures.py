"""Whole small transcripts, as agents write them, come out as the story they tell."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.ingest.discover import find_transcripts
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event

TRANSCRIPTS = Path(__file__).resolve().parent.parent / "fixtures" / "transcripts"


def story(folder: str) -> list[str]:
    return [told(event) for event in events_in(folder)]


def events_in(folder: str) -> list[Event]:
    (found,) = find_transcripts(TRANSCRIPTS / folder)
    return [event for batch in read_transcript(found.path) for event in batch.events]


def told(event: Event) -> str:
    words = [event.kind]
    if event.tool is not None:
        tool = event.tool
        words += [tool.name, tool.command or " ".join(event.files)]
        if event.kind == "tool_result":
            words += [tool.status or "", "" if tool.exit_code is None else f"→{tool.exit_code}"]
    else:
        words.append(event.text)
    flags = (event.is_synthetic and "(synthetic)", event.ends_turn and "(end)")
    return " ".join(word for word in (*words, *flags) if word)


def test_a_claude_code_session_tells_its_story() -> None:
    assert story("claude-code") == [
        "prompt /clear (synthetic)",
        "prompt The tax test fails on CI, fix it.",
        "text I will run the test first.",
        "tool_call Bash pytest -q tests/test_tax.py",
        "tool_result Bash pytest -q tests/test_tax.py →1",
        "text Half values are rounded up; the law wants half-even.",
        "tool_call Edit /work/shop/tax.py",
        "tool_result Edit /work/shop/tax.py invalid",
        "tool_call Read /work/shop/tax.py",
        "tool_result Read /work/shop/tax.py",
        "tool_call Edit /work/shop/tax.py",
        "tool_result Edit /work/shop/tax.py",
        "prompt 以后都用 Decimal，不要用 float",
        "tool_call Bash pytest -q tests/test_tax.py",
        "tool_result Bash pytest -q tests/test_tax.py →0",
        "text The test passes: tax.py now rounds half-even. (end)",
    ]


def test_a_codex_rollout_tells_its_story() -> None:
    assert story("codex") == [
        "prompt fix the lint",
        "reasoning **Running the linter**",
        "tool_call exec_command ruff check shop",
        "tool_result exec_command ruff check shop →1",
        "tool_call apply_patch /work/shop/shop/cart.py",
        "tool_result apply_patch /work/shop/shop/cart.py",
        "tool_call exec_command ruff check shop",
        "tool_result exec_command ruff check shop →0",
        "text Lint is clean.",
        "text (synthetic) (end)",
    ]


def test_people_talking_keep_their_names() -> None:
    assert [(event.speaker, event.external_id, event.kind) for event in events_in("generic")] == [
        ("李雷", "1", "text"),
        ("Mei", "2", "text"),
    ]
