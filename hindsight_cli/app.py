"""The root command: lazy loading of verbs, global options, and the error boundary.

A verb's module is imported when it is used, so that `hindsight show` does not pay for the others.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hindsight_cli import errors
from hindsight_cli.context import AppContext, app_context, clean, command_app, global_option_params
from hindsight_cli.output import Output, ReaderGone, make_streams_safe, silence
from hindsight_cli.verbs import HIDDEN, VERBS
from hindsight_daemon.errors import HindsightError, UsageProblem
from hindsight_daemon.version import VERSION

_NAME = "hindsight"


class LazyVerbs(MutableMapping[str, Any]):
    """The commands by name, each loaded when it is looked up; hidden ones are not listed."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            if name in VERBS:
                module = VERBS[name].module
            elif name in HIDDEN:
                module = HIDDEN[name]
            else:
                raise KeyError(name)
            self._loaded[name] = load_command(module, name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


def load_command(module: str, name: str) -> Any:
    """Import a verb's module and return its command with the global options added."""
    app = importlib.import_module(f"hindsight_cli.commands.{module}").app
    command = typer.main.get_command(app)
    command.name = name
    command.hidden = name in HIDDEN
    _add_global_options(command)
    return command


def _add_global_options(command: Any) -> None:
    for child in getattr(command, "commands", {}).values():
        _add_global_options(child)
    command.params.extend(global_option_params())


class RootGroup(TyperGroup):
    """Looks verbs up lazily and lists them by section."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = LazyVerbs()

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands of each section under its heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, verb in VERBS.items():
            summary = self.commands[name].get_short_help_str(70)
            sections.setdefault(verb.section, []).append((name, summary))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)


app = command_app(
    name=_NAME,
    cls=RootGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`man hindsight` describes everything, `hindsight demo` shows it.",
)


def _print_version(ctx: typer.Context, value: bool) -> None:
    if value:
        app_context(ctx).output.lines([f"{_NAME} {VERSION}"])
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """A memory with hindsight for coding agents."""
    if ctx.invoked_subcommand is None:
        context = app_context(ctx)
        if context.options.json:
            raise UsageProblem("no command given")
        context.output.lines(ctx.get_help().splitlines())


def root_command() -> Any:
    """Return the whole command tree, verbs still unloaded."""
    command = typer.main.get_command(app)
    command.params.extend(global_option_params())
    return command


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code; every error is told, none escapes."""
    make_streams_safe()
    argv = [clean(argument) for argument in argv]
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    context = AppContext()
    try:
        code = root_command().main(args=argv, prog_name=_NAME, standalone_mode=False, obj=context)
        return code if isinstance(code, int) else 0
    except (ReaderGone, SystemExit):
        # Typer leaves by SystemExit when the reader of its help is gone.
        silence(sys.stdout)
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return errors.EXIT_INTERRUPTED
    except errors.PARSE_ERROR as exc:
        if errors.is_call_for_help(exc):
            context.output.lines(str(getattr(exc, "message", exc)).splitlines())
            return 0
        return _tell(errors.usage_problem(exc), context, argv)
    except HindsightError as exc:
        return _tell(exc, context, argv)
    except Exception as exc:
        known = errors.environment_problem(exc) if isinstance(exc, OSError) else None
        if known is not None:
            silence(sys.stdout)
            return _tell(known, context, argv)
        if context.options.verbose:
            context.output.raw_error(traceback.format_exc())
        return _tell(errors.bug_from(exc, _paths(context)), context, argv)


def _paths(context: AppContext) -> Any:
    with contextlib.suppress(HindsightError, OSError):
        return context.paths
    return None


def _tell(error: HindsightError, context: AppContext, argv: list[str]) -> int:
    error = errors.with_better_hint(error, argv)
    # A command line that could not be parsed may have its `--json` in the part never reached.
    wants_json = context.options.json or "--json" in argv[: _end_of_options(argv)]
    output = Output(
        is_json=wants_json, is_quiet=context.options.quiet, colour=context.options.color
    )
    # Where standard output takes nothing, stderr is the only place left to say so.
    if wants_json and error.detail.get("stream") != "stdout":
        with contextlib.suppress(ReaderGone, HindsightError):
            output.document(errors.document_of(error))
    else:
        output.error(error.message, errors.hint_of(error))
    return error.exit_code


def _end_of_options(argv: list[str]) -> int:
    return argv.index("--") if "--" in argv else len(argv)
