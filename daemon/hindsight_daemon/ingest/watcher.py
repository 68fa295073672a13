"""Notices that transcripts below some folders have changed, by hints and by looking.

watchdog's events are only hints that wake the thread; `stat` decides what changed. Transcripts
that were active lately are looked at every `poll_s` anyway, because writers that keep a file
open cause no events on macOS and network file systems none at all. Every folder is looked
through in full now and then, more often where no events can be had (limits, network mounts).

Trade-off: an append to a long silent file whose event was lost is noticed only at the next full
look. That happens: watchdog passes in silence over subfolders for which the kernel has no watch
left, and reports such limits only for the folder itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from watchdog.events import (
    EVENT_TYPE_CLOSED_NO_WRITE,
    EVENT_TYPE_OPENED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from hindsight_daemon.ingest.discover import is_transcript_name, walk_files
from hindsight_daemon.ingest.file_stamp import FileStamp, stamp_of, transcript_behind

_log = logging.getLogger(__name__)

MAX_HINTS = 8192
MAX_ACTIVE = 256
ACTIVE_S = 3600.0
GATHER_S = 0.5
POLL_LOOKS_EVERY_S = 10.0
FULL_LOOK_EVERY_S = 120.0
MAX_REARMS = 8
_STOP_WITHIN_S = 1.0
_QUIET_EVENTS = frozenset((EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE))
_NETWORK_FILE_SYSTEMS = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "drvfs",
        "virtiofs",
        "vboxsf",
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.vmhgfs-fuse",
        "afs",
        "ceph",
    )
)


class _Root:
    """A followed folder: whether it is there, and how changes in it are noticed."""

    def __init__(self, path: Path, *, is_shallow: bool) -> None:
        self.path = path
        self.is_shallow = is_shallow
        self.identity: tuple[int, int] | None = None
        self.watch: ObservedWatch | None = None
        self.is_polled = False
        self.is_disturbed = False
        self.rearms = 0
        self.next_look_at = 0.0


class Watcher:
    """Calls `on_changed` with the transcripts that are new or have changed.

    The call comes from the watcher's own thread, one at a time; what it raises ends the thread,
    so it should hand over and return. Of the roots in `shallow` the subfolders are left alone; a
    write-ahead log stands for its database. `clock` gives monotonic seconds. `start` and `stop`
    it, or call `look` by hand.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        on_changed: Callable[[set[Path]], None],
        *,
        shallow: Collection[Path] = (),
        poll_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        distinct = {os.path.realpath(root): root for root in roots}
        self._roots = [_Root(root, is_shallow=root in shallow) for root in distinct.values()]
        self._on_changed = on_changed
        self._poll_s = max(poll_s, 0.05)
        self._clock = clock
        self._known: dict[Path, FileStamp] = {}
        self._active: dict[Path, float] = {}
        self._hints: set[Path] = set()
        self._needs_full_look = True
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._observer: BaseObserver | None = None
        self._next_full_look_at = 0.0

    @property
    def polled_roots(self) -> list[Path]:
        """Return the folders that are there but give no events."""
        return [root.path for root in self._roots if root.identity and root.is_polled]

    def start(self) -> None:
        """Begin to follow the folders; the first look reports every transcript there is."""
        self._observer = Observer()
        self._observer.start()
        self._thread = threading.Thread(target=self._run, name="hindsight-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End both threads; returns within about a second."""
        self._stopping.set()
        self._wake.set()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(_STOP_WITHIN_S)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_STOP_WITHIN_S)

    @property
    def is_alive(self) -> bool:
        """Tell whether the watching thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def reconcile(self) -> None:
        """Have the next look go through every folder in full."""
        with self._lock:
            self._needs_full_look = True
        self._wake.set()

    def hint(self, path: Path) -> None:
        """Note that something may have happened to `path`; cheap, from any thread."""
        with self._lock:
            if len(self._hints) >= MAX_HINTS:
                self._hints.clear()
                self._needs_full_look = True
            self._hints.add(path)
        self._wake.set()

    def look(self) -> set[Path]:
        """Look once at what may have changed and return the transcripts that have."""
        now = self._clock()
        for root in self._roots:
            self._mind(root)
        with self._lock:
            hints, self._hints = self._hints, set()
            is_full = self._needs_full_look or now >= self._next_full_look_at
            self._needs_full_look = False
        if is_full:
            self._next_full_look_at = now + FULL_LOOK_EVERY_S
        candidates = {path for path in map(transcript_behind, hints) if is_transcript_name(path)}
        for root in self._roots:
            if root.identity and (is_full or (root.is_polled and now >= root.next_look_at)):
                root.next_look_at = now + max(POLL_LOOKS_EVERY_S, self._poll_s)
                candidates.update(walk_files(root.path, shallow=root.is_shallow))
        if is_full:
            # A forgotten file would stay known for ever; a file that is gone is not known.
            candidates.update(self._known)
        candidates.update(self._active)
        changed = {path for path in candidates if self._has_changed(path, now)}
        self._forget_idle(now)
        return changed

    def _run(self) -> None:
        while not self._stopping.is_set():
            if changed := self.look():
                self._on_changed(changed)
            if self._wake.wait(self._poll_s) and not self._stopping.wait(
                min(GATHER_S, self._poll_s)
            ):
                self._wake.clear()

    def _mind(self, root: _Root) -> None:
        """Notice that a folder has come, gone or been made anew, and follow it accordingly."""
        try:
            info = os.stat(root.path)  # noqa: PTH116 - device and inode are wanted
            identity: tuple[int, int] | None = (info.st_dev, info.st_ino)
        except OSError:
            identity = None
        lost = root.is_disturbed or self._has_lost_watch(root)
        if identity == root.identity and not lost:
            return
        if identity == root.identity:
            root.rearms += 1
        root.is_disturbed = False
        self._unwatch(root)
        root.identity = identity
        if identity is not None:
            self._watch(root)
            self.reconcile()

    def _has_lost_watch(self, root: _Root) -> bool:
        """Tell whether the thread behind a watch has died."""
        if root.watch is None or self._observer is None:
            return False
        emitters = {emitter.watch: emitter for emitter in self._observer.emitters}
        emitter = emitters.get(root.watch)
        return emitter is None or not emitter.is_alive()

    def _watch(self, root: _Root) -> None:
        if self._observer is None or root.rearms > MAX_REARMS or _is_on_network(root.path):
            root.is_polled = True
            return
        root.is_polled = False
        handler = _Hinting(self, root)
        try:
            root.watch = self._observer.schedule(
                handler, str(root.path), recursive=not root.is_shallow
            )
        except OSError as exc:  # ENOSPC, EMFILE: the kernel gives no more watches
            _log.warning("no events for %s (%s), looking at intervals instead", root.path, exc)
            root.is_polled = True

    def _unwatch(self, root: _Root) -> None:
        watch, root.watch = root.watch, None
        if watch is None or self._observer is None:
            return
        # Its thread may be gone already, with the folder it watched.
        with contextlib.suppress(KeyError, OSError):
            self._observer.unschedule(watch)

    def _has_changed(self, path: Path, now: float) -> bool:
        try:
            stamp = stamp_of(path)
        except OSError:
            self._known.pop(path, None)
            self._active.pop(path, None)
            return False
        if self._known.get(path) == stamp:
            return False
        self._known[path] = stamp
        self._active[path] = now
        return True

    def _forget_idle(self, now: float) -> None:
        """Keep the most recently changed files on the list of those looked at every time."""
        if len(self._active) > MAX_ACTIVE:
            newest = sorted(
                self._active,
                key=lambda path: (self._active[path], self._known[path].mtime_ns),
                reverse=True,
            )
            self._active = {path: self._active[path] for path in newest[:MAX_ACTIVE]}
        for path, since in list(self._active.items()):
            if now - since > ACTIVE_S:
                del self._active[path]


class _Hinting(FileSystemEventHandler):
    """Turns events of any kind into hints; a folder event asks for a full look."""

    def __init__(self, watcher: Watcher, root: _Root) -> None:
        self._watcher = watcher
        self._root = root

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in _QUIET_EVENTS:
            return
        if event.is_directory and Path(os.fsdecode(event.src_path)) == self._root.path:
            # A folder made anew may get the inode of the one that was deleted.
            if event.event_type in ("deleted", "moved"):
                self._root.is_disturbed = True
                self._watcher.reconcile()
            return
        if event.is_directory:
            # Files in a new folder may be older than the watch on it; mere changes of a folder
            # come with an event for the file in it.
            if event.event_type in ("created", "moved"):
                self._watcher.reconcile()
            return
        for name in (event.src_path, event.dest_path):
            if name:
                self._watcher.hint(Path(os.fsdecode(name)))


def _is_on_network(path: Path) -> bool:
    """Tell whether `path` lies on a mount that reports no events (known on Linux only)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return kind_of_mount(mounts, os.path.realpath(path)) in _NETWORK_FILE_SYSTEMS


def kind_of_mount(mounts: str, real: str) -> str:
    """Return the file system that a real path lies on, by the text of `/proc/self/mountinfo`."""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, after.split(" ")[0]
    return kind
