"""Folders and socket path as plain strings, from the environment alone.

The hot path of the command line imports this module: it may import `os` and `sys` only.
`paths` builds its typed record on it, so there is one truth about places.
"""

from __future__ import annotations

import os
import sys

SOCKET_PATH_LIMIT_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest AF_UNIX path the kernel takes (sun_path less its terminator)."""


def _xdg(env: dict[str, str], name: str, fallback: str) -> str:
    # Empty and relative values count as unset (XDG Base Directory Specification).
    value = env.get(name, "")
    return value if value.startswith("/") else fallback


def _fnv1a_hex(data: bytes) -> str:
    # A short name for a long folder; hashlib would cost the hot path a tenth of its time.
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def locate(env: dict[str, str]) -> dict[str, str]:
    """Return config_file, data_dir, state_dir, cache_dir, runtime_dir and socket; touches no file.

    `HINDSIGHT_HOME` moves everything, `HINDSIGHT_SOCKET` and `HINDSIGHT_CONFIG` one file each.
    The runtime folder belongs to a user, who may have several stores (another HOME or
    XDG_DATA_HOME, as under `sudo`), so there the socket is named after the data folder.
    A runtime folder that would make the socket path too long for the kernel is replaced by a
    short one under the system's tmp folder, named after the long one.
    """
    short = f"/tmp/hindsight-{os.getuid()}"
    if moved := env.get("HINDSIGHT_HOME", ""):
        root = os.path.abspath(os.path.expanduser(moved))
        config, data, state = f"{root}/config", f"{root}/data", f"{root}/state"
        cache, runtime = f"{root}/cache", f"{root}/run"
        socket = f"{runtime}/d.sock"
    else:
        home = env.get("HOME") or os.path.expanduser("~")
        config = _xdg(env, "XDG_CONFIG_HOME", f"{home}/.config") + "/hindsight"
        data = _xdg(env, "XDG_DATA_HOME", f"{home}/.local/share") + "/hindsight"
        state = _xdg(env, "XDG_STATE_HOME", f"{home}/.local/state") + "/hindsight"
        cache = _xdg(env, "XDG_CACHE_HOME", f"{home}/.cache") + "/hindsight"
        user = f"/run/user/{os.getuid()}"
        base = _xdg(env, "XDG_RUNTIME_DIR", user if os.path.isdir(user) else "")
        runtime = f"{base}/hindsight" if base else short
        socket = f"{runtime}/{_fnv1a_hex(os.fsencode(data))}.sock"
    if explicit := env.get("HINDSIGHT_SOCKET", ""):
        socket = os.path.abspath(explicit)
        runtime = os.path.dirname(socket)
    elif len(os.fsencode(socket)) > SOCKET_PATH_LIMIT_BYTES:
        runtime = f"{short}-{_fnv1a_hex(os.fsencode(socket))}"
        socket = f"{runtime}/d.sock"
    return {
        "config_file": env.get("HINDSIGHT_CONFIG") or f"{config}/config.toml",
        "data_dir": data,
        "state_dir": state,
        "cache_dir": cache,
        "runtime_dir": runtime,
        "socket": socket,
    }
