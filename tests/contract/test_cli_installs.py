"""What installs itself into a person's folders: man pages, completions, the service."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_cli.app import run
from hindsight_cli.complete_ids import lines_of, newest


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "share"


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    capsys.readouterr()
    assert run([*argv, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("argv", [("man", "install"), ("completion", "install", "zsh")])
def test_a_rehearsal_writes_nothing_and_a_repetition_changes_nothing(
    argv: tuple[str, ...], share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def states(*more: str) -> set[str]:
        files = document(capsys, *argv, *more)["files"]
        assert isinstance(files, list)
        assert all(Path(file["path"]).is_relative_to(share) for file in files)
        return {file["state"] for file in files}

    assert states("--dry-run") == {"planned"}
    assert not share.exists()
    assert states() == {"written"}
    assert states() == {"unchanged"}


def test_the_pages_land_in_their_sections(share: Path) -> None:
    assert run(["man", "install"]) == 0
    assert {folder.name for folder in (share / "man").iterdir()} == {"man1", "man5", "man7"}
    assert (share / "man/man1/hindsight-recall.1").is_file()


@pytest.mark.usefixtures("share")
def test_a_page_is_found_by_command_or_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, "man", "show", "recall")["name"] == "hindsight-recall.1"
    assert document(capsys, "man", "show", "config")["name"] == "hindsight-config.1"
    assert document(capsys, "man", "show", "glossary")["name"] == "hindsight-glossary.7"
    assert run(["man", "show", "nonsense"]) == 66


def test_the_login_shell_decides_when_none_is_named(
    share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert run(["completion", "install"]) == 0
    assert (share / "fish/vendor_completions.d/hindsight.fish").is_file()
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["completion", "install"]) == 2


def test_ids_are_completed_in_silence_when_no_daemon_runs() -> None:
    assert newest() == []
    done = subprocess.run(
        [sys.executable, "-m", "hindsight_cli", "__ids", "01"], capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_ids_are_completed_short_until_more_is_typed() -> None:
    memory = {"id": "0123abcd-ef", "short_id": "0123abcd", "kind": "fact", "text": "订单\n\x1b[2J"}
    assert lines_of([memory], "01") == ["0123abcd\tfact: 订单  [2J"]
    assert lines_of([memory], "0123abcd-") == ["0123abcd-ef\tfact: 订单  [2J"]
    assert lines_of([memory], "9") == []
