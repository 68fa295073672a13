"""SearchFilter as SQL text and as a predicate on records: one meaning, two forms.

Pure. The SQL is the common ground of DataFusion (LanceDB) and SQLite; how a value is written
is the caller's (`lance_literal` quotes, the journal binds parameters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from hindsight_daemon.model import Key, Memory
from hindsight_daemon.store.port import SearchFilter

Literal = Callable[[str | datetime], str]


def quoted(text: str) -> str:
    """Return `text` as a SQL string literal; only the quote itself is special."""
    return "'" + text.replace("'", "''") + "'"


def lance_literal(value: str | datetime) -> str:
    """Return a value as DataFusion SQL."""
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
        return f"TIMESTAMP '{moment}Z'"
    return quoted(value)


def in_list(column: str, values: Iterable[str], literal: Literal) -> str:
    """Return `column IN (…)`, or a condition that never holds for no values."""
    listed = ", ".join(literal(value) for value in values)
    return f"{column} IN ({listed})" if listed else "1 = 0"


def last_component(project: str) -> str:
    """Return the last path component of a project."""
    return project.rstrip("/").rsplit("/", 1)[-1]


def matching_projects(asked: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the known projects that are asked for by themselves or by their last component."""
    wanted = set(asked)
    return sorted(p for p in known if p in wanted or (p and last_component(p) in wanted))


def conditions(where: SearchFilter, known_projects: Iterable[str], literal: Literal) -> list[str]:
    """Return the conditions whose conjunction is the filter, cheapest first.

    `known_projects` holds every project that occurs, so that a match by last component becomes a
    list that an index can answer.
    """
    parts: list[str] = []
    if where.session_id:
        parts.append(f"session_id = {literal(where.session_id)}")
    if where.projects:
        parts.append(_project_condition(where, known_projects, literal))
    if where.kinds:
        parts.append(in_list("kind", where.kinds, literal))
    if where.layers:
        parts.append(in_list("layer", where.layers, literal))
    if where.statuses:
        parts.append(in_list("status", where.statuses, literal))
    if where.not_statuses:
        parts.append(f"NOT ({in_list('status', where.not_statuses, literal)})")
    for column in ("task_type", "agent_role", "agent"):
        if value := getattr(where, column):
            parts.append(f"{column} = {literal(value)}")
    if where.private_to is not None:
        parts.append(f"(scope <> 'private' OR agent = {literal(where.private_to)})")
    if where.since is not None:
        parts.append(f"created_at >= {literal(where.since)}")
    if where.until is not None:
        parts.append(f"created_at < {literal(where.until)}")
    parts.append(f"(expires_at IS NULL OR expires_at > {literal(where.now)})")
    return parts


def _project_condition(where: SearchFilter, known_projects: Iterable[str], literal: Literal) -> str:
    names = matching_projects(where.projects, known_projects)
    if not where.with_projectless:
        return in_list("project", names, literal)
    return f"({in_list('project', ['', *names], literal)} OR scope = 'global')"


def happened_at(row: Key | Memory) -> datetime:
    """Return when what a row tells happened, which may be long before it was stored."""
    told = row.valid_from if isinstance(row, Memory) else None
    return told or row.created_at


def matches(where: SearchFilter, row: Key | Memory) -> bool:
    """Tell whether a key or memory passes the filter."""
    return (
        (not where.session_id or row.session_id == where.session_id)
        and (not where.projects or _project_matches(where, row))
        and (not where.kinds or row.kind in where.kinds)
        and (not where.layers or row.layer in where.layers)
        and (not where.statuses or row.status in where.statuses)
        and row.status not in where.not_statuses
        and (not where.task_type or row.task_type == where.task_type)
        and (not where.agent_role or row.agent_role == where.agent_role)
        and (not where.agent or row.agent == where.agent)
        and (where.private_to is None or row.scope != "private" or row.agent == where.private_to)
        and (where.since is None or happened_at(row) >= where.since)
        and (where.until is None or happened_at(row) < where.until)
        and (row.expires_at is None or row.expires_at > where.now)
    )


def _project_matches(where: SearchFilter, row: Key | Memory) -> bool:
    if where.with_projectless and (not row.project or row.scope == "global"):
        return True
    return row.project in where.projects or (
        bool(row.project) and last_component(row.project) in where.projects
    )
