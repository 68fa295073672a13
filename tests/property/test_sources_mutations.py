"""Whatever becomes of a transcript's bytes, its family reads it without failing or doubling."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.ingest.transcript import read_transcript
from hindsight_daemon.model import Event
from hindsight_daemon.sources.registry import source_named
from tests.support.transcripts import FIXTURES, fixture

FAMILIES = sorted(
    folder.name
    for folder in FIXTURES.iterdir()
    if folder.name not in ("claude-code", "codex", "generic")
)
NAMELESS = ("cursor", "grok-build", "sharegpt-lines")
"""Families whose records have no identity but their place."""
LINED = [name for name in FAMILIES if source_named(name).container == "lines"]
TEXTS = ("aider", "cursor-text", "specstory-md")
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def spoiled(value: Any, steps: list[int], junk: Any) -> Any:
    """Replace the value that `steps` lead to; every step picks a child by number."""
    if not steps or not isinstance(value, dict | list) or not value:
        return junk
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    chosen = keys[steps[0] % len(keys)]
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[chosen] = spoiled(value[chosen], steps[1:], junk)
    return copied


def read(path: Path, family: str) -> list[Event]:
    try:
        batches = list(read_transcript(path, source_name=family))
    except HindsightError:
        return []
    return [event for batch in batches for event in batch.events]


def check(events: list[Event]) -> None:
    for event in events:
        assert event.id
        assert event.session_id
        assert event.seq >= 0
        event.text.encode("utf-8")
    assert len({event.id for event in events}) == len(events)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=max(20, settings().max_examples // 3))
@given(data=st.data())
def test_cut_and_spoiled_bytes_are_read_without_failing(family: str, data: st.DataObject) -> None:
    whole = fixture(family).read_bytes()
    changed = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, fixture(family).name)
        path.write_bytes(bytes(changed))
        check(read(path, family))


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(TEXTS)))
@settings(max_examples=max(20, settings().max_examples // 3))
@given(data=st.data())
def test_wrong_values_are_read_without_failing(family: str, data: st.DataObject) -> None:
    text = fixture(family).read_text(encoding="utf-8").replace("}}{", "}}\n{")
    is_lines = fixture(family).suffix == ".jsonl"
    values = [json.loads(one) for one in text.splitlines()] if is_lines else [json.loads(text)]
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(values) - 1))
        steps = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=8))
        values[number] = spoiled(values[number], steps, data.draw(JUNK))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, fixture(family).name)
        path.write_text("".join(json.dumps(one) + "\n" for one in values), encoding="utf-8")
        check(read(path, family))


@pytest.mark.parametrize("family", LINED)
@settings(max_examples=max(20, settings().max_examples // 3))
@given(data=st.data())
def test_doubled_lost_and_foreign_lines_are_read_without_failing(
    family: str, data: st.DataObject
) -> None:
    own = fixture(family).read_bytes().splitlines(keepends=True)
    other = data.draw(st.sampled_from(FAMILIES))
    foreign = fixture(other).read_bytes().splitlines(keepends=True)
    chosen = data.draw(st.lists(st.sampled_from([*own, *foreign]), max_size=20))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, fixture(family).name)
        path.write_bytes(b"".join(chosen))
        check(read(path, family))


@pytest.mark.parametrize("family", LINED)
@settings(max_examples=max(20, settings().max_examples // 3))
@given(data=st.data())
def test_a_log_read_while_it_grows_gives_what_it_gives_as_a_whole(
    family: str, data: st.DataObject
) -> None:
    source = fixture(family)
    whole = source.read_bytes()
    expected = {event.id: event for event in read(source, family)}
    cuts = sorted(data.draw(st.lists(st.integers(1, len(whole)), max_size=5)))
    found: dict[str, Event] = {}
    checkpoint = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, *source.relative_to(FIXTURES).parts)
        path.parent.mkdir(parents=True)
        for cut in [*cuts, len(whole)]:
            path.write_bytes(whole[:cut])
            for batch in read_transcript(
                path,
                checkpoint=checkpoint,
                source_name=family,
                label=str(source),
                final=cut == len(whole),
            ):
                found.update((event.id, event) for event in batch.events)
                checkpoint = batch.checkpoint
    assert found == expected


@pytest.mark.parametrize("family", sorted(set(LINED) - set(NAMELESS)))
def test_lines_that_come_twice_give_their_events_once(family: str, tmp_path: Path) -> None:
    source = fixture(family)
    path = tmp_path.joinpath(*source.relative_to(FIXTURES).parts)
    path.parent.mkdir(parents=True)
    text = source.read_bytes()
    path.write_bytes(text + text.rstrip(b"\n").splitlines(keepends=True)[-1] + b"\n")
    labelled = read_transcript(path, source_name=family, label=str(source))
    twice = [event.id for batch in labelled for event in batch.events]
    assert twice == [event.id for event in read(source, family)]
