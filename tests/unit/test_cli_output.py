"""What reaches the terminal: alignment, colour, encoding, closed pipes."""

from __future__ import annotations

import errno
import io
import json
import sys

import pytest

from hindsight_cli.output import (
    Output,
    ReaderGone,
    clip,
    encode_document,
    plain,
    printable,
    wants_colour,
)
from hindsight_cli.recall_text import text_width
from hindsight_daemon.errors import OutputFailed
from hindsight_daemon.protocol.documents import Ack


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="ascii")

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


class FailingBuffer(io.BytesIO):
    """Bytes that cannot be written."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def write(self, _data: object) -> int:
        raise OSError(self._number, "refused")


def terminal_stdout(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def failing_stdout(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    stream = io.TextIOWrapper(FailingBuffer(number), encoding="utf-8", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)


@pytest.mark.parametrize(
    ("choice", "env", "is_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_the_flag_wins_over_the_environment_and_that_over_the_terminal(
    choice: str, env: dict[str, str], is_terminal: bool, expected: bool
) -> None:
    assert wants_colour(choice, env, is_terminal=is_terminal) is expected


def test_tables_in_a_pipe_are_aligned_whole_and_without_headings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "很长 " * 60
    out = Output()
    lines = out.table(("A", "B", "C"), [["订单", "x", "one\ntwo"], ["a", "yy", long]])
    assert lines == ["订单  x   one two", f"a     yy  {long.strip()}"]
    assert capsys.readouterr().out == ""


def test_tables_on_a_terminal_have_headings_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_stdout(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    lines = Output(colour="never").table(("ID", "TEXT"), [["1", "很长" * 60]])
    assert lines[0] == "ID  TEXT"
    assert text_width(lines[1]) <= 40
    assert lines[1].endswith("…")


def test_a_table_too_wide_for_the_terminal_is_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_stdout(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    row = ["019d0bfd-0260-7a", "5 minutes ago", "solution", "很长的一句话" * 10]
    lines = Output(colour="never").table(("ID", "DATE", "KIND", "TEXT"), [row])
    assert lines[0] == "019d0bfd-0260-7a  5 minutes ago"
    assert all(text_width(line) <= 40 for line in lines)
    whole = Output(colour="never").table(("ID", "DATE", "KIND", "TEXT"), [row], is_cut=False)
    assert "".join(line.strip() for line in whole).endswith(row[-1])


def test_text_is_clipped_by_columns_not_characters() -> None:
    assert clip("订单测试", 5) == "订单…"
    assert clip("short", 10) == "short"
    assert clip("anything", 0) == "anything"


def test_control_characters_of_a_transcript_never_reach_the_terminal() -> None:
    evil = "a\x1b]0;title\x07b\x1b[2Jc\r\nd"
    assert "\x1b" not in plain(evil)
    assert "\x07" not in plain(evil)
    assert "\x1b" not in printable(evil)
    assert "\n" in printable(evil)


def test_an_ascii_stream_still_gets_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_stdout(monkeypatch)
    Output(colour="never").lines(["订单 – ok"])
    assert terminal.text() == "订单 – ok\n"


def test_lone_surrogates_are_replaced_rather_than_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_stdout(monkeypatch)
    Output(colour="never").lines(["bad \udcff byte"])
    assert terminal.text() == "bad ? byte\n"
    assert json.loads(encode_document(Ack(message="\udcff")))["message"] == "\udcff"


def test_a_full_disk_is_told_as_an_output_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_stdout(monkeypatch, errno.ENOSPC)
    with pytest.raises(OutputFailed):
        Output().lines(["text"])


def test_a_closed_pipe_is_passed_on_to_the_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_stdout(monkeypatch, errno.EPIPE)
    with pytest.raises(ReaderGone):
        Output().lines(["text"])


def test_a_missing_stdout_is_told_as_an_output_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputFailed):
        Output().document(Ack())


def test_quiet_leaves_out_talk_but_not_errors(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(is_quiet=True)
    out.note("a note")
    out.warn("a warning")
    out.say("some talk")
    out.error("it failed", "do this")
    assert capsys.readouterr().err == "error: it failed\n\nhint: do this\n"


def test_pairs_without_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert Output().pairs([("name", "value"), ("empty", ""), ("n", "x\ny")]) == [
        "name  value",
        "n     x y",
    ]
    assert capsys.readouterr().out == ""


def test_nobody_watching_means_no_progress_and_no_rich(capsys: pytest.CaptureFixture[str]) -> None:
    with Output().progress("read") as on_progress:
        assert on_progress is None
    assert capsys.readouterr().err == ""
