"""Reading transcripts: bad input, resuming, bounds. The matrix of odd files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

from hindsight_daemon.errors import BadInput, NoInput, PermissionProblem
from hindsight_daemon.ingest import reader
from hindsight_daemon.ingest.transcript import BATCH_EVENTS, TranscriptBatch, read_transcript
from hindsight_daemon.model import Checkpoint, Event


def message(number: int, text: str = "") -> str:
    return json.dumps(
        {"session": "S", "id": str(number), "role": "user", "text": text or f"m{number}"}
    )


def write(path: Path, *texts: str, end: str = "\n") -> Path:
    path.write_bytes("".join(text + end for text in texts).encode("utf-8", "surrogatepass"))
    return path


def read(path: Path, checkpoint: Checkpoint | None = None, **options: Any) -> list[TranscriptBatch]:
    return list(read_transcript(path, checkpoint=checkpoint, source_name="generic", **options))


def texts(batches: list[TranscriptBatch]) -> list[str]:
    return [event.text for batch in batches for event in batch.events]


def test_origins_point_at_the_bytes_of_their_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1), message(2, "中文"))
    data = path.read_bytes()
    for event in read(path)[0].events:
        origin = event.origin
        assert origin is not None
        raw = data[origin.byte_start : origin.byte_end]
        assert json.loads(raw)["text"] == event.text
        assert hashlib.sha256(raw).hexdigest() == origin.sha256
        assert origin.path == str(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bom_and_line_ends_do_not_matter(tmp_path: Path, end: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + (message(1) + end + message(2) + end).encode())
    (batch,) = read(path)
    assert texts([batch]) == ["m1", "m2"]
    assert batch.skipped_total == 0
    assert batch.checkpoint.offset == path.stat().st_size


def test_nul_bytes_blank_lines_and_bad_utf8_lose_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        message(1).encode()
        + b"\n\n   \n\x00\x00"
        + message(2).encode()
        + b'\n{"text":"a\xffb"}\n{"text": broken\n'
        + message(3).encode()
        + b"\n"
    )
    (batch,) = read(path)
    assert texts([batch]) == ["m1", "m2", "a\ufffdb", "m3"]
    assert [skip.line for skip in batch.skipped] == [6]
    assert batch.warnings == ("lines with bytes that are not UTF-8, shown as U+FFFD: 1",)


def test_a_torn_last_line_is_left_for_the_next_read(tmp_path: Path) -> None:
    whole = message(2)
    path = write(tmp_path / "x.jsonl", message(1))
    with path.open("a") as file:
        file.write(whole[:10])
    (first,) = read(path, final=False)
    assert texts([first]) == ["m1"]
    with path.open("a") as file:
        file.write(whole[10:] + "\n")
    assert texts(read(path, first.checkpoint, final=False)) == ["m2"]


def test_a_whole_last_line_without_newline_counts_at_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1), message(2), end="\n")
    path.write_bytes(path.read_bytes()[:-1])
    (batch,) = read(path)
    assert texts([batch]) == ["m1", "m2"]
    assert batch.checkpoint.offset == len(message(1)) + 1
    with path.open("a") as file:
        file.write("\n" + message(3) + "\n")
    again = read(path, batch.checkpoint)
    assert texts(again) == ["m2", "m3"]
    assert again[0].events[0].id == batch.events[1].id


def test_a_cut_last_line_is_reported_at_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1))
    with path.open("a") as file:
        file.write(message(2)[:10])
    (batch,) = read(path)
    assert texts([batch]) == ["m1"]
    assert [skip.line for skip in batch.skipped] == [2]


def test_an_overlong_line_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_LINE_BYTES", 600_000)
    path = write(tmp_path / "x.jsonl", message(1), message(2, "x" * 700_000), message(3))
    (batch,) = read(path)
    assert texts([batch]) == ["m1", "m3"]
    assert [skip.line for skip in batch.skipped] == [2]


def test_a_line_of_thirty_megabytes_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1), message(2, "x" * 30_000_000), message(3))
    (batch,) = read(path)
    assert texts([batch]) == ["m1", "m3"]
    assert batch.skipped[0].reason == "longer than 16 MiB"


def test_long_transcripts_come_in_bounded_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", *(message(number) for number in range(3 * BATCH_EVENTS + 1)))
    batches = read(path)
    assert [len(batch.events) for batch in batches] == [BATCH_EVENTS] * 3 + [1]
    assert texts(read(path, batches[1].checkpoint)) == texts(batches[2:])


def test_a_document_of_many_events_comes_in_bounded_batches(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": f"m{number}"} for number in range(5 * BATCH_EVENTS)]
    path = write(tmp_path / "x.json", json.dumps(talk))
    batches = list(read_transcript(path))
    assert max(len(batch.events) for batch in batches) <= 2 * BATCH_EVENTS
    assert [text for batch in batches for text in texts([batch])] == [m["content"] for m in talk]
    assert {batch.checkpoint.offset for batch in batches[:-1]} == {0}


def test_reading_again_without_change_gives_nothing_new(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1))
    (first,) = read(path)
    (second,) = read(path, first.checkpoint)
    assert second.events == ()
    assert second.checkpoint == first.checkpoint


@pytest.mark.parametrize("name", ["x.md", "x.json"])
def test_a_document_is_read_again_only_if_it_changed(tmp_path: Path, name: str) -> None:
    old = "User: a\nAssistant: b\n" if name == "x.md" else '[{"role":"user","content":"a"}]'
    path = write(tmp_path / name, old)
    first = list(read_transcript(path))
    (second,) = read_transcript(path, checkpoint=first[-1].checkpoint)
    assert second.events == ()
    write(path, old.replace("a", "c", 1) if name == "x.md" else old.replace('"a"', '"c"'))
    third = list(read_transcript(path, checkpoint=second.checkpoint))
    assert third[-1].events


@pytest.mark.parametrize("change", ["cut", "rewritten", "replaced", "reparsed"])
def test_a_file_that_is_no_longer_the_same_is_read_from_the_start(
    tmp_path: Path, change: str
) -> None:
    path = write(tmp_path / "x.jsonl", message(1), message(2))
    (first,) = read(path)
    checkpoint = first.checkpoint
    if change == "cut":
        write(path, message(7))
    elif change == "rewritten":
        write(path, message(8), message(9))
    elif change == "replaced":
        write(tmp_path / "new", message(1), message(2), message(3)).replace(path)
    else:
        fields = {name: getattr(checkpoint, name) for name in checkpoint.__struct_fields__}
        checkpoint = Checkpoint(**{**fields, "parser_version": 0})
    batches = read(path, checkpoint)
    assert batches[0].restarted
    expected = {"cut": ["m7"], "rewritten": ["m8", "m9"], "replaced": ["m1", "m2", "m3"]}
    assert texts(batches) == expected.get(change, ["m1", "m2"])


def test_a_file_that_became_another_kind_is_sniffed_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1))
    (first,) = read_transcript(path)
    user = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "hi"}}
    write(path, json.dumps(user))
    (second,) = read_transcript(path, checkpoint=first.checkpoint)
    assert (first.source, second.source) == ("generic", "claude-code")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_transcripts_are_read_and_resumed(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "x.jsonl.packed"
    path.write_bytes(pack((message(1) + "\n" + message(2) + "\n").encode()))
    (first,) = read(path)
    assert texts([first]) == ["m1", "m2"]
    assert texts(read(path, first.checkpoint)) == []
    path.write_bytes(pack((message(1) + "\n" + message(3) + "\n").encode()))
    assert texts(read(path, first.checkpoint)) == ["m1", "m3"]


def test_a_damaged_packed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(zstandard.compress(os.urandom(200_000))[:1000])
    with pytest.raises(BadInput):
        read(path)


def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="no file"):
        read(tmp_path / "missing.jsonl")
    with pytest.raises(BadInput, match="folder"):
        read(tmp_path)
    with pytest.raises(NoInput, match="empty"):
        read(write(tmp_path / "empty.jsonl"))
    with pytest.raises(NoInput, match="white space"):
        read(write(tmp_path / "blank.jsonl", "", "  ", "\t"))
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(BadInput) as caught:
        read(tmp_path / "fifo")
    assert "hindsight ingest -" in caught.value.hint
    with pytest.raises(BadInput, match="pipe or device"):
        read(Path("/dev/null"))


def test_binary_and_foreign_text_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for data, reason in [
        (bytes(range(256)) * 40, "binary"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (message(1).encode("utf-16"), "UTF-16"),
    ]:
        path.write_bytes(data)
        with pytest.raises(BadInput, match=reason):
            list(read_transcript(path))


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_a_permission_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1))
    path.chmod(0)
    with pytest.raises(PermissionProblem):
        read(path)
    path.chmod(0o600)
    assert texts(read(path)) == ["m1"]


def test_a_file_too_young_to_be_understood_is_no_error_while_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl")
    assert list(read_transcript(path, final=False)) == []
    path.write_text('{"type":"user","mess')
    assert list(read_transcript(path, final=False)) == []


def test_only_metadata_is_no_error_but_a_warning(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.jsonl", json.dumps({"type": "summary", "summary": "s", "leafUuid": "l"})
    )
    (batch,) = read_transcript(path)
    assert batch.events == ()
    assert batch.warnings == ("nothing that was said or done was found",)


def test_a_label_stands_for_the_path(tmp_path: Path) -> None:
    path = write(tmp_path / "spooled", message(1))
    (batch,) = read(path, label="stdin")
    assert (batch.path, batch.checkpoint.path) == ("stdin", "stdin")
    assert batch.events[0].origin is not None
    assert batch.events[0].origin.path == "stdin"


def test_secrets_leave_no_trace_in_events(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1, "use password=hunter2 please"))
    (batch,) = read(path)
    assert texts([batch]) == ["use password=[redacted:password] please"]
    assert batch.redactions == 1


def test_deep_nesting_loses_only_its_line(tmp_path: Path) -> None:
    deep = '{"text":' + "[" * 100_000 + "]" * 100_000 + "}"
    (batch,) = read(write(tmp_path / "x.jsonl", message(1), deep, message(2)))
    assert texts([batch]) == ["m1", "m2"]
    assert batch.skipped_total == 1


def test_a_family_is_told_by_a_first_line_of_any_length(tmp_path: Path) -> None:
    for size in (60_000, 65_536, 70_000, 3_000_000):
        first = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "x" * size}}
        path = write(tmp_path / "x.jsonl", json.dumps(first), json.dumps({**first, "uuid": "v"}))
        (batch,) = read_transcript(path)
        assert (batch.source, len(batch.events)) == ("claude-code", 2)
        (alone,) = read_transcript(write(path, json.dumps(first), end=""))
        assert (alone.source, len(alone.events)) == ("claude-code", 1)


def test_hostile_texts_take_no_more_than_linear_time(tmp_path: Path) -> None:
    def said(text: str) -> str:
        blocks = [{"type": "tool_result", "tool_use_id": "t", "content": text}]
        content = [*blocks, {"type": "text", "text": text}]
        record = {"type": "user", "uuid": text[:9], "sessionId": "s"}
        return json.dumps({**record, "message": {"content": content}})

    path = write(
        tmp_path / "x.jsonl",
        said("<system-reminder>" * 200_000),
        said("<command-name>" * 200_000),
        said("<task-notification>" + "<status>" * 200_000),
        said("PRIVATE KEY " + "A" * 3_000_000),
        said("PRIVATE KEY " + "A b=" * 700_000),
        said("://" * 1_000_000),
        said("password=" * 300_000),
        said("eyJ" + "aaaa." * 500_000),
    )
    batches = list(read_transcript(path))
    assert sum(batch.skipped_total for batch in batches) == 0
    assert sum(len(batch.events) for batch in batches) >= 8


def test_many_bad_lines_are_counted_but_not_all_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", message(1), *(["{"] * 500))
    (batch,) = read(path)
    assert batch.skipped_total == 500
    assert len(batch.skipped) == 100


def test_public_transcripts_are_read_without_loss(shared: Path) -> None:
    refused = []
    for folder in ("claude-code", "codex"):
        for path in sorted((shared / "transcripts" / folder).iterdir()):
            try:
                batches = list(read_transcript(path))
            except BadInput:
                refused.append(path.name)
                continue
            events = [event for batch in batches for event in batch.events]
            _check_against_text(path.read_text(encoding="utf-8"), events)
    assert refused == ["steipete_CodexBar__codex-historical-usage-real-legacy.jsonl"]


def _check_against_text(text: str, events: list[Event]) -> None:
    """Compare with what a plain search finds: each tool call and each error is there."""
    assert len({event.id for event in events}) == len(events)
    calls = {event.tool.call_id for event in events if event.kind == "tool_call" and event.tool}
    errors = sum(bool(event.tool and event.tool.is_error) for event in events)
    if '"is_error":true' in text or '"is_error": true' in text:
        assert errors
    for line in text.splitlines():
        if '"type":"function_call",' in line and '"call_id":"' in line:
            assert line.split('"call_id":"')[1].split('"')[0] in calls
        if (
            '"type":"tool_use"' in line
            and '"id":"toolu_' in line
            and '"type":"progress"' not in line
        ):
            assert "toolu_" + line.split('"id":"toolu_')[1].split('"')[0] in calls
