"""Renders the service definition that hands the daemon to systemd or launchd.

Only text and places; nothing is started here, that is for the person to do.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct

import hindsight_daemon
from hindsight_daemon.config import ENVIRONMENT
from hindsight_daemon.errors import UnsupportedPlatform
from hindsight_daemon.paths import Paths

_KEPT = ("HINDSIGHT_HOME", "HINDSIGHT_CONFIG", "HINDSIGHT_SOCKET", *ENVIRONMENT)


class Unit(Struct, frozen=True):
    """A service definition: where it goes, what it says, how it is switched on."""

    path: Path
    text: str
    commands: tuple[str, ...]


def _template(name: str) -> str:
    package = Path(hindsight_daemon.__file__).parent
    # Inside the package in a wheel, beside it in a checkout.
    for folder in (package / "units", package.parent / "units"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise UnsupportedPlatform(f"this installation lacks the service definition `{name}`")


def command_line() -> tuple[str, ...]:
    """Return the command that runs the daemon of this very installation."""
    script = Path(sys.executable).with_name("hindsight-daemon")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "hindsight_daemon")


def kept_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the service must inherit to serve the same store."""
    return {name: env[name] for name in sorted(_KEPT) if env.get(name)}


def _systemd_word(word: str) -> str:
    quoted = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{quoted}"' if any(c in word for c in " \t\"'\\") else quoted


def systemd_unit(env: Mapping[str, str]) -> Unit:
    """Return the systemd user unit."""
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~")).expanduser() / ".config")
    text = _template("hindsight.service")
    text = text.replace("@HINDSIGHT_DAEMON@", " ".join(map(_systemd_word, command_line())))
    settings = "".join(
        f"Environment={_systemd_word(f'{name}={value}')}\n"
        for name, value in kept_environment(env).items()
    )
    text = text.replace("[Service]\n", f"[Service]\n{settings}")
    return Unit(
        path=home / "systemd" / "user" / "hindsight.service",
        text=text,
        commands=(
            "systemctl --user daemon-reload",
            "systemctl --user enable --now hindsight.service",
        ),
    )


def launchd_agent(paths: Paths, env: Mapping[str, str], uid: int) -> Unit:
    """Return the launchd agent."""
    home = Path(env.get("HOME", "~")).expanduser()
    words = "".join(f"<string>{escape(word)}</string>" for word in command_line())
    text = _template("sh.hindsight.daemon.plist")
    text = text.replace("<string>@HINDSIGHT_DAEMON@</string>", words)
    text = text.replace("@HINDSIGHT_LOG@", escape(str(paths.log_file)))
    settings = "".join(
        f"<key>{name}</key><string>{escape(value)}</string>"
        for name, value in kept_environment(env).items()
    )
    text = text.replace("<key>HINDSIGHT_LAUNCHD</key>", f"{settings}<key>HINDSIGHT_LAUNCHD</key>")
    path = home / "Library" / "LaunchAgents" / "sh.hindsight.daemon.plist"
    return Unit(path=path, text=text, commands=(f"launchctl bootstrap gui/{uid} {path}",))
