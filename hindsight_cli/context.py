"""What one command line has at hand: global options, places, settings, output, a client.

Built once by `app.run` and passed explicitly; everything costly is made on first use.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from msgspec import Struct

from hindsight_cli.output import Output
from hindsight_daemon.client import Client
from hindsight_daemon.config import Settings, load_settings
from hindsight_daemon.errors import Bug
from hindsight_daemon.paths import Paths, resolve_paths

DEFAULT_TIMEOUT_S = 60.0


class GlobalOptions(Struct):
    """The options every command takes, before or after the verb."""

    json: bool = False
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    timeout_s: float = DEFAULT_TIMEOUT_S


class AppContext:
    """Hands out what commands need."""

    def __init__(self, options: GlobalOptions | None = None) -> None:
        self.options = options or GlobalOptions()

    @functools.cached_property
    def output(self) -> Output:
        """Where results and talk go; settled once the options are parsed."""
        return Output(
            is_json=self.options.json,
            is_quiet=self.options.quiet,
            verbosity=self.options.verbose,
            colour=self.options.color,
        )

    @functools.cached_property
    def paths(self) -> Paths:
        """Where everything lives."""
        return resolve_paths()

    @functools.cached_property
    def settings(self) -> Settings:
        """The configuration; raises `ConfigProblem`."""
        return load_settings(self.paths.config_file)

    @property
    def cwd(self) -> str:
        """The folder the command runs in, empty if it is gone; decides the project."""
        try:
            return clean(str(Path.cwd()))
        except OSError:
            return ""

    @contextlib.contextmanager
    def reading(self) -> Iterator[Client]:
        """Give a client for reads; without a daemon it reads the store directly."""
        with self._client(fallback=True) as client:
            yield client

    @contextlib.contextmanager
    def writing(self) -> Iterator[Client]:
        """Give a client of a running daemon, started if need be."""
        with self._client(fallback=False) as client:
            yield client

    @contextlib.contextmanager
    def _client(self, *, fallback: bool) -> Iterator[Client]:
        from hindsight_cli.lifecycle import connect
        from hindsight_daemon.launch import is_lock_held

        starts = not is_lock_held(self.paths)
        with self.output.working("starting the daemon …") if starts else contextlib.nullcontext():
            connection = connect(
                self.paths,
                self.settings,
                timeout_s=self.options.timeout_s,
                fallback="read-only" if fallback else "none",
            )
        for notice in connection.notices:
            self.output.note(notice)
        try:
            yield connection.client
        finally:
            connection.client.close()


def clean(text: str) -> str:
    """Return text that can be sent as UTF-8: bytes that were none show as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def app_context(ctx: typer.Context) -> AppContext:
    """Return the context of a running command."""
    found = ctx.find_object(AppContext)
    if found is None:
        raise Bug("the command runs without its context")
    return found


def global_option_params() -> list[Any]:
    """Return the global options as parameters to be added to every command."""
    from typer.core import TyperOption

    def setter(name: str) -> Callable[[Any, Any, Any], None]:
        def apply(ctx: typer.Context, _param: Any, value: Any) -> None:
            if value not in (None, False, 0):
                setattr(app_context(ctx).options, name, value)

        return apply

    def colour(ctx: typer.Context, _param: Any, value: str | None) -> None:
        if value is None:
            return
        if value not in ("auto", "always", "never"):
            raise typer.BadParameter(f"`{value}` is none of auto, always, never")
        app_context(ctx).options.color = value

    def timeout(ctx: typer.Context, _param: Any, value: float | None) -> None:
        if value is None:
            return
        if not 0 < value <= 86400:
            raise typer.BadParameter("seconds, more than 0 and at most 86400")
        app_context(ctx).options.timeout_s = value

    def flag(names: list[str], target: str, help_text: str) -> TyperOption:
        return TyperOption(
            param_decls=[f"global_{target}", *names],
            is_flag=True,
            default=False,
            expose_value=False,
            callback=setter(target),
            help=help_text,
        )

    return [
        flag(["--json"], "json", "Print one JSON document and nothing else on stdout."),
        flag(["--quiet", "-q"], "quiet", "Leave out notes and progress."),
        TyperOption(
            param_decls=["global_verbose", "--verbose", "-v"],
            type=int,  # else the help shows the range of a counter
            count=True,
            default=0,
            expose_value=False,
            callback=setter("verbose"),
            help="Say more on stderr; tracebacks of unexpected errors.",
        ),
        TyperOption(
            param_decls=["global_color", "--color"],
            type=str,
            metavar="auto|always|never",
            expose_value=False,
            callback=colour,
            help="When to colour; NO_COLOR is honoured.",
        ),
        TyperOption(
            param_decls=["global_timeout", "--timeout"],
            type=float,
            metavar="SECONDS",
            expose_value=False,
            callback=timeout,
            help=f"Longest wait for one answer (default {DEFAULT_TIMEOUT_S:g}).",
        ),
    ]


def command_app(**settings: Any) -> typer.Typer:
    """Return a Typer app in the manners of the house, for a command module to fill.

    With `help` it is a group of commands, which shows its help when none is named.
    """
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help="help" in settings,
        **settings,
    )
