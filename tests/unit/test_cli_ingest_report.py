"""What an ingest came to, for people and for scripts."""

from __future__ import annotations

import pytest

from hindsight_cli.ingest_report import (
    count_what_was_cut_short,
    exit_code,
    failures,
    join,
    lines_of,
    problems,
    without_empty_folders,
)
from hindsight_cli.output import Output
from hindsight_daemon.protocol.documents import IngestedFile, IngestResult, SkippedLine

GOOD = IngestedFile(path="/t/good.jsonl", source="codex", sessions=["s"], events=3, size_bytes=90)
KNOWN = IngestedFile(path="/t/known.jsonl", source="codex", size_bytes=90)
GARBAGE = IngestedFile(
    path="/t/bad.jsonl",
    skipped=[SkippedLine(line=n, reason="not JSON") for n in range(1, 6)],
    skipped_total=9,
    size_bytes=90,
)
UNREADABLE = IngestedFile(path="/t/x", error="`/t/x` is binary", error_code="input.invalid")
MISSING = IngestedFile(path="/t/none", error="`/t/none` is not there", error_code="input.missing")
FOREIGN = IngestedFile(path="/t/p", error="`/t/p` is closed", error_code="permission.denied")


def result(*files: IngestedFile) -> IngestResult:
    return IngestResult(files=list(files), episodes=1, memories=2, events=3)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ((GOOD,), 0),
        ((KNOWN,), 0),
        ((), 0),
        ((GOOD, UNREADABLE), 0),
        ((GOOD, GARBAGE), 0),
        ((GARBAGE,), 65),
        ((UNREADABLE,), 65),
        ((UNREADABLE, GARBAGE), 65),
        ((FOREIGN,), 77),
        ((MISSING,), 66),
        ((GOOD, MISSING), 66),
    ],
)
def test_the_exit_code_says_what_became_of_the_input(
    files: tuple[IngestedFile, ...], code: int
) -> None:
    assert exit_code(result(*files)) == code


def test_skipped_lines_are_named_and_the_rest_counted() -> None:
    told = problems(result(GARBAGE, UNREADABLE))
    assert told[0] == "/t/bad.jsonl:1: skipped: not JSON"
    assert told[3] == "/t/bad.jsonl: 6 more lines skipped"
    assert len(told) == 4
    assert failures(result(GARBAGE, UNREADABLE)) == {"`/t/x` is binary": ""}


def test_an_agent_that_was_never_used_is_no_failure() -> None:
    rest, empty = without_empty_folders(result(GOOD, MISSING))
    assert (rest.files, empty) == ([GOOD], ["`/t/none` is not there"])
    assert exit_code(rest) == 0


def test_the_report_lists_what_was_new_and_sums_up() -> None:
    lines = lines_of(result(GOOD, KNOWN), Output())
    assert lines == [
        "3 events  1 session  codex  /t/good.jsonl",
        "2 transcripts, 3 new events: 1 episode, 2 memories in 0.0 s",
    ]


def test_files_that_failed_are_not_counted_as_read() -> None:
    assert lines_of(result(UNREADABLE, MISSING), Output()) == []
    assert lines_of(result(GOOD, MISSING), Output())[-1].startswith("1 transcript, ")


def test_steps_of_one_stream_add_up_to_one_file() -> None:
    first = IngestResult(
        files=[IngestedFile(path="stdin", sessions=["a"], events=2, skipped_total=1)],
        episodes=0,
        memories=1,
        events=2,
        memory_ids=["m1"],
    )
    second = IngestResult(
        files=[IngestedFile(path="stdin", source="codex", sessions=["a", "b"], events=4)],
        episodes=2,
        memories=3,
        events=4,
        memory_ids=["m1", "m2"],
    )
    joined = join(join(None, first), second)
    assert (joined.events, joined.episodes, joined.memories) == (6, 2, 4)
    assert joined.memory_ids == ["m1", "m2"]
    assert len(joined.files) == 1
    assert joined.files[0].events == 6
    assert joined.files[0].sessions == ["a", "b"]
    assert joined.files[0].skipped_total == 1


def test_events_of_a_call_that_was_given_up_are_counted_from_the_tally() -> None:
    former = IngestResult(
        files=[IngestedFile(path="stdin", events=2, total_events=2)],
        episodes=0,
        memories=0,
        events=2,
    )
    last = IngestResult(
        files=[IngestedFile(path="stdin", events=0, total_events=5)], episodes=1, memories=0
    )
    joined = join(former, last)
    count_what_was_cut_short(joined)
    assert (joined.events, joined.files[0].events) == (5, 5)
