"""Where everything lives: XDG folders on Linux and macOS alike, `HINDSIGHT_HOME` moves all of it.

Public. Creates nothing by itself except through `ensure_private_dir`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hindsight_daemon.errors import PermissionProblem
from hindsight_daemon.locations import locate


class Paths(Struct, frozen=True):
    """Every location the product uses."""

    config_file: Path
    data_dir: Path
    state_dir: Path
    cache_dir: Path
    runtime_dir: Path
    socket: Path

    @property
    def store_dir(self) -> Path:
        """Default LanceDB location."""
        return self.data_dir / "store"

    @property
    def journal_file(self) -> Path:
        """The SQLite journal that every write reaches first."""
        return self.data_dir / "journal.db"

    @property
    def lock_file(self) -> Path:
        """Held with flock by the running daemon for its whole life."""
        return self.data_dir / "daemon.lock"

    @property
    def start_lock_file(self) -> Path:
        """Held by whoever starts the daemon, so that starters queue up."""
        return self.state_dir / "start.lock"

    @property
    def discovery_file(self) -> Path:
        """Written by the daemon once it listens: socket, pid, instance, version."""
        return self.state_dir / "daemon.json"

    @property
    def log_file(self) -> Path:
        """The daemon's log."""
        return self.state_dir / "daemon.log"

    @property
    def spool_dir(self) -> Path:
        """Writes and piped transcripts that wait for a daemon."""
        return self.state_dir / "spool"

    @property
    def models_dir(self) -> Path:
        """Converted and downloaded models."""
        return self.cache_dir / "models"


def resolve_paths(env: Mapping[str, str] | None = None) -> Paths:
    """Compute all locations from the environment (see `locations.locate`); touches no file."""
    places = locate(dict(os.environ if env is None else env))
    return Paths(**{name: Path(place) for name, place in places.items()})


def ensure_private_dir(path: Path) -> Path:
    """Create `path` with mode 0700, or check that an existing one is ours and closed to others.

    Raises `PermissionProblem` for a symlink, a non-folder, a foreign owner, or group/other bits.
    """
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        pass
    except OSError as exc:
        raise PermissionProblem(f"cannot create folder `{path}`: {exc.strerror}") from exc
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise PermissionProblem(f"`{path}` is a symbolic link, a plain folder is needed")
    if not stat.S_ISDIR(info.st_mode):
        raise PermissionProblem(f"`{path}` is not a folder")
    if info.st_uid != os.getuid():
        raise PermissionProblem(f"`{path}` belongs to user {info.st_uid}, not to you")
    if info.st_mode & 0o077:
        raise PermissionProblem(
            f"`{path}` is open to other users (mode {stat.S_IMODE(info.st_mode):04o})",
            hint=f"chmod 700 {path}",
        )
    return path
