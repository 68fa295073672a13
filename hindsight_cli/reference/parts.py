"""Sections that several man pages share: options, fields, exit status, environment, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hindsight_cli.reference import roff, words
from hindsight_cli.reference.fields import fields_of, records_of, schema_of
from hindsight_cli.reference.tree import Argument, Command, Option
from hindsight_daemon.config import ENVIRONMENT, PLAIN_ENVIRONMENT
from hindsight_daemon.errors import HindsightError, error_classes
from hindsight_daemon.locations import locate
from hindsight_daemon.paths import Paths, resolve_paths

PROGRAM = "hindsight"
_FILES = (
    *("config_file", "store_dir", "journal_file", "lock_file", "log_file", "discovery_file"),
    *("spool_dir", "models_dir", "socket"),
)
_PLACES = {"config_file": "The configuration.", "socket": "Where the daemon listens."}


def full_name(command: Command) -> str:
    """Return the command as typed."""
    return " ".join((PROGRAM, *command.path))


def usage(command: Command) -> str:
    """Return one line of usage in escaped roff."""
    parts = [roff.bold(full_name(command)), "[" + roff.italic("options") + "]"]
    if command.commands:
        parts.append(roff.italic("command"))
    parts += [roff.italic(argument.usage) for argument in command.arguments]
    return " ".join(parts)


def option_entry(option: Option) -> list[str]:
    """Return an option's names and help."""
    names = ", ".join(roff.bold(name) for name in option.names)
    value = f" {roff.italic(option.metavar)}" if option.takes_value else ""
    text = option.help
    if option.default and "default" not in text:
        text = f"{text.rstrip('.')} (default: `{option.default}`)."
    return roff.entry(names + value, [text])


def argument_entry(argument: Argument) -> list[str]:
    """Return an argument and its help."""
    return roff.entry(roff.italic(argument.metavar), [argument.help])


def option_entries(command: Command) -> list[str]:
    """Return arguments and own options of a command."""
    lines: list[str] = []
    for argument in command.arguments:
        lines += argument_entry(argument)
    for option in command.own_options:
        lines += option_entry(option)
    return lines


def record_entries(cls: type[Struct]) -> list[str]:
    """Return the fields of a record, and after them those of the records in it."""
    lines: list[str] = []
    for one in records_of(cls):
        fields = fields_of(one)
        if one is not cls:
            lines += [".PP", *roff.filled(f"Fields of {roff.bold(one.__name__)}:")]
        width = max(len(field.name) for field in fields) + 2
        table = [
            part
            for field in fields
            for part in roff.entry(roff.bold(field.name), [field.kind], width)
        ]
        lines += roff.indented(compact(table))
    return lines


def compact(lines: list[str]) -> list[str]:
    """Return tagged paragraphs without blank lines between them."""
    return [".PD 0", *lines, ".PD"] if lines else []


def document_text(cls: type[Struct]) -> str:
    """Return what the docstring of a document says beyond its schema; may be empty."""
    text = " ".join((cls.__doc__ or "").split())
    schema = schema_of(cls)
    rest = text.removeprefix(schema).lstrip(":; ").strip()
    return "" if rest == text and schema else rest


def exit_classes() -> dict[int, list[type[HindsightError]]]:
    """Return the error classes by exit code, in order of both."""
    found: dict[int, list[type[HindsightError]]] = {}
    for cls in sorted(error_classes(), key=lambda cls: (cls.exit_code, cls.code)):
        found.setdefault(cls.exit_code, []).append(cls)
    return found


def first_sentence(doc: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((doc or "").strip().split("\n\n")[0].split())


def exit_table() -> list[str]:
    """Return every exit code with every error that leads to it."""
    by_code = exit_classes()
    lines: list[str] = []
    for number in sorted({*by_code, *words.EXIT_CODES}):
        lines += roff.entry(roff.bold(str(number)), [words.EXIT_CODES.get(number, "")])
        inner: list[str] = []
        for cls in by_code.get(number, []):
            inner += roff.entry(roff.bold(cls.code), [first_sentence(cls.__doc__)])
        if inner:
            lines += roff.indented(compact(inner))
    return lines


def exit_summary(verb: str) -> list[str]:
    """Return the exit codes that matter most for one command."""
    lines = roff.entry(roff.bold("0"), [words.EXIT_CODES[0]])
    if verb in words.ANSWER_IS_NO:
        lines += roff.entry(roff.bold("1"), [words.ANSWER_IS_NO[verb]])
    lines += roff.entry(roff.bold("2"), [words.EXIT_CODES[2]])
    others = ", ".join(str(number) for number in exit_classes() if number > 2)
    text = f"an error; {PROGRAM}(1) lists them all, with `--json` its `code` says which"
    return compact(lines + roff.entry(roff.bold(others), [text]))


def variables() -> dict[str, str]:
    """Return every environment variable that is honoured, with its meaning."""
    keyed = {name: f"sets `{key}`, see {PROGRAM}-config(5)" for name, key in ENVIRONMENT.items()}
    return dict(sorted({**keyed, **PLAIN_ENVIRONMENT, **words.ENVIRONMENT}.items()))


def named_entries(entries: Mapping[str, str]) -> list[str]:
    """Return names in bold with their texts."""
    return [one for name, text in entries.items() for one in roff.entry(roff.bold(name), [text])]


def files() -> dict[str, str]:
    """Return the default places of our files, as a person writes them, with what they hold."""
    places = locate({"HOME": "/~", "XDG_RUNTIME_DIR": "/run/user/UID"})
    paths = resolve_paths({"HOME": "/~", "XDG_RUNTIME_DIR": "/run/user/UID"})
    found = {}
    for name in _FILES:
        place = str(places[name] if name in places else getattr(paths, name))
        place = place.replace("/~/", "~/").replace("/run/user/UID", "$XDG_RUNTIME_DIR")
        if name == "socket":
            place = f"{place.rpartition('/')[0]}/STORE.sock"
        found[place] = _PLACES.get(name) or first_sentence(getattr(Paths, name).__doc__)
    return found


def see_also(pages: Iterable[tuple[str, int]]) -> list[str]:
    """Return references to other pages."""
    ordered = sorted(set(pages), key=lambda page: (page[1], page[0]))
    return [
        *roff.section("SEE ALSO"),
        *roff.filled(", ".join(f"{roff.bold(name)}({number})" for name, number in ordered)),
    ]
