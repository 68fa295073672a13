"""The command tree as plain records, read from Typer's objects by duck typing.

The only module that knows attributes of click's classes: Typer bundles click in some versions and
depends on it in others, so no class of either is imported here. `ADAPTED` lists every attribute
that is relied on.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Literal

from msgspec import Struct

from hindsight_daemon.errors import Bug

ADAPTED: dict[str, tuple[str, ...]] = {
    "command": ("name", "help", "epilog", "hidden", "params"),
    "group": ("commands", "context_settings"),
    "option": (
        *("name", "param_type_name", "opts", "secondary_opts", "hidden", "help", "metavar"),
        *("is_flag", "count", "multiple", "default", "type"),
    ),
    "argument": ("name", "param_type_name", "hidden", "help", "metavar", "nargs", "required"),
}
"""Attributes of Typer's (click's) objects that this module reads, by kind of object."""

_EXAMPLES = re.compile(r"^Examples?:\s*$", re.MULTILINE)
_CHOICES = re.compile(r"[a-z][a-z0-9_-]*(\|[a-z][a-z0-9_-]*)+")

Completes = Literal["nothing", "choices", "ids", "files", "folders"]


class Option(Struct, frozen=True, kw_only=True):
    """An option: `names` long ones first, `metavar` empty for flags."""

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    is_repeatable: bool = False
    is_global: bool = False
    completes: Completes = "nothing"

    @property
    def takes_value(self) -> bool:
        """Tell whether a value follows."""
        return bool(self.metavar)


class Argument(Struct, frozen=True, kw_only=True):
    """A positional argument; `usage` is how the synopsis shows it."""

    metavar: str
    usage: str
    help: str
    choices: tuple[str, ...] = ()
    is_repeatable: bool = False
    completes: Completes = "nothing"


class Command(Struct, frozen=True, kw_only=True):
    """A command or group; `path` lacks the program's name and is empty for the root."""

    path: tuple[str, ...]
    summary: str
    description: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    commands: tuple[Command, ...] = ()

    @property
    def name(self) -> str:
        """The last word of the path, empty for the root."""
        return self.path[-1] if self.path else ""

    @property
    def own_options(self) -> tuple[Option, ...]:
        """The options that are not global."""
        return tuple(option for option in self.options if not option.is_global)

    @property
    def global_options(self) -> tuple[Option, ...]:
        """The options that every command takes."""
        return tuple(option for option in self.options if option.is_global)

    def walk(self) -> list[Command]:
        """Return this command and all below it, parents first."""
        return [self, *(below for child in self.commands for below in child.walk())]


def read_tree(root: Any) -> Command:
    """Return the tree below a Typer (click) root command; hidden commands and options are left out.

    Raises `Bug` if an attribute is gone that `ADAPTED` names.
    """
    _demand(root, "group")
    shared = {tuple(param.opts) for param in root.params if param.param_type_name == "option"}
    help_names = (root.context_settings or {}).get("help_option_names", ["--help"])
    help_option = Option(names=_ordered(help_names), help="Show the help.", is_global=True)
    return _read(root, (), shared, help_option)


def _read(
    node: Any, path: tuple[str, ...], shared: set[tuple[str, ...]], help_option: Option
) -> Command:
    _demand(node, "command")
    paragraphs = _paragraphs(node.help)
    options = [
        _option(param, is_global=tuple(param.opts) in shared)
        for param in node.params
        if param.param_type_name == "option" and not param.hidden
    ]
    arguments = [
        _argument(param)
        for param in node.params
        if param.param_type_name == "argument" and not param.hidden
    ]
    below = getattr(node, "commands", None)
    children = [] if below is None else [(name, below[name]) for name in below]
    return Command(
        path=path,
        summary=paragraphs[0].rstrip(".") if paragraphs else "",
        description=tuple(paragraphs[1:]),
        examples=_examples(node.epilog),
        options=(*options, help_option),
        arguments=tuple(arguments),
        commands=tuple(
            _read(child, (*path, name), shared, help_option)
            for name, child in children
            if not child.hidden
        ),
    )


def _demand(node: Any, kind: str) -> None:
    missing = [name for name in ADAPTED[kind] if not hasattr(node, name)]
    if missing:
        raise Bug(f"Typer's {kind} `{type(node).__name__}` has no {', '.join(missing)}")


def _paragraphs(text: str | None) -> list[str]:
    clean = inspect.cleandoc((text or "").replace("\b\n", "").replace("\f", ""))
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", clean) if part.strip()]


def _examples(epilog: str | None) -> tuple[str, ...]:
    text = inspect.cleandoc((epilog or "").replace("\b", ""))
    found = _EXAMPLES.search(text)
    if found is None:
        return ()
    lines = inspect.cleandoc(text[found.end() :].strip("\n")).splitlines()
    return tuple(line.rstrip() for line in lines if line.strip())


def _ordered(names: list[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (not name.startswith("--"), name)))


def _option(param: Any, *, is_global: bool) -> Option:
    _demand(param, "option")
    takes_value = not (param.is_flag or param.count)
    choices = _choices(param) if takes_value else ()
    metavar = (param.metavar or "|".join(choices) or param.type.name.upper()) if takes_value else ""
    return Option(
        names=_ordered([*param.opts, *param.secondary_opts]),
        help=" ".join((param.help or "").split()),
        metavar=metavar,
        choices=choices,
        default=_default(param.default) if takes_value else "",
        is_repeatable=bool(param.multiple or param.count),
        is_global=is_global,
        completes=_completes(metavar, choices, is_argument=False),
    )


def _argument(param: Any) -> Argument:
    _demand(param, "argument")
    choices = _choices(param)
    is_repeatable = param.nargs == -1
    metavar = param.metavar or "|".join(choices) or param.name.upper()
    metavar = metavar.strip("[]")
    usage = metavar if param.metavar or not is_repeatable else f"{metavar}…"
    return Argument(
        metavar=metavar,
        usage=usage if param.required else f"[{usage}]",
        help=" ".join((param.help or "").split()),
        choices=choices,
        is_repeatable=is_repeatable,
        completes=_completes(metavar, choices, is_argument=True),
    )


def _choices(param: Any) -> tuple[str, ...]:
    # A `Literal` or Enum has its words in the type; a checked list of words in its metavar.
    if (words := getattr(param.type, "choices", None)) is not None:
        return tuple(str(getattr(word, "value", word)) for word in words)
    metavar = param.metavar or ""
    return tuple(metavar.split("|")) if _CHOICES.fullmatch(metavar) else ()


def _default(value: Any) -> str:
    value = getattr(value, "value", value)
    return str(value) if isinstance(value, int | float | str) and value != "" else ""


def _completes(metavar: str, choices: tuple[str, ...], *, is_argument: bool) -> Completes:
    words = set(re.findall(r"[A-Z]+", metavar))
    if choices:
        return "choices"
    if is_argument and "ID" in words:
        return "ids"
    if words & {"DIR", "FOLDER", "DIRECTORY"} or {"NAME", "PATH"} <= words:
        # What may be a name or a path is a project, which is a folder.
        return "folders"
    return "files" if words & {"PATH", "FILE"} else "nothing"
