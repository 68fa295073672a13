"""`hindsight config …`: look at the settings and change them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import Annotated, Any

import msgspec
import typer

from hindsight_cli import config_edit, filing
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import ConfigDocument, ConfigValue
from hindsight_cli.output import Output
from hindsight_daemon.config import (
    MODELS,
    check_models,
    load_with_origins,
    parse_settings,
    setting_keys,
)
from hindsight_daemon.errors import ConfigProblem, OutputFailed, UsageProblem
from hindsight_daemon.protocol.documents import Ack

app = command_app(help="Look at the settings and change them.")

Key = Annotated[str, typer.Argument(metavar="KEY", help="Section and name, as `embed.model`.")]


def _document(context: AppContext) -> ConfigDocument:
    path = context.paths.config_file
    settings, origins = load_with_origins(path)
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    return ConfigDocument(path=str(path), exists=path.exists(), settings=plain, origins=origins)


def _value(document: ConfigDocument, key: str) -> Any:
    section, _, name = key.partition(".")
    return document.settings[section][name]


def _toml(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def lines_of(document: ConfigDocument, out: Output, *, with_origin: bool) -> list[str]:
    """Return the settings as the file would hold them; with origins as a table."""
    if with_origin:
        rows = [
            (key, _toml(_value(document, key)), document.origins[key]) for key in setting_keys()
        ]
        return out.table(("KEY", "VALUE", "ORIGIN"), rows)
    lines: list[str] = []
    for section, values in document.settings.items():
        lines += [""] * bool(lines) + [out.style(f"[{section}]", "bold")]
        lines += [f"{name} = {_toml(value)}" for name, value in values.items()]
    return lines


@app.command("show")
def show(
    ctx: typer.Context,
    origin: Annotated[
        bool, typer.Option("--origin", help="Also where each value comes from.")
    ] = False,
) -> int:
    """Show all settings that are in force, as TOML."""
    context = app_context(ctx)
    document = _document(context)
    out = context.output
    out.result(document, lambda: lines_of(document, out, with_origin=origin))
    return 0


@app.command("get")
def get(ctx: typer.Context, key: Key) -> int:
    """Print the value of one setting."""
    context = app_context(ctx)
    config_edit.known_key(key)
    document = _document(context)
    value = _value(document, key)
    found = ConfigValue(key=key, value=value, origin=document.origins[key], path=document.path)
    text = value if isinstance(value, str) else _toml(value)
    context.output.result(found, lambda: [text])
    return 0


def set_value(context: AppContext, key: str, typed: str) -> ConfigValue:
    """Write one setting into the file, which is checked before it replaces the old one."""
    path = context.paths.config_file
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigProblem(f"cannot read `{path}`: {exc}", file=str(path)) from exc
    changed = config_edit.with_value(text, key, config_edit.as_toml(key, typed))
    settings = parse_settings(changed, path)
    if key in MODELS:
        check_models(settings, path, changed)
    filing.replace_file(path, changed)
    section, _, name = key.partition(".")
    value = msgspec.to_builtins(getattr(getattr(settings, section), name))
    return ConfigValue(key=key, value=value, origin="file", path=str(path))


@app.command(
    "set",
    epilog="""\b
Examples:
  hindsight config set embed.model none
  hindsight config set watch.roots ~/archive,~/team
""",
)
def set_(
    ctx: typer.Context,
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="The new value; lists with commas.")
    ],
) -> int:
    """Set one setting in the configuration file.

    Comments and order of the file are kept. A running daemon takes it over when it is restarted.
    """
    context = app_context(ctx)
    found = set_value(context, key, value)
    out = context.output
    out.result(found, lambda: [f"{key} = {_toml(found.value)}"])
    if not out.is_json:
        _, origins = load_with_origins(context.paths.config_file)
        if origins[key] != "file":
            out.warn(f"`{origins[key]}` is set in the environment and wins over the file")
        from hindsight_daemon.launch import is_lock_held

        if is_lock_held(context.paths):
            out.note("`hindsight daemon restart` makes the running daemon use it")
    return 0


@app.command("path")
def path(ctx: typer.Context) -> int:
    """Print where the configuration file is, or would be."""
    context = app_context(ctx)
    file = str(context.paths.config_file)
    context.output.result(Ack(message=file), lambda: [file])
    return 0


def _check_models(context: AppContext) -> None:
    path = context.paths.config_file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    check_models(parse_settings(text, path), path, text)
    # What the environment sets wins over the file, and may be wrong as well.
    check_models(load_with_origins(path)[0], path, text)


@app.command("validate")
def validate(ctx: typer.Context) -> int:
    """Check the configuration file and the environment; exit 78 if something is wrong."""
    context = app_context(ctx)
    document = _document(context)
    _check_models(context)
    said = "is valid" if document.exists else "does not exist, defaults are in force"
    ack = Ack(message=f"`{document.path}` {said}")
    context.output.result(ack, lambda: [ack.message])
    return 0


def editor() -> list[str]:
    """Return the command of the person's editor; raises `UsageProblem` if there is none."""
    for name in ("VISUAL", "EDITOR"):
        if words := shlex.split(os.environ.get(name, "")):
            return words
    for program in ("nano", "vi"):
        if shutil.which(program):
            return [program]
    raise UsageProblem("no editor is known", hint="set EDITOR, such as `EDITOR=vi`")


@app.command("edit")
def edit(ctx: typer.Context) -> int:
    """Open the configuration file in your editor and check it afterwards."""
    context = app_context(ctx)
    file = context.paths.config_file
    if not file.exists():
        filing.replace_file(file, "# see `man 5 hindsight-config`\n")
    command = [*editor(), str(file)]
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as exc:
        raise OutputFailed(f"cannot run `{command[0]}`: {exc.strerror}") from exc
    if status:
        raise OutputFailed(f"`{command[0]}` ended with status {status}")
    ack = Ack(message=f"`{_document(context).path}` is valid")
    _check_models(context)
    context.output.result(ack, lambda: [ack.message])
    return 0
