"""The discovery file: tells clients of other environments where the running daemon listens."""

from __future__ import annotations

import json
import os
from typing import Any

from hindsight_daemon.paths import Paths


def write_discovery(paths: Paths, facts: dict[str, Any]) -> None:
    """Write the file atomically; called once the socket listens."""
    temporary = paths.discovery_file.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(facts), encoding="utf-8")
    temporary.chmod(0o600)
    temporary.replace(paths.discovery_file)


def remove_discovery(paths: Paths, instance: str) -> None:
    """Remove the file if it is still this instance's own."""
    try:
        found = json.loads(paths.discovery_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(found, dict) and found.get("instance") == instance:
        paths.discovery_file.unlink(missing_ok=True)
