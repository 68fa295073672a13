"""The records made from Typer's command tree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hindsight_cli.app import root_command
from hindsight_cli.reference.tree import ADAPTED, Command, read_tree
from hindsight_daemon.errors import Bug
from tests.support.sample_app import command


def _objects(node: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("command", node)]
    found += [(param.param_type_name, param) for param in node.params]
    below = getattr(node, "commands", None)
    if below is not None:
        found.append(("group", node))
        for name in below:
            found += _objects(below[name])
    return found


def _named(root: Command, *path: str) -> Command:
    return next(one for one in root.walk() if one.path == path)


@pytest.mark.parametrize("root", [root_command, command], ids=["hindsight", "sample"])
def test_the_installed_typer_has_every_attribute_that_is_read(root: Any) -> None:
    objects = _objects(root())
    assert {kind for kind, _ in objects} >= {"command", "group", "option"}
    missing = {
        (kind, name) for kind, one in objects for name in ADAPTED[kind] if not hasattr(one, name)
    }
    assert missing == set()


@pytest.mark.parametrize("gone", ADAPTED["option"])
def test_a_typer_without_an_attribute_that_is_needed_fails_loudly(gone: str) -> None:
    root = command()
    param = root.commands["paint"].params[1]
    body = {name: getattr(param, name) for name in ADAPTED["option"] if name != gone}
    root.commands["paint"].params[1] = SimpleNamespace(**body)
    with pytest.raises((Bug, AttributeError), match=gone):
        read_tree(root)


def test_hidden_commands_and_options_are_left_out() -> None:
    root = read_tree(command())
    assert [one.path for one in root.walk()] == [
        (),
        ("paint",),
        ("tools",),
        ("tools", "mend-all"),
    ]
    assert all("--secret" not in one.names for one in _named(root, "paint").options)


def test_help_is_split_into_summary_description_and_examples() -> None:
    paint = _named(read_tree(command()), "paint")
    assert paint.summary == "Paint things"
    assert paint.description == (".dots and 'quotes' at the start, a back\\slash, and 中文.",)
    assert paint.examples == ("hindsight paint --hue red 'it''s'", ".hidden \\back")


def test_words_come_from_a_literal_or_from_the_metavar() -> None:
    options = {one.names[0]: one for one in _named(read_tree(command()), "paint").options}
    assert options["--hue"].choices == ("red", "green")
    assert options["--hue"].default == "red"
    assert options["--layer"].choices == ("base", "top")
    assert options["--layer"].is_repeatable
    assert options["--file"].completes == "files"


def test_arguments_know_what_completes_them() -> None:
    root = read_tree(command())
    (ids,) = _named(root, "paint").arguments
    (folder,) = _named(root, "tools", "mend-all").arguments
    assert (ids.usage, ids.completes, ids.is_repeatable) == ("ID…", "ids", True)
    assert (folder.usage, folder.completes) == ("[FOLDER]", "folders")


def test_the_options_of_the_root_are_global_everywhere() -> None:
    root = read_tree(root_command())
    for one in root.walk()[1:]:
        names = {option.names[0] for option in one.global_options}
        assert {"--json", "--quiet", "--verbose", "--color", "--timeout", "--help"} <= names
