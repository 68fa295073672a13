"""The local half of `hindsight doctor`: what can be told without a daemon.

Every check looks and reports; none changes anything.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hindsight_cli.wording import count
from hindsight_daemon import launch
from hindsight_daemon.config import Settings, load_settings
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.locations import SOCKET_PATH_LIMIT_BYTES
from hindsight_daemon.paths import Paths
from hindsight_daemon.protocol.documents import Check

_MIN_PYTHON = (3, 11)
_LITTLE_BYTES = 256 * 2**20


def ok(name: str, message: str) -> Check:
    """Return a finding that all is well."""
    return Check(name=name, status="ok", message=message)


def warning(name: str, message: str, hint: str = "") -> Check:
    """Return a finding that may need attention."""
    return Check(name=name, status="warning", message=message, hint=hint)


def problem(name: str, message: str, hint: str = "") -> Check:
    """Return a finding that must be mended."""
    return Check(name=name, status="problem", message=message, hint=hint)


def check_python() -> Check:
    """Check version and platform."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _MIN_PYTHON:
        return problem("python", f"Python {version} is too old", "use Python 3.11 or newer")
    if sys.platform not in ("linux", "darwin"):
        return warning("python", f"Python {version} on {sys.platform}, which nobody tests")
    return ok("python", f"{version} on {sys.platform}")


def check_folders(paths: Paths) -> Iterator[Check]:
    """Check that our folders are folders, ours, and closed to others."""
    for path in (paths.data_dir, paths.state_dir, paths.runtime_dir):
        name = f"folder {path}"
        try:
            info = path.lstat()
        except FileNotFoundError:
            yield _check_creatable(path, name)
            continue
        except OSError as exc:
            yield problem(name, f"cannot be looked at: {exc.strerror}")
            continue
        yield _check_mode(path, info, name)


def _check_mode(path: Path, info: os.stat_result, name: str) -> Check:
    if stat.S_ISLNK(info.st_mode) or not stat.S_ISDIR(info.st_mode):
        return problem(name, "is not a plain folder", f"move it away: `mv {path} {path}.old`")
    if info.st_uid != os.getuid():
        return problem(name, f"belongs to user {info.st_uid}", f"sudo chown -R $(id -u) {path}")
    if info.st_mode & 0o077:
        mode = f"{stat.S_IMODE(info.st_mode):04o}"
        return problem(name, f"is open to other users (mode {mode})", f"chmod 700 {path}")
    if not os.access(path, os.W_OK | os.X_OK):
        return problem(name, "cannot be written", f"chmod 700 {path}")
    return ok(name, "yours alone")


def _check_creatable(path: Path, name: str) -> Check:
    parent = next((p for p in path.parents if p.exists()), Path("/"))
    if not os.access(parent, os.W_OK | os.X_OK):
        return problem(name, f"is missing and `{parent}` cannot be written")
    return ok(name, "not there yet")


def check_config(paths: Paths) -> tuple[Check, Settings | None]:
    """Check the configuration; also returns it."""
    try:
        settings = load_settings(paths.config_file)
    except HindsightError as exc:
        return problem("config", exc.message, exc.hint), None
    said = str(paths.config_file) if paths.config_file.exists() else "defaults, there is no file"
    return ok("config", said), settings


def check_socket_path(paths: Paths) -> Check:
    """Check that the kernel takes the socket's path."""
    length = len(os.fsencode(paths.socket))
    if length > SOCKET_PATH_LIMIT_BYTES:
        return problem(
            "socket",
            f"`{paths.socket}` has {length} bytes, at most {SOCKET_PATH_LIMIT_BYTES} work",
            "set HINDSIGHT_SOCKET to a shorter path",
        )
    return ok("socket", str(paths.socket))


def check_disk(paths: Paths, settings: Settings | None) -> Check:
    """Check the free space where the store is."""
    folder = next((p for p in (paths.data_dir, *paths.data_dir.parents) if p.exists()), Path("/"))
    try:
        free = shutil.disk_usage(folder).free
    except OSError as exc:
        return warning("disk", f"cannot ask for the free space: {exc.strerror}")
    reserve = (settings or Settings()).store.reserve_bytes
    said = f"{free // 2**20} MiB free"
    if free < reserve:
        return problem("disk", f"{said}, writes stop below {reserve // 2**20}", "free some space")
    if free < max(4 * reserve, _LITTLE_BYTES):
        return warning("disk", f"{said}, which is little")
    return ok("disk", said)


def check_name_clash(env: Mapping[str, str]) -> Check:
    """Look for another command of the same name on PATH, and for another product's folder."""
    mine = Path(sys.executable).with_name("hindsight").resolve()
    found: dict[Path, Path] = {}
    for folder in env.get("PATH", "").split(os.pathsep):
        candidate = Path(folder or ".") / "hindsight"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            found.setdefault(candidate.resolve(), candidate)
    others = [str(shown) for real, shown in found.items() if real != mine]
    if others:
        first = next(iter(found))
        which = "comes first" if first != mine else "comes later"
        return warning(
            "path",
            f"another `hindsight` is on PATH and {which}: {', '.join(others)}",
            "call this one by its full path, or reorder PATH",
        )
    if (Path(env.get("HOME", "/")) / ".hindsight").exists():
        return warning("path", "`~/.hindsight` is there: it belongs to another product")
    return ok("path", "no other command of this name")


def check_daemon(paths: Paths) -> Check:
    """Check discovery file, lock and socket against each other."""
    found = launch.probe(paths)
    if found.state == "ready":
        pid, version = found.discovery.get("pid", "?"), found.discovery.get("version", "?")
        return ok("daemon", f"runs, pid {pid}, version {version}")
    if found.state == "unreachable":
        return problem("daemon", f"runs but does not answer: {found.problem}", _RESTART)
    if found.state == "starting":
        return warning("daemon", "is starting")
    if found.discovery:
        return warning(
            "daemon",
            f"`{paths.discovery_file}` is left from one that ended without a word",
            "the next command starts a new one",
        )
    return ok("daemon", "does not run; it starts when it is needed")


_RESTART = "`hindsight daemon restart`"


def check_spool(paths: Paths) -> Check:
    """Look for writes that wait, failed, or were cut short."""
    try:
        names = sorted(file.name for file in paths.spool_dir.iterdir())
    except OSError:
        names = []
    failed = [name for name in names if name.endswith(".failed")]
    waiting = [name for name in names if name.endswith(".call.json")]
    streams = [name for name in names if name.startswith("stdin-")]
    kept = [name for name in names if name.startswith("kept-")]
    if failed:
        return warning(
            "spool",
            f"{count(len(failed), 'write')} could not be carried out, such as `{failed[0]}`",
            f"look into `{paths.spool_dir}`",
        )
    if streams:
        file = paths.spool_dir / streams[0]
        return warning(
            "spool",
            f"{count(len(streams), 'piped transcript')} unfinished or still being read",
            f"if nothing pipes now: `hindsight ingest {file}`, then remove it",
        )
    if kept and not waiting:
        file = paths.spool_dir / kept[0]
        return warning(
            "spool", f"{count(len(kept), 'piped transcript')} left over, already read", f"rm {file}"
        )
    waits = f"{count(len(waiting), 'write')} waiting for a daemon"
    return ok("spool", waits if waiting else "empty")


def local_checks(paths: Paths, env: Mapping[str, str]) -> list[Check]:
    """Carry out every local check; one that fails for its own reasons is reported as such."""
    config, settings = check_config(paths)
    checks = [check_python(), config]
    checks += list(check_folders(paths))
    singles: tuple[Callable[[], Check], ...] = (
        lambda: check_socket_path(paths),
        lambda: check_disk(paths, settings),
        lambda: check_name_clash(env),
        lambda: check_daemon(paths),
        lambda: check_spool(paths),
    )
    for single in singles:
        try:
            checks.append(single())
        except (OSError, HindsightError) as exc:
            checks.append(problem("doctor", f"a check failed: {exc}"))
    return checks
