"""Man pages: complete, current, and correct roff."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hindsight_cli.app import root_command
from hindsight_cli.reference import man, parts, roff, topics, words
from hindsight_cli.reference.fields import documents, settings
from hindsight_cli.reference.tree import read_tree
from hindsight_cli.verbs import VERBS
from hindsight_daemon.config import ENVIRONMENT, PLAIN_ENVIRONMENT, setting_keys
from hindsight_daemon.errors import error_classes
from hindsight_daemon.protocol.methods import METHODS
from tests.support.sample_app import command

ROOT = read_tree(root_command())
PAGES = man.pages(ROOT)


def plain(page: str) -> str:
    """Return a page's text without its roff escapes."""
    text = re.sub(r"\\f[BIR]|\\&", "", PAGES[page])
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ti", "~").replace("\\e", "\\")


def test_every_command_has_a_page_with_all_its_subcommands_and_options() -> None:
    assert {command.name for command in ROOT.commands} == set(VERBS)
    for top in ROOT.commands:
        text = plain(f"man1/hindsight-{top.name}.1")
        for one in top.walk():
            assert one.summary, f"{one.path} has no help"
            assert f"hindsight {' '.join(one.path)}" in text or one.commands
            for option in one.own_options:
                assert option.help, f"{option.names} of {one.path} has no help"
                assert all(name in text for name in option.names)


def test_every_page_has_its_sections_in_order() -> None:
    for command_ in ROOT.commands:
        found = re.findall(r'^\.SH "(.+)"$', PAGES[f"man1/hindsight-{command_.name}.1"], re.M)
        optional = {"COMMANDS", "EXAMPLES"}
        assert [name for name in found if name not in optional] == [
            *("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "JSON OUTPUT", "EXIT STATUS"),
            *("ENVIRONMENT", "SEE ALSO"),
        ]


def test_every_daily_command_shows_an_example() -> None:
    for name in ("recall", "ingest", "remember", "show", "list", "why", "forget"):
        assert '.SH "EXAMPLES"' in PAGES[f"man1/hindsight-{name}.1"]


def test_every_error_stands_in_the_exit_status_of_the_program() -> None:
    section = plain("man1/hindsight.1").partition('.SH "EXIT STATUS"')[2].partition(".SH")[0]
    for cls in error_classes():
        assert re.search(rf"^{re.escape(cls.code)}$", section, re.M), cls.code
        assert re.search(rf"^{cls.exit_code}$", section, re.M), cls.exit_code
        assert cls.exit_code in words.EXIT_CODES


def test_every_setting_is_documented_with_default_and_environment() -> None:
    text = plain("man5/hindsight-config.5")
    assert [one.key for one in settings()] == list(setting_keys())
    for one in settings():
        assert one.text, f"`{one.key}` has no text below it in config.py"
        assert re.search(rf"^{one.key.split('.')[1]}$", text, re.M)
        assert f"default {one.default}" in " ".join(text.split())
    for variable in (*ENVIRONMENT, *PLAIN_ENVIRONMENT):
        assert variable in text
        assert variable in plain("man1/hindsight.1")


def test_every_method_and_error_is_in_the_protocol_page() -> None:
    text = plain("man7/hindsight-protocol.7")
    for name, method in METHODS.items():
        assert f'.SS "{name}"' in text
        for field in method.params.__struct_fields__:
            assert re.search(rf"^{field}$", text, re.M)
    for cls in error_classes():
        assert f"{cls.code} (" in text


def test_every_document_is_described_where_a_command_prints_it() -> None:
    printed = {man.document_name(one) for one in ROOT.walk()} | {"hindsight.error/1"}
    assert set(documents()) - printed == set()


def test_the_words_about_commands_speak_of_commands_there_are() -> None:
    paths = {" ".join(one.path) for one in ROOT.walk()}
    names = {one.name for one in ROOT.commands}
    assert set(words.DOCUMENTS) <= paths
    assert set(words.DOCUMENTS.values()) <= set(documents())
    assert set(words.ANSWER_IS_NO) <= names
    assert set(words.SEE_ALSO) <= names
    assert {other for others in words.SEE_ALSO.values() for other in others} <= names


def test_references_lead_to_pages_that_exist() -> None:
    for page in PAGES:
        for name, number in re.findall(r"(hindsight[a-z-]*)\((\d)\)", plain(page)):
            assert f"man{number}/{name}.{number}" in PAGES, f"{page} refers to {name}({number})"


def test_the_glossary_is_sorted_and_names_every_word_once() -> None:
    assert list(words.GLOSSARY) == sorted(words.GLOSSARY)
    assert all(word in plain(f"man7/{topics.GLOSSARY[0]}.7") for word in words.GLOSSARY)


def test_pages_are_the_same_whoever_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/elsewhere/run")
    monkeypatch.setenv("COLUMNS", "200")
    assert man.pages(read_tree(root_command())) == PAGES


def test_places_are_written_as_a_person_would() -> None:
    assert "~/.config/hindsight/config.toml" in parts.files()
    assert all(place.startswith(("~/", "$XDG_RUNTIME_DIR/")) for place in parts.files())


def test_text_cannot_be_taken_for_requests_or_escapes() -> None:
    page = man.pages(read_tree(command()))["man1/hindsight-paint.1"]
    assert "\n\\&.dots" in page
    assert "\n\\&.hidden \\eback" in page
    assert "\\[u4E2D]\\[u6587]" in page
    assert page.isascii()
    known = re.compile(r"\.(TH|SH|SS|PP|TP|IP|RS|RE|PD|nf|fi|br|nh|ad l|\\\")")
    assert all(known.match(line) for line in page.splitlines() if line.startswith("."))


def test_hyphens_that_are_typed_are_minus_signs() -> None:
    assert roff.code("--dry-run") == "\\-\\-dry\\-run"
    assert roff.inline("use `-n 3`, or --json, not re-read") == (
        "use \\fB\\-n 3\\fR, or \\-\\-json, not re-read"
    )


@pytest.mark.parametrize("page", sorted(PAGES))
def test_mandoc_finds_nothing_wrong(page: str, tmp_path: Path) -> None:
    program = shutil.which("mandoc")
    if program is None:
        pytest.skip("mandoc is not installed")
    file = tmp_path / Path(page).name
    file.write_text(PAGES[page], encoding="utf-8")
    lint = [program, "-T", "lint", "-W", "warning", str(file)]
    told = subprocess.run(lint, capture_output=True, text=True, check=False, timeout=30).stdout
    # The date is left out on purpose: the same source gives the same page.
    assert [line for line in told.splitlines() if "missing date" not in line] == []


def test_man_can_format_every_page(tmp_path: Path) -> None:
    program = shutil.which("groff")
    if program is None:
        pytest.skip("groff is not installed")
    for page, text in PAGES.items():
        file = tmp_path / Path(page).name
        file.write_text(text, encoding="utf-8")
        # -ww: all warnings but the harmless one about a line that cannot be spread.
        format_it = [program, "-man", "-Tutf8", "-ww", "-Wbreak", str(file)]
        done = subprocess.run(format_it, capture_output=True, text=True, check=False, timeout=30)
        assert (done.returncode, done.stderr) == (0, ""), page
