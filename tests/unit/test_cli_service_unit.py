"""The service definitions for systemd and launchd."""

from __future__ import annotations

import plistlib
from pathlib import Path

from hindsight_cli.service_unit import command_line, launchd_agent, systemd_unit
from hindsight_daemon.paths import resolve_paths


def test_the_systemd_unit_runs_this_installation_with_this_store() -> None:
    unit = systemd_unit({"HOME": "/home/a", "HINDSIGHT_HOME": "/data/my notes %1", "OTHER": "x"})
    assert unit.path == Path("/home/a/.config/systemd/user/hindsight.service")
    assert f"ExecStart={command_line()[0]}" in unit.text
    assert 'Environment="HINDSIGHT_HOME=/data/my notes %%1"' in unit.text
    assert "OTHER" not in unit.text
    assert "@" not in unit.text.replace("man:", "")


def test_the_launch_agent_is_a_property_list_that_runs_this_installation() -> None:
    env = {"HOME": "/Users/a", "HINDSIGHT_HOME": "/data/a & b"}
    unit = launchd_agent(resolve_paths(env), env, 501)
    agent = plistlib.loads(unit.text.encode())
    assert tuple(agent["ProgramArguments"]) == command_line()
    assert agent["EnvironmentVariables"]["HINDSIGHT_HOME"] == "/data/a & b"
    assert agent["StandardErrorPath"] == "/data/a & b/state/daemon.log"
    assert unit.commands[0].startswith("launchctl bootstrap gui/501 ")
