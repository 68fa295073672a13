"""What is committed is what the command tree gives, and what a wheel installs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hindsight_cli.app import root_command, run
from hindsight_cli.reference import __main__ as reference
from hindsight_cli.reference import completions, man, markdown
from hindsight_cli.reference.tree import read_tree
from hindsight_daemon.errors import BadInput

CHECKOUT = Path(__file__).resolve().parents[2]
ROOT = read_tree(root_command())


@pytest.fixture
def share(home: Path) -> Path:
    """Return the data folder of the test's own user."""
    return home.parent / "home" / ".local" / "share"


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    """Run a command line with `--json` and return its exit code and document."""
    code = run([*argv, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_man_pages_completions_and_readme_are_current() -> None:
    assert reference.drift(CHECKOUT, ROOT) == [], "run `make docs`"


def test_the_check_names_what_drifted_and_writing_mends_it(tmp_path: Path) -> None:
    readme = f"# x\n{markdown.BEGIN}\nold\n{markdown.END}\ntail\n"
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    reference.write(tmp_path, ROOT)
    assert reference.drift(tmp_path, ROOT) == []
    (tmp_path / "man/man1/hindsight-recall.1").write_text("old", encoding="utf-8")
    (tmp_path / "man/man1/hindsight-gone.1").write_text("old", encoding="utf-8")
    (tmp_path / "completions/_hindsight").unlink()
    assert reference.drift(tmp_path, ROOT) == [
        "changed man/man1/hindsight-recall.1",
        "missing completions/_hindsight",
        "superfluous man/man1/hindsight-gone.1",
    ]
    reference.write(tmp_path, ROOT)
    assert reference.drift(tmp_path, ROOT) == []
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# x\n") and text.endswith("tail\n") and "old" not in text


def test_the_check_runs_from_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hindsight_cli.reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=CHECKOUT,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_a_readme_without_markers_is_an_error() -> None:
    with pytest.raises(BadInput):
        markdown.with_table("# nothing here\n", ROOT)


def test_the_readme_table_has_every_command() -> None:
    rows = markdown.command_table(ROOT).splitlines()[2:]
    assert [re.split(r"[ `]", row)[3] for row in rows] == [one.name for one in ROOT.commands]


def test_man_install_writes_every_page_once(
    share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = man.pages(ROOT)
    code, planned = document(capsys, "man", "install", "--dry-run")
    assert (code, planned["dry_run"]) == (0, True)
    assert not share.exists()
    code, first = document(capsys, "man", "install")
    assert {one["state"] for one in first["files"]} == {"written"}
    assert [one["path"] for one in first["files"]] == [one["path"] for one in planned["files"]]
    for name, text in pages.items():
        assert (share / "man" / name).read_text(encoding="utf-8") == text
    code, second = document(capsys, "man", "install")
    assert {one["state"] for one in second["files"]} == {"unchanged"}


def test_man_install_says_how_man_finds_the_pages(
    share: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    _, told = document(capsys, "man", "install")
    assert told["commands"] == [f'export MANPATH="{share}/man:$MANPATH"']
    monkeypatch.setenv("PATH", f"/usr/bin:{share.parent}/bin")
    _, told = document(capsys, "man", "install")
    assert told["commands"] == []


@pytest.mark.parametrize("name", ["recall", "hindsight-recall", "hindsight-recall.1"])
def test_man_show_takes_a_command_or_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, page = document(capsys, "man", "show", name)
    assert code == 0
    assert page["text"] == man.pages(ROOT)["man1/hindsight-recall.1"]


def test_man_show_of_an_unknown_page_names_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, error = document(capsys, "man", "show", "nope")
    assert (code, error["code"]) == (66, "input.missing")
    assert "hindsight-glossary.7" in error["hint"]


@pytest.mark.parametrize("shell", list(completions.FILES))
def test_completion_install_puts_the_script_where_the_shell_looks(
    shell: str, share: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    code, planned = document(capsys, "completion", "install", "--dry-run")
    assert (code, planned["files"][0]["state"]) == (0, "planned")
    assert not share.exists()
    code, told = document(capsys, "completion", "install")
    file = share / completions.PLACES[shell]
    assert (code, told["files"]) == (0, [{"path": str(file), "state": "written"}])
    assert file.read_text(encoding="utf-8") == completions.SCRIPTS[shell](ROOT)
    assert any("fpath" in one for one in told["commands"]) == (shell == "zsh")


def test_completion_install_follows_xdg(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code, told = document(capsys, "completion", "install", "bash")
    assert (code, told["files"][0]["state"]) == (0, "written")
    assert (tmp_path / completions.PLACES["bash"]).exists()


@pytest.mark.parametrize("shell", ["/bin/tcsh", ""])
def test_an_unknown_shell_is_a_usage_error(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shell)
    code, error = document(capsys, "completion", "install")
    assert (code, error["code"]) == (2, "usage.invalid")


def test_completion_show_prints_the_script_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "show", "fish"]) == 0
    assert capsys.readouterr().out == completions.SCRIPTS["fish"](ROOT)
