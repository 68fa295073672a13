"""What doctor says of the agents' own deletion settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hindsight_cli.agent_deletion import deletion_checks


def _checks(home: Path, **env: str) -> dict[str, tuple[str, str]]:
    return {
        check.name.removeprefix("transcripts of "): (check.status, check.message)
        for check in deletion_checks(env, home)
    }


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_agents_that_are_not_here_are_not_spoken_of(tmp_path: Path) -> None:
    assert _checks(tmp_path) == {}


def test_the_default_of_claude_code_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / ".claude/projects").mkdir(parents=True)
    status, message = _checks(tmp_path)["claude-code"]
    assert status == "warning"
    assert "after 30 days" in message


@pytest.mark.parametrize(("days", "status"), [(7, "warning"), (364, "warning"), (3650, "ok")])
def test_the_setting_of_claude_code_is_read_where_it_is(
    tmp_path: Path, days: int, status: str
) -> None:
    (tmp_path / "c/projects").mkdir(parents=True)
    text = f'{{"$schema": "https://x//y", // mine\n "cleanupPeriodDays": {days}}}'
    _write(tmp_path / "c/settings.json", text)
    found = _checks(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "c"))["claude-code"]
    assert found[0] == status
    assert f"{days} days" in found[1]


def test_settings_that_cannot_be_read_are_a_warning_and_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / ".claude/projects").mkdir(parents=True)
    file = tmp_path / ".claude/settings.json"
    for text in ("{broken", "[1]", ""):
        _write(file, text)
        assert _checks(tmp_path)["claude-code"][0] == "warning"
        assert file.read_text(encoding="utf-8") == text


def test_retention_of_gemini_is_warned_of_unless_it_is_off(tmp_path: Path) -> None:
    (tmp_path / ".gemini/tmp").mkdir(parents=True)
    assert _checks(tmp_path)["gemini-cli"][0] == "warning"
    file = tmp_path / ".gemini/settings.json"
    _write(file, json.dumps({"general": {"sessionRetention": {"maxAge": "7d", "maxCount": 50}}}))
    assert "after 7d or beyond 50 sessions" in _checks(tmp_path)["gemini-cli"][1]
    _write(file, json.dumps({"general": {"sessionRetention": {"enabled": False}}}))
    assert _checks(tmp_path)["gemini-cli"][0] == "ok"


def test_packing_by_codex_is_no_reason_to_worry(tmp_path: Path) -> None:
    (tmp_path / ".codex/sessions").mkdir(parents=True)
    assert _checks(tmp_path)["codex"][0] == "ok"
