"""Every transcript is told by its content, and no family takes another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.errors import BadInput, UsageProblem
from hindsight_daemon.ingest.reader import OpenTranscript, read_head
from hindsight_daemon.sources.recognition import outline
from hindsight_daemon.sources.registry import SOURCES, families_by_root, sniff, source_named
from tests.support.transcripts import FIXTURES, fixture

FAMILIES = sorted(folder.name for folder in FIXTURES.iterdir())
PATH_TELLS = ("kilo-code", "roo-code")
"""Families whose content is that of another; only their folders differ."""
KINDRED = {
    "claude-code": ("claude-code", "claude-code-export"),
    "codex": ("codex", "codex-document", "chat-lines"),
    "cline": ("cline", "cline-store"),
    "opencode": ("opencode-tree",),
}
"""Folders of public transcripts that hold more than one family.

One public Codex file holds bare chat messages and nothing of Codex.
"""
NO_TRANSCRIPTS = ("meta.json", "summary.json", "__session.json", "usage-real-legacy.jsonl")
"""Public files that hold nothing that was said or done."""


def head_of(path: Path) -> str:
    with OpenTranscript(path, str(path)) as transcript:
        return read_head(transcript).text


@pytest.mark.parametrize("family", FAMILIES)
def test_a_transcript_is_told_wherever_it_lies(family: str, tmp_path: Path) -> None:
    if family in PATH_TELLS:
        pytest.skip("told by its folder")
    path = fixture(family)
    head = head_of(path)
    assert sniff(head, str(path))[0].name == family
    assert sniff(head, str(tmp_path / f"x{path.suffix}"))[0].name == family


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_is_as_sure_of_anothers_transcript(family: str) -> None:
    path = fixture(family)
    head = head_of(path)
    sure = [source.name for source in SOURCES if source.score(head, str(path)) > 0.9]
    allowed = {"openclaw": {"openclaw", "pi"}}.get(family, {family})
    assert set(sure) <= allowed


def test_every_public_transcript_is_its_own_family_or_refused(shared: Path) -> None:
    refused = []
    for path in sorted((shared / "transcripts").rglob("*")):
        if not path.is_file() or path.parent.name == "transcripts":
            continue
        folder = path.parent.name
        try:
            name = sniff(head_of(path), str(path))[0].name
        except BadInput:
            refused.append(path)
            continue
        own = KINDRED.get(folder, (folder, f"{folder}-document", f"{folder}-log"))
        assert name in own, path
    unexpected = [
        path
        for path in refused
        if path.stat().st_size
        and path.suffix not in (".db", ".vscdb")
        and path.parent.name not in ("kiro", "opencode", "zed")
        and not path.name.endswith(NO_TRANSCRIPTS)
    ]
    assert unexpected == []


def test_side_files_of_agents_are_refused(shared: Path) -> None:
    side_files = ["mistral-vibe/*meta.json", "grok-build/*summary.json", "cline/*__session.json"]
    for pattern in side_files:
        for path in (shared / "transcripts").glob(pattern):
            with pytest.raises(BadInput, match="no transcript of a known kind"):
                sniff(head_of(path), str(path))


def test_every_family_says_where_it_lives(tmp_path: Path) -> None:
    found = families_by_root({}, tmp_path)
    assert all(root.is_relative_to(tmp_path) for root in found)
    names = {source.name for families in found.values() for source in families}
    homeless = {source.name for source in SOURCES} - names
    assert {name for name in homeless if name in FAMILIES} == {
        "aider",
        "chatgpt-export",
        "claude-ai-export",
        "copilot-visualstudio",
        "generic",
        "sharegpt",
        "sharegpt-lines",
        "specstory-md",
        "swe-agent",
    }


def test_names_of_families_are_unique() -> None:
    names = [source.name for source in SOURCES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"a": [{"b": 1}], "c": {"d": "}{"}}', {"a", "a[].b", "c", "c.d"}),
        ('[{"x": {"y": [', {"[].x", "[].x.y"}),
        ('{"a": "cut in the mid', {"a"}),
        ('{"a": 1}\n{"a": 2}\n', set()),
        ("# a: text", set()),
        ('{"q\\"uote": 1}', {'q\\"uote'}),
    ],
)
def test_the_outline_of_a_document_needs_no_whole_document(text: str, paths: set[str]) -> None:
    assert outline(text) == paths


def test_an_outline_of_something_deep_stays_small() -> None:
    assert len(outline('{"a":' * 5000)) < 10


def test_an_unknown_name_of_a_family_is_answered_with_the_nearest_ones() -> None:
    for wrong, near in (
        ("claud-code", "claude-code"),
        ("kodex", "codex"),
        ("Gemini", "gemini-cli"),
    ):
        with pytest.raises(UsageProblem) as caught:
            source_named(wrong)
        assert f"did you mean `{near}`" in caught.value.hint
        assert caught.value.hint.count("`") <= 8 and len(caught.value.hint) < 160
    with pytest.raises(UsageProblem) as caught:
        source_named("zzz")
    assert caught.value.hint == "`hindsight doctor sources` lists the names"
