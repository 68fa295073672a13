"""Rules that every command keeps: global options, help, errors and exit codes, lean imports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_cli import fastpath
from hindsight_cli.app import root_command, run
from hindsight_cli.verbs import HIDDEN, VERBS
from hindsight_daemon.errors import HindsightError, error_classes
from hindsight_daemon.launch import is_lock_held
from hindsight_daemon.paths import resolve_paths

CLI = Path(__file__).resolve().parents[2] / "hindsight_cli"
GLOBAL = {"--json", "--quiet", "--verbose", "--color", "--timeout"}
ERRORS = list(error_classes())


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
        return
    for name in below:
        yield from walk(below[name], (*path, name))


LEAVES = dict(walk(root_command()))


def options_of(command: Any) -> set[str]:
    return {name for param in command.params for name in param.opts if name.startswith("-")}


def loaded_by(code: str, *argv: str) -> set[str]:
    program = f"import sys\nsys.argv = ['hindsight', *sys.argv[1:]]\n{code}\n"
    program += "sys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


MAIN = "from hindsight_cli.__main__ import main; main()"


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_takes_the_global_options(path: tuple[str, ...]) -> None:
    assert options_of(LEAVES[path]) >= GLOBAL


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_and_option_is_described(path: tuple[str, ...]) -> None:
    command = LEAVES[path]
    assert command.help
    assert command.help.split("\n\n")[0].rstrip().endswith(".")
    for param in command.params:
        if param.param_type_name == "option":
            assert param.help, param.opts


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_no_two_options_of_a_command_share_a_name(path: tuple[str, ...]) -> None:
    names = [name for param in LEAVES[path].params for name in param.opts if name[:1] == "-"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_of_every_command_prints_and_starts_no_daemon(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path, "--help"]) == 0
    assert " ".join(path) in capsys.readouterr().out
    assert not is_lock_held(resolve_paths())


def test_what_removes_can_be_rehearsed() -> None:
    for path in (("forget",), ("daemon", "install"), ("man", "install"), ("completion", "install")):
        assert "--dry-run" in options_of(LEAVES[path])


def test_the_hot_path_knows_only_options_of_the_full_command() -> None:
    hot = {*fastpath._VALUE_OPTIONS, *fastpath._LIST_OPTIONS, "--all-projects", "--format", "-f"}
    assert hot <= options_of(LEAVES[("recall",)])


@pytest.mark.parametrize("argv", [["no-such"], ["list", "--nope"], ["show"], ["list", "-n", "x"]])
def test_a_bad_command_line_is_exit_2_with_one_error_and_a_hint(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert "\n\nhint: " in told.err


@pytest.mark.parametrize(
    "argv",
    [
        ["--json", "no-such"],
        ["no-such", "--json"],
        ["list", "--nope", "--json"],
        ["--json"],
        ["daemon", "--json"],
        ["recall", "--kind", "nonsense", "x", "--json"],
    ],
)
def test_with_json_an_error_is_one_document_on_stdout(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert (document["schema"], document["code"]) == ("hindsight.error/1", "usage.invalid")
    assert document["hint"]
    assert told.err == ""


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_every_error_class_ends_with_its_own_exit_code_and_document(
    cls: type[HindsightError],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise cls("the reason", ids=("a", "b"))

    # The seam between commands and daemon, where such errors come from.
    monkeypatch.setattr("hindsight_cli.lifecycle.connect", fail)
    assert run(["stats", "--json"]) == cls.exit_code
    document = json.loads(capsys.readouterr().out)
    assert document["code"] == cls.code
    assert document["message"] == "the reason"
    assert document["retryable"] is cls.retryable
    assert document["detail"] == {"ids": ["a", "b"]}


def test_an_unexpected_exception_is_a_bug_with_its_traceback_in_the_state_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("hindsight_cli.lifecycle.connect", fail)
    assert run(["stats"]) == 70
    told = capsys.readouterr().err
    assert "Traceback" not in told
    log = (resolve_paths().state_dir / "cli-errors.log").read_text(encoding="utf-8")
    assert "ZeroDivisionError: surprise" in log
    assert run(["stats", "--verbose"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_exit_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hindsight_cli.lifecycle.connect", fail)
    assert run(["stats"]) == 130


def test_hidden_names_work_and_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {verb} " in listed for verb in VERBS)
    assert not any(f"  {name} " in listed for name in HIDDEN)
    for name in HIDDEN:
        assert run([name, "--help"]) == 0


def test_without_arguments_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Usage: hindsight" in capsys.readouterr().out
    assert run(["daemon"]) == 0
    assert "Usage: hindsight daemon" in capsys.readouterr().out


def test_the_version_needs_no_typer() -> None:
    loaded = loaded_by(MAIN, "--version")
    assert not loaded & {"typer", "msgspec", "asyncio", "rich", "pathlib"}


@pytest.mark.parametrize("verb", ["stats", "list", "show", "forget", "ingest"])
def test_a_plain_verb_loads_only_itself_and_nothing_heavy(verb: str) -> None:
    code = f"from hindsight_cli.app import root_command; root_command().commands['{verb}']"
    loaded = loaded_by(code)
    heavy = {"rich", "asyncio", "lancedb", "pyarrow", "numpy", "fastembed", "pydantic", "httpx"}
    assert not loaded & heavy
    others = {f"hindsight_cli.commands.{one.module}" for one in VERBS.values()}
    assert loaded & others == {f"hindsight_cli.commands.{VERBS[verb].module}"}


def test_only_the_output_modules_write_to_the_terminal() -> None:
    writers = {
        "output.py",
        "recall_text.py",
        "complete_ids.py",
        "__main__.py",
        "fastpath.py",
        "hook.py",
    }
    offenders = []
    for file in CLI.rglob("*.py"):
        if file.name in writers and file.parent == CLI:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "write":
                target = ast.unparse(node.value)
                if "stdout" in target or "stderr" in target:
                    offenders.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "typer.echo"):
                offenders.append(f"{file.name}:{node.lineno}")
    assert [one for one in offenders if not one.startswith("__main__.py")] == []
