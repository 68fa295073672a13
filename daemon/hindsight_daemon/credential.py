"""Keys of remote services: from an environment variable or a private file, never from settings.

Imports errors only. A key is read when it is needed and held no longer than a call.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hindsight_daemon.errors import ConfigProblem, PermissionProblem

_MAX_BYTES = 16 * 1024


def read_key(variable: str, file: str, env: Mapping[str, str] | None = None) -> str:
    """Return the key that a variable or, without one, a file holds; empty if neither is named.

    Raises `ConfigProblem` if what is named holds no key, `PermissionProblem` if the file belongs
    to somebody else or others may read it.
    """
    env = os.environ if env is None else env
    if variable and (found := env.get(variable, "").strip()):
        return found
    if file:
        return _from_file(Path(file).expanduser())
    if variable:
        raise ConfigProblem(
            f"the environment variable `{variable}` holds no key",
            hint="a daemon sees only variables that were set when it started; "
            "a `key_file` of mode 0600 works everywhere",
        )
    return ""


def _from_file(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise ConfigProblem(f"cannot read the key file `{path}`: {exc.strerror}") from exc
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise ConfigProblem(f"the key file `{path}` is no plain file")
        if info.st_uid != os.getuid():
            raise PermissionProblem(f"the key file `{path}` belongs to user {info.st_uid}")
        if info.st_mode & 0o077:
            raise PermissionProblem(
                f"the key file `{path}` is open to other users "
                f"(mode {stat.S_IMODE(info.st_mode):04o})",
                hint=f"chmod 600 {path}",
            )
        text = os.read(descriptor, _MAX_BYTES).decode("utf-8", "replace").strip()
    except OSError as exc:
        raise ConfigProblem(f"cannot read the key file `{path}`: {exc.strerror}") from exc
    finally:
        os.close(descriptor)
    if len(text.split()) != 1:
        raise ConfigProblem(f"the key file `{path}` must hold one key and nothing else")
    return text
