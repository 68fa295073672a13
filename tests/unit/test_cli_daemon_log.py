"""Reading the end of the log and following it over a rotation."""

from __future__ import annotations

from pathlib import Path

from hindsight_cli.daemon_log import fields_of, follow, last_lines, readable


def test_the_last_lines_come_in_order_whatever_the_size_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    log.write_text("".join(f"line {n} {'x' * 200}\n" for n in range(2000)), encoding="utf-8")
    assert [line.split()[1] for line in last_lines(log, 3)] == ["1997", "1998", "1999"]
    assert len(last_lines(log, 5000)) == 2000
    assert last_lines(log, 0) == []
    assert last_lines(tmp_path / "none.log", 5) == []


def test_following_yields_new_lines_and_goes_on_after_rotation(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    log.write_text("old\n", encoding="utf-8")
    lines = follow(log)
    with log.open("a", encoding="utf-8") as file:
        file.write("new\n")
    assert next(lines) == "new"
    log.rename(tmp_path / "daemon.log.1")
    log.write_text("first\nsecond\n", encoding="utf-8")
    assert [next(lines), next(lines)] == ["first", "second"]


def test_lines_that_are_no_json_are_kept_as_events() -> None:
    assert fields_of("Traceback: boom") == {"event": "Traceback: boom"}
    assert fields_of("[1]") == {"event": "[1]"}


def test_a_line_reads_as_time_level_event_and_facts() -> None:
    fields = fields_of('{"at":"2026-03-09T08:12:04.137+00:00","level":"info","event":"a.b","n":3}')
    assert readable(fields) == "2026-03-09 08:12:04  info  a.b  n=3"
