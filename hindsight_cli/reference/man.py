"""The man pages of section 1: the program and its commands; `pages` collects all sections."""

from __future__ import annotations

from hindsight_cli.reference import parts, roff, topics, words
from hindsight_cli.reference.fields import documents
from hindsight_cli.reference.parts import PROGRAM, full_name
from hindsight_cli.reference.tree import Command
from hindsight_daemon.version import VERSION


def pages(root: Command) -> dict[str, str]:
    """Return every man page by its path below `man/`, such as `man1/hindsight.1`."""
    found = {f"man1/{PROGRAM}.1": _program(root)}
    for command in root.commands:
        found[f"man1/{PROGRAM}-{command.name}.1"] = _command(command)
    return dict(sorted({**found, **topics.pages()}.items()))


def document_name(command: Command) -> str:
    """Return the schema of what a command prints with `--json`; empty if it is not known."""
    name = " ".join(command.path)
    schema = words.DOCUMENTS.get(name, f"{PROGRAM}.{'-'.join(command.path)}/1")
    return schema if schema in documents() else ""


def _name(name: str, summary: str) -> list[str]:
    return [*roff.section("NAME"), f"{roff.code(name)} \\- {roff.prose(_lowered(summary))}"]


def _lowered(text: str) -> str:
    # A word in capitals, such as JSON, keeps them.
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _program(root: Command) -> str:
    listed: list[str] = []
    for command in root.commands:
        tag = f"{roff.bold(f'{PROGRAM}-{command.name}')}(1)"
        listed += roff.entry(tag, [f"{command.summary}."])
    everywhere = {option.names for one in root.commands for option in one.global_options}
    shared = [option for option in root.options if option.names in everywhere]
    alone = [option for option in root.options if option.names not in everywhere]
    error = parts.record_entries(documents()["hindsight.error/1"])
    return roff.page(
        roff.title(PROGRAM, 1, VERSION),
        _name(PROGRAM, root.summary),
        roff.section("SYNOPSIS"),
        [parts.usage(root) + " [" + roff.italic("argument …") + "]"],
        roff.section("DESCRIPTION"),
        roff.paragraphs(topics.OVERVIEW),
        roff.paragraphs(root.description),
        roff.section("COMMANDS"),
        listed,
        roff.section("OPTIONS"),
        [one for option in alone for one in parts.option_entry(option)],
        roff.paragraphs(["Every command takes these, before or after its name:"]),
        [one for option in shared for one in parts.option_entry(option)],
        roff.section("JSON OUTPUT"),
        roff.paragraphs(topics.JSON),
        error,
        roff.section("EXIT STATUS"),
        parts.exit_table(),
        roff.section("ENVIRONMENT"),
        parts.named_entries(parts.variables()),
        roff.section("FILES"),
        parts.named_entries(parts.files()),
        parts.see_also(
            [(f"{PROGRAM}-{command.name}", 1) for command in root.commands] + topics.NAMES
        ),
    )


def _command(command: Command) -> str:
    name = f"{PROGRAM}-{command.name}"
    synopsis: list[str] = []
    shown = [one for one in command.walk() if not one.commands]
    for number, one in enumerate(shown):
        synopsis += ([".br"] if number else []) + [parts.usage(one)]
    return roff.page(
        roff.title(name, 1, VERSION),
        _name(name, command.summary),
        roff.section("SYNOPSIS"),
        synopsis,
        roff.section("DESCRIPTION"),
        roff.paragraphs([f"{command.summary}.", *command.description]),
        _subcommands(command),
        roff.section("OPTIONS"),
        parts.option_entries(command),
        _shared_options(command),
        _examples(command),
        roff.section("JSON OUTPUT"),
        _json_output(shown),
        roff.section("EXIT STATUS"),
        parts.exit_summary(command.name),
        roff.section("ENVIRONMENT"),
        roff.paragraphs([f"See {PROGRAM}(1)."]),
        parts.see_also(
            [(PROGRAM, 1)]
            + [(f"{PROGRAM}-{other}", 1) for other in words.SEE_ALSO.get(command.name, ())]
            + [topics.CONFIG] * (command.name == "config")
        ),
    )


def _subcommands(command: Command) -> list[str]:
    below = command.walk()[1:]
    lines = roff.section("COMMANDS") if below else []
    for one in below:
        lines += roff.subsection(full_name(one).removeprefix(f"{PROGRAM} "))
        lines += roff.paragraphs([f"{one.summary}.", *one.description])
        lines += parts.option_entries(one)
    return lines


def _shared_options(command: Command) -> list[str]:
    names = ", ".join(roff.bold(option.names[0]) for option in command.global_options)
    return [".PP", *roff.filled(f"Options of every command, see {roff.bold(PROGRAM)}(1): {names}.")]


def _examples(command: Command) -> list[str]:
    lines = [line for one in command.walk() for line in one.examples]
    return [*roff.section("EXAMPLES"), *roff.example(lines)] if lines else []


def _json_output(commands: list[Command]) -> list[str]:
    lines: list[str] = []
    told: set[str] = set()
    for command in commands:
        schema = document_name(command)
        if not schema:
            text = f"`{full_name(command)}` prints no document of its own."
            lines += roff.paragraphs([text])
            continue
        text = f"`{full_name(command)} --json` prints one `{schema}`"
        if schema in told:
            lines += roff.paragraphs([f"{text}, as above."])
            continue
        told.add(schema)
        about = parts.document_text(documents()[schema])
        lines += roff.paragraphs([f"{text}{': ' + about.rstrip('.') if about else ''}."])
        lines += parts.record_entries(documents()[schema])
    return lines
