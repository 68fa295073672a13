"""How the retrieval benchmark reads sets, writes transcripts and tells pools apart."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.report import table
from benchmarks.retrieval import load_set, main, narrowed, write_transcript
from benchmarks.synthetic import Words, claude_code_transcripts, vectors


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "sets" / "talk"
    folder.mkdir(parents=True)
    corpus = [
        {"pool": pool, "id": f"D{n}", "session": "S1", "ts": "2026-01-01T00:00:00+00:00",
         "speaker": "Ann", "text": f"{pool} says {n}"}
        for pool in ("p1", "p2")
        for n in (1, 2)
    ]  # fmt: skip
    queries = [
        {"pool": pool, "id": f"{pool}:{n}", "query": "q?", "gold": ["D1"], "stale": [],
         "category": "c", "lang": "en"}
        for pool in ("p1", "p2")
        for n in (1, 2)
    ]  # fmt: skip
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "\n".join(json.dumps(row) for row in rows) + "\n\n"
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path / "sets"


def test_a_set_is_read_whole(data: Path) -> None:
    found = load_set(data / "talk")
    assert found.pools == ["p1", "p2"]
    assert (len(found.passages), len(found.questions)) == (4, 4)
    assert not found.is_facts


def test_a_pool_becomes_a_transcript_with_sessions_of_its_own(data: Path, tmp_path: Path) -> None:
    found = load_set(data / "talk")
    sessions = set()
    for pool in found.pools:
        lines = write_transcript(found, pool, tmp_path).read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        assert [record["id"] for record in records] == ["D1", "D2"]
        assert {record["speaker"] for record in records} == {"Ann"}
        sessions |= {record["session"] for record in records}
    assert len(sessions) == 2


def test_a_set_can_be_narrowed_to_pools_and_first_questions(data: Path) -> None:
    found = narrowed(load_set(data / "talk"), ["p2"], 1)
    assert [question.id for question in found.questions] == ["p2:1"]
    assert found.pools == ["p2"]
    assert len(narrowed(load_set(data / "talk"), [], 0).questions) == 4


def test_an_unknown_set_is_a_usage_error(data: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--data", str(data), "--sets", "nope"])
    assert caught.value.code == 2


def test_synthetic_material_is_the_same_every_time(tmp_path: Path) -> None:
    assert Words(3).sentence() == Words(3).sentence()
    assert (vectors(5, 8) == vectors(5, 8)).all()
    assert abs(float((vectors(5, 8) ** 2).sum()) - 5.0) < 0.01
    (path,) = claude_code_transcripts(tmp_path, 20_000, Words(3))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 20_000 <= path.stat().st_size < 25_000
    assert {record["type"] for record in records} == {"user", "assistant"}
    assert all(a["uuid"] == b["parentUuid"] for a, b in pairwise(records))


def test_a_table_lines_up() -> None:
    lines = table(["name", "n"], [["a", 10], ["longer", 2]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "|--------|---:|"
