"""Finds transcripts in folders, the folders where agents keep them, and the project of a cwd.

Looks at names and beginnings only; reading is `transcript`'s.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hindsight_daemon.errors import BadInput, Busy, HindsightError, NoInput, PermissionProblem
from hindsight_daemon.ingest.database import database_source
from hindsight_daemon.ingest.file_stamp import stamp_of
from hindsight_daemon.ingest.open_database import OpenDatabase
from hindsight_daemon.ingest.reader import OpenTranscript, read_head
from hindsight_daemon.model import Record
from hindsight_daemon.sources.fields import moment
from hindsight_daemon.sources.port import Source
from hindsight_daemon.sources.registry import SOURCES, sniff

_JUNK = frozenset(
    (
        "node_modules",
        "__pycache__",
        "site-packages",
        "venv",
        "target",
        "tool-results",
        "lost+found",
    )
)
_HIDDEN_HOMES = frozenset((".specstory", ".system_generated"))
"""Hidden folders in which agents keep transcripts below a place that people name."""
_FOLDER_THRESHOLD = 0.65
"""Surer than for a named file: a folder of notes is not a folder of transcripts."""
_FIRST_TIME = re.compile(r'"(?:timestamp|ts|created_at|time)"\s*:\s*("[^"]{8,40}"|[\d.]{9,20})')


class FoundTranscript(Record, frozen=True, kw_only=True):
    """A transcript in a folder; `started_at` is Unix seconds, of its first record where known."""

    path: Path
    source: str
    size: int
    mtime_ns: int
    started_at: float


def is_transcript_name(path: Path) -> bool:
    """Tell by name alone whether a file may be a transcript; cheap, for the watcher."""
    return any(source.matches(path) for source in SOURCES)


def find_transcripts(path: Path, *, shallow: bool = False) -> list[FoundTranscript]:
    """Return the transcripts at `path` (a file or a folder), oldest first.

    In folders, hidden and generated folders are passed over, symbolic links are followed only to
    files inside, and of a compressed and a plain copy the plain one counts. A named file is
    returned without a look inside. `shallow` leaves subfolders alone. Raises `NoInput` if there is
    nothing, `PermissionProblem` if the folder may not be read.
    """
    try:
        info = path.stat()
    except FileNotFoundError as exc:
        raise NoInput(f"there is no file or folder `{path}`") from exc
    except OSError as exc:
        raise PermissionProblem(f"cannot look at `{path}`: {exc.strerror}") from exc
    if not path.is_dir():
        return [
            FoundTranscript(
                path=path,
                source="",
                size=info.st_size,
                mtime_ns=info.st_mtime_ns,
                started_at=info.st_mtime,
            )
        ]
    if not os.access(path, os.R_OK | os.X_OK):
        raise PermissionProblem(f"folder `{path}` may not be read by you")
    found = [
        one for file in walk_files(path, shallow=shallow) if (one := _look_at(file)) is not None
    ]
    if not found:
        raise NoInput(
            f"folder `{path}` holds no transcripts",
            hint="name a file to see why it is not taken for one",
        )
    return sorted(found, key=lambda one: (one.started_at, one.mtime_ns, str(one.path)))


def walk_files(root: Path, *, shallow: bool = False) -> Iterator[Path]:
    """Yield the files below `root` whose names may be transcripts, in a stable order.

    With `shallow` only those in `root` itself.

    Never leaves `root`: links to folders are not followed, links to files only if these lie
    inside. Folders that vanish or cannot be read are passed over. Hidden files count if it is a
    family that hides them, hidden folders if agents are known to keep transcripts in them.
    """
    real_root = root.resolve()
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(
            name
            for name in folders
            if not shallow and name not in _JUNK and (name[0] != "." or name in _HIDDEN_HOMES)
        )
        present = frozenset(names)
        for name in sorted(names):
            file = Path(folder, name)
            if not is_transcript_name(file) or (name[0] == "." and not _is_named_hidden(file)):
                continue
            if name.endswith(".zst") and name.removesuffix(".zst") in present:
                continue
            if file.is_symlink() and not file.resolve().is_relative_to(real_root):
                continue
            yield file


def _is_named_hidden(path: Path) -> bool:
    """Tell whether a family asks for a hidden file by its name, not for anything of that suffix."""
    plain = path.with_name(f"x{path.suffix}")
    return any(source.matches(path) and not source.matches(plain) for source in SOURCES)


def default_roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return the folders where the known agents keep transcripts, existing or not."""
    roots = [root for source in SOURCES for root in source.roots(env, home)]
    return list(dict.fromkeys(roots))


def is_at_home(path: Path, families: Mapping[Path, tuple[Source, ...]]) -> bool:
    """Tell whether a file below an agent's folder is a transcript of an agent that lives there.

    `families` are those of `registry.families_by_root`; a file below none of them is judged by
    its content alone. An agent's settings, indices and outputs may look like prose or a chat.
    """
    hosts = [
        there
        for folder in path.parents
        if folder in families
        and (there := _reaching(families[folder], is_own=folder == path.parent))
    ]
    return not hosts or any(source.matches(path) for there in hosts for source in there)


def _reaching(families: tuple[Source, ...], *, is_own: bool) -> list[Source]:
    """Return the families whose transcripts lie in a folder, or also in those below it."""
    return [source for source in families if is_own or not is_shallow(source)]


def is_shallow(source: Source) -> bool:
    """Tell whether the transcripts of a family lie in its roots themselves, not below."""
    return bool(getattr(source, "is_shallow", False))


def shallow_roots(env: Mapping[str, str], home: Path) -> frozenset[Path]:
    """Return those default folders that themselves hold all there is of interest.

    What lies deeper there (snapshots, caches) may be large and is not to be watched.
    """
    deep: set[Path] = set()
    shallow: set[Path] = set()
    for source in SOURCES:
        (shallow if is_shallow(source) else deep).update(source.roots(env, home))
    return frozenset(shallow - deep)


@functools.lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """Return the project a working folder belongs to: its repository's top, else itself.

    The work tree of `git worktree` belongs to its main repository, a submodule to itself. A
    folder that is gone stands for itself. Remembered for the life of the process.
    """
    if not cwd:
        return ""
    start = Path(cwd)
    if not start.is_absolute() or not start.is_dir():
        return cwd
    for folder in (start, *start.parents):
        mark = folder / ".git"
        try:
            if mark.is_dir():
                return str(folder)
            if mark.is_file():
                return str(_main_repository(mark) or folder)
        except OSError:
            continue
    return cwd


def _main_repository(mark: Path) -> Path | None:
    """Follow the `.git` file of a work tree; None for submodules and unreadable ones."""
    try:
        text = mark.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.match(r"gitdir:\s*(.+?)\s*$", text, re.MULTILINE)
    if not match:
        return None
    git_dir = Path(os.path.normpath(mark.parent / match[1]))
    if git_dir.parent.name != "worktrees" or git_dir.parent.parent.name != ".git":
        return None
    main = git_dir.parent.parent.parent
    return main if main.is_dir() else None


def refusal_of(path: Path) -> str:
    """Say why a file of a folder is not taken for a transcript; empty if it is, or is empty."""
    try:
        if path.stat().st_size == 0 or _look_at(path) is not None:
            return ""
        with OpenTranscript(path, str(path)) as transcript:
            if transcript.is_database:
                with OpenDatabase(path, str(path)) as database:
                    database_source(database)
            else:
                sniff(read_head(transcript).text, str(path))
    except HindsightError as exc:
        return exc.message.replace(f"`{path}`", "it")
    except OSError as exc:
        return f"it cannot be read: {exc.strerror}"
    return "it looks like no transcript of a known kind"


def _look_at(path: Path) -> FoundTranscript | None:
    """Sniff a file of a folder; None if it is no transcript or cannot be read."""
    try:
        with OpenTranscript(path, str(path)) as transcript:
            if transcript.is_database:
                return _look_at_database(path)
            head = read_head(transcript).text
            info = transcript.facts
            source, confidence = sniff(head, str(path))
    except (BadInput, NoInput, PermissionProblem):
        return None
    if confidence < _FOLDER_THRESHOLD:
        return None
    match = _FIRST_TIME.search(head)
    first = moment(match[1].strip('"')) if match else None
    return FoundTranscript(
        path=path,
        source=source.name,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        started_at=first.timestamp() if first else info.st_mtime,
    )


def _look_at_database(path: Path) -> FoundTranscript | None:
    try:
        stamp = stamp_of(path)
        with OpenDatabase(path, str(path)) as database:
            source = database_source(database)
    except (BadInput, Busy, PermissionProblem, OSError):
        return None
    return FoundTranscript(
        path=path,
        source=source.name,
        size=stamp.size,
        mtime_ns=stamp.mtime_ns,
        started_at=stamp.mtime_ns / 1e9,
    )
