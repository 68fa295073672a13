"""Man pages that belong to no command: settings, protocol, glossary, and texts of the overview."""

from __future__ import annotations

from hindsight_cli.reference import parts, roff, words
from hindsight_cli.reference.fields import documents, fields_of, records_of, schema_of, settings
from hindsight_cli.reference.parts import PROGRAM
from hindsight_daemon.errors import error_classes
from hindsight_daemon.protocol.frames import MAX_FRAME_BYTES
from hindsight_daemon.protocol.handshake import CAPABILITIES
from hindsight_daemon.protocol.methods import METHODS, Method
from hindsight_daemon.protocol.params import Progress
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

CONFIG = (f"{PROGRAM}-config", 5)
PROTOCOL = (f"{PROGRAM}-protocol", 7)
GLOSSARY = (f"{PROGRAM}-glossary", 7)
NAMES = [CONFIG, PROTOCOL, GLOSSARY]

OVERVIEW = (
    "hindsight gives coding agents, and people, a memory. A daemon follows the transcripts that "
    "agents write. When a task has ended it looks back at what was tried, what failed and what "
    "fixed it, and keeps that as an episode with lessons. `hindsight recall` finds them again, "
    "each with its source and its standing.",
    "It needs no key, no network and no configuration. The daemon starts with the first command "
    f"that needs it. The words used here are explained in {GLOSSARY[0]}(7).",
    "Results go to standard output, everything else to standard error. A `-` in place of a text, "
    "a path or an id reads it from standard input.",
)
JSON = (
    "With `--json` a command prints one JSON object on one line and nothing else on standard "
    "output. Its `schema` names the form, such as `hindsight.recall/1`. Fields may be added to a "
    "form; none is renamed or removed while its number stays the same. Times are ISO 8601 in UTC.",
    "A failure prints a `hindsight.error/1`:",
)


def pages() -> dict[str, str]:
    """Return the pages of sections 5 and 7 by their path below `man/`."""
    return {
        f"man5/{CONFIG[0]}.5": _config(),
        f"man7/{PROTOCOL[0]}.7": _protocol(),
        f"man7/{GLOSSARY[0]}.7": _glossary(),
    }


def _config() -> str:
    lines: list[str] = []
    current = ""
    for setting in settings():
        section, name = setting.key.split(".")
        if section != current:
            lines += roff.subsection(f"[{section}]")
            current = section
        facts = f"{setting.kind}; default `{setting.default}`"
        if setting.choices:
            facts = f"one of {', '.join(f'`{one}`' for one in setting.choices)}; " + facts
        if setting.variable:
            facts += f"; environment `{setting.variable}`"
        lines += roff.entry(roff.bold(name), [setting.text, f"Type: {facts}."])
    name = CONFIG[0]
    places = [place for place in parts.files() if place.endswith(".toml")]
    return roff.page(
        roff.title(*CONFIG, VERSION),
        roff.section("NAME"),
        [f"{roff.code(name)} \\- settings of hindsight"],
        roff.section("SYNOPSIS"),
        [roff.bold(place) for place in places],
        roff.section("DESCRIPTION"),
        roff.paragraphs(
            [
                "A TOML file with one table for each part of the program. It need not exist: every "
                "key has a default. Environment variables win over the file. A key that is not "
                "known, or a value of the wrong type, is an error that names the line.",
                "No file in a project can configure anything, so that a repository cannot choose "
                "paths, models or commands.",
            ]
        ),
        roff.section("SETTINGS"),
        lines,
        roff.section("EXAMPLES"),
        roff.example(
            ["[watch]", 'roots = ["~/agents/logs"]', "", "[daemon]", "idle_exit_s = 3600"]
        ),
        roff.section("ENVIRONMENT"),
        parts.named_entries(parts.variables()),
        parts.see_also([(PROGRAM, 1), (f"{PROGRAM}-config", 1)]),
    )


def _protocol() -> str:
    methods: list[str] = []
    told: set[type] = set()
    for method in METHODS.values():
        methods += _method(method, told)
    numbers = ", ".join(str(number) for number in PROTOCOL_VERSIONS)
    return roff.page(
        roff.title(*PROTOCOL, VERSION),
        roff.section("NAME"),
        [f"{roff.code(PROTOCOL[0])} \\- how programs talk to the daemon"],
        roff.section("DESCRIPTION"),
        roff.paragraphs(
            [
                "The daemon listens on a Unix socket that only its user can open. Messages are "
                "JSON-RPC 2.0 without batches: one JSON object a line, UTF-8, at most "
                f"{MAX_FRAME_BYTES} bytes with the newline.",
                "The first message must be `hello`; the first call may be sent along with it. "
                "Fields that are not known are ignored. "
                f"This version speaks protocol {numbers}, with the capabilities "
                f"{', '.join(f'`{one}`' for one in CAPABILITIES)}.",
                "A write may carry a `request_key`: the same key sent again returns the first "
                "answer and changes nothing.",
            ]
        ),
        roff.section("EXAMPLES"),
        roff.example(
            [
                '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"client":"me"}}',
                '{"jsonrpc":"2.0","id":2,"method":"memory.recall","params":{"query":"cache"}}',
            ]
        ),
        roff.section("METHODS"),
        methods,
        roff.section("NOTIFICATIONS"),
        roff.paragraphs(["`progress` tells how far a running call is:"]),
        parts.record_entries(Progress),
        roff.section("ERRORS"),
        roff.paragraphs(
            [
                "The `error` of a reply has `code` (a number), `message`, and `data` with `code` "
                "(one of the words below), `hint`, `retryable`, `exit_code` and `detail`.",
            ]
        ),
        _errors(),
        parts.see_also([(PROGRAM, 1), GLOSSARY]),
    )


def _method(method: Method, told: set[type]) -> list[str]:
    facts = ["changes the store" if method.is_write else "changes nothing in the store"]
    if method.needs_store:
        facts.append("answers `daemon.starting` until the store is open")
    about = " ".join((method.params.__doc__ or "").split())
    lines = roff.subsection(method.name)
    lines += roff.paragraphs([f"{method.summary.capitalize()}. {'; '.join(facts).capitalize()}."])
    if fields_of(method.params):
        lines += roff.paragraphs([f"Parameters: {about}"])
        lines += parts.record_entries(method.params)
    result = schema_of(method.result) or method.result.__name__
    if method.result in told:
        return lines + roff.paragraphs([f"Result: `{result}`, as above."])
    told.update(records_of(method.result))
    return lines + roff.paragraphs([f"Result: `{result}`."]) + parts.record_entries(method.result)


def _errors() -> list[str]:
    lines: list[str] = []
    for cls in sorted(error_classes(), key=lambda cls: cls.code):
        facts = f"{cls.rpc_code}, exit {cls.exit_code}{', retryable' if cls.retryable else ''}"
        lines += roff.entry(
            f"{roff.bold(cls.code)} ({roff.code(facts)})", [parts.first_sentence(cls.__doc__)]
        )
    return lines


def _glossary() -> str:
    return roff.page(
        roff.title(*GLOSSARY, VERSION),
        roff.section("NAME"),
        [f"{roff.code(GLOSSARY[0])} \\- the words of hindsight"],
        roff.section("DESCRIPTION"),
        roff.paragraphs(
            ["One word has one meaning in commands, documents, settings and these pages."]
        ),
        parts.named_entries(words.GLOSSARY),
        parts.see_also([(PROGRAM, 1), PROTOCOL]),
    )


def document_schemas() -> list[str]:
    """Return the schema of every document there is."""
    return sorted(documents())
