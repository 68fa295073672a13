"""From the words of a call to the filter of a read: validation, projects, times."""

from __future__ import annotations

from datetime import datetime

from hindsight_daemon.clock import parse_time
from hindsight_daemon.errors import UsageProblem
from hindsight_daemon.model import LAYERS, MEMORY_KINDS, STATUSES
from hindsight_daemon.service.projects import project_for

RETIRED = ("contradicted", "superseded", "archived")
"""Statuses that reads leave out unless they are asked for."""


def checked(name: str, values: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return `values` or raise `UsageProblem` naming the one that is not allowed."""
    for value in values:
        if value not in allowed:
            raise UsageProblem(f"{name} `{value}` is none of {', '.join(allowed)}")
    return values


def checked_kinds(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check names of memory kinds."""
    return checked("kind", values, MEMORY_KINDS)


def checked_layers(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check names of layers."""
    return checked("layer", values, LAYERS)


def checked_statuses(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check names of statuses."""
    return checked("status", values, STATUSES)


def checked_limit(limit: int, most: int) -> int:
    """Return `limit` or raise `UsageProblem` if it is not from 1 to `most`."""
    if not 1 <= limit <= most:
        raise UsageProblem(f"limit {limit} is not between 1 and {most}")
    return limit


def moment(name: str, text: str) -> datetime | None:
    """Read an ISO time of a call; None if empty."""
    if not text:
        return None
    at = parse_time(text)
    if at is None:
        raise UsageProblem(f"{name} `{text}` is not an ISO 8601 time")
    return at


def projects_for(named: str, cwd: str, all_projects: bool) -> tuple[str, ...]:
    """Return the projects a read is about; empty means all of them."""
    if all_projects:
        return ()
    project = project_for(named, cwd)
    return (project,) if project else ()
