"""When the agents themselves delete or pack their transcripts, as their settings say.

Reads their settings and never writes them. A transcript that was deleted before the daemon saw it
is lost; of one that it saw, the events are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hindsight_daemon.protocol.documents import Check

_CLAUDE_DEFAULT_DAYS = 30
_GEMINI_DEFAULT_AGE = "30d"
_CODEX_PACKS_AFTER_DAYS = 7
_LONG_DAYS = 365
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)


def deletion_checks(env: Mapping[str, str], home: Path) -> Iterator[Check]:
    """Yield one finding for each agent that has transcripts here and lets them go."""
    configured = env.get("CLAUDE_CONFIG_DIR", "")
    claude = [Path(part.strip()) for part in configured.split(",") if part.strip()]
    for folder in claude or [home / ".claude"]:
        if (folder / "projects").is_dir():
            yield _claude(folder / "settings.json")
    gemini = Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini"
    if (gemini / "tmp").is_dir():
        yield _gemini(gemini / "settings.json")
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    if (codex / "sessions").is_dir():
        yield Check(
            name="transcripts of codex",
            status="ok",
            message=f"packed after {_CODEX_PACKS_AFTER_DAYS} days, never deleted; both are read",
        )


def _settings(file: Path) -> tuple[dict[str, Any], str]:
    """Return an agent's settings, comments allowed, and what is wrong with them if anything is."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        found = json.loads(_COMMENT.sub(lambda match: match[1] or "", text))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as exc:
        return {}, f"cannot read `{file}`: {exc}"
    return (found, "") if isinstance(found, dict) else ({}, f"`{file}` holds no JSON object")


def _claude(file: Path) -> Check:
    name = "transcripts of claude-code"
    settings, problem = _settings(file)
    if problem:
        return Check(name=name, status="warning", message=problem)
    days = settings.get("cleanupPeriodDays")
    said = f"`cleanupPeriodDays` in `{file}`"
    if isinstance(days, bool) or not isinstance(days, int | float):
        days, said = _CLAUDE_DEFAULT_DAYS, f"the default, no {said}"
    if days >= _LONG_DAYS:
        return Check(name=name, status="ok", message=f"kept for {days} days")
    return Check(
        name=name,
        status="warning",
        message=f"Claude Code deletes them after {days} days ({said})",
        hint=f'let the daemon follow them, or set "cleanupPeriodDays": 3650 in `{file}`',
    )


def _gemini(file: Path) -> Check:
    name = "transcripts of gemini-cli"
    settings, problem = _settings(file)
    if problem:
        return Check(name=name, status="warning", message=problem)
    general = settings.get("general")
    retention = (general if isinstance(general, dict) else {}).get("sessionRetention")
    retention = retention if isinstance(retention, dict) else {}
    if retention.get("enabled") is False:
        return Check(name=name, status="ok", message="kept, `sessionRetention` is off")
    age, count = retention.get("maxAge", _GEMINI_DEFAULT_AGE), retention.get("maxCount")
    more = f" or beyond {count} sessions" if isinstance(count, int) else ""
    return Check(
        name=name,
        status="warning",
        message=f"Gemini CLI deletes them after {age}{more} (`general.sessionRetention`)",
        hint=f"let the daemon follow them, or switch `general.sessionRetention` off in `{file}`",
    )
