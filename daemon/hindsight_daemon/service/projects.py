"""Which project a call is about."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.ingest.discover import project_of


def project_for(named: str, cwd: str) -> str:
    """Return the project a write belongs to: the named one, else the repository around `cwd`.

    A named folder stands for the repository it lies in; any other name is taken as it is. Without
    a repository the result is empty, which means "no particular project".
    """
    if named:
        return project_of(named) or named if named.startswith("/") else named
    return repository_of(cwd)


def repository_of(cwd: str) -> str:
    """Return the root of the repository around `cwd`, empty if there is none."""
    root = project_of(cwd) if cwd else ""
    return root if root and (root != cwd or (Path(root) / ".git").exists()) else ""
