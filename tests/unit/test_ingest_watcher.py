"""The watcher reports what changed, whatever becomes of the folders."""

from __future__ import annotations

import errno
import os
import queue
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.observers import Observer

from hindsight_daemon.ingest.watcher import (
    ACTIVE_S,
    FULL_LOOK_EVERY_S,
    MAX_HINTS,
    Watcher,
    kind_of_mount,
)

WAIT_S = 5.0


class HandClock:
    """Monotonic seconds that stand still."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Running:
    """A started watcher with the changes it has reported."""

    def __init__(self, root: Path) -> None:
        self.changes: queue.Queue[Path] = queue.Queue()
        self.watcher = Watcher([root], self._note, poll_s=0.05)

    def _note(self, paths: set[Path]) -> None:
        for path in paths:
            self.changes.put(path)

    def wait_for(self, path: Path) -> None:
        while self.changes.get(timeout=WAIT_S) != path:
            pass


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    return path


def idle(_: set[Path]) -> None:
    """Take changes of a watcher that is driven by hand."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    started = Running(tmp_path / "root")
    started.watcher.start()
    yield started
    started.watcher.stop()
    assert not started.watcher.is_alive


def test_the_first_look_reports_every_transcript_and_the_next_none(tmp_path: Path) -> None:
    one = write(tmp_path / "a" / "one.jsonl", "{}\n")
    two = write(tmp_path / "two.jsonl", "{}\n")
    write(tmp_path / "picture.png", "x")
    watcher = Watcher([tmp_path], idle)
    assert watcher.look() == {one, two}
    assert watcher.look() == set()


def test_an_active_file_is_looked_at_without_any_event(tmp_path: Path) -> None:
    clock = HandClock()
    file = write(tmp_path / "one.jsonl", "{}\n")
    watcher = Watcher([tmp_path], idle, clock=clock)
    watcher.look()
    write(file, "{}\n")
    assert watcher.look() == {file}


def test_a_silent_file_is_noticed_by_the_next_full_look(tmp_path: Path) -> None:
    clock = HandClock()
    file = write(tmp_path / "one.jsonl", "{}\n")
    watcher = Watcher([tmp_path], idle, clock=clock)
    watcher.look()
    clock.now_s += ACTIVE_S + 1
    watcher.look()
    write(file, "{}\n")
    clock.now_s += FULL_LOOK_EVERY_S + 1
    assert watcher.look() == {file}


def test_a_file_replaced_by_one_of_the_same_size_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", "{}\n")
    watcher = Watcher([tmp_path], idle)
    watcher.look()
    other = write(tmp_path / "other.tmp", "[]\n")
    other.replace(file)
    assert watcher.look() == {file}


def test_a_deleted_file_is_reported_when_it_comes_back(tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", "{}\n")
    watcher = Watcher([tmp_path], idle)
    watcher.look()
    file.unlink()
    assert watcher.look() == set()
    write(file, "{}\n")
    watcher.hint(file)
    assert watcher.look() == {file}


def test_a_root_may_appear_later(tmp_path: Path) -> None:
    root = tmp_path / "later"
    watcher = Watcher([root], idle)
    assert watcher.look() == set()
    file = write(root / "one.jsonl", "{}\n")
    assert watcher.look() == {file}


def test_too_many_hints_become_one_full_look(tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", "{}\n")
    watcher = Watcher([tmp_path], idle)
    watcher.look()
    for number in range(MAX_HINTS + 1):
        watcher.hint(tmp_path / f"{number}.jsonl")
    late = write(tmp_path / "late.jsonl", "{}\n")
    write(file, "{}\n")
    assert watcher.look() == {file, late}


def test_roots_that_are_the_same_folder_are_followed_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    file = write(root / "one.jsonl", "{}\n")
    (tmp_path / "link").symlink_to(root)
    watcher = Watcher([root, tmp_path / "link"], idle)
    assert {os.path.realpath(path) for path in watcher.look()} == {str(file)}


def test_new_files_and_appends_are_reported_live(running: Running, tmp_path: Path) -> None:
    file = tmp_path / "root" / "sub" / "one.jsonl"
    write(file, "{}\n")
    running.wait_for(file)
    write(file, "{}\n")
    running.wait_for(file)


def test_a_root_that_is_deleted_and_made_anew_is_followed_again(
    running: Running, tmp_path: Path
) -> None:
    file = write(tmp_path / "root" / "one.jsonl", "{}\n")
    running.wait_for(file)
    shutil.rmtree(tmp_path / "root")
    again = write(tmp_path / "root" / "again.jsonl", "{}\n")
    running.wait_for(again)
    write(again, "{}\n")
    running.wait_for(again)


def test_without_kernel_watches_the_folder_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "schedule", refuse)
    (tmp_path / "root").mkdir()
    polled = Running(tmp_path / "root")
    polled.watcher.start()
    try:
        file = write(tmp_path / "root" / "one.jsonl", "{}\n")
        polled.watcher.reconcile()
        polled.wait_for(file)
        assert polled.watcher.polled_roots == [tmp_path / "root"]
    finally:
        polled.watcher.stop()


def test_stopping_twice_or_before_starting_is_harmless(tmp_path: Path) -> None:
    watcher = Watcher([tmp_path], idle)
    watcher.stop()
    watcher.stop()
    assert not watcher.is_alive


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/.claude", "ext4"),
        ("/mnt/c/Users/me", "9p"),
        ("/net/team space/x", "nfs4"),
        ("/net/team spaces", "ext4"),
        ("/net/ssh/deep/down", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_says_whether_a_folder_reports_events(path: str, kind: str) -> None:
    mounts = (
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "30 21 0:40 / /mnt/c rw,noatime - 9p drvfs rw\n"
        "31 21 0:41 / /net/team\\040space rw - nfs4 server:/team rw\n"
        "32 21 0:42 / /net/ssh rw - fuse.sshfs me@host: rw\n"
    )
    assert kind_of_mount(mounts, path) == kind
