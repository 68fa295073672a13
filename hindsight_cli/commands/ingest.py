"""`hindsight ingest`: read transcripts and look back at the tasks in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from hindsight_cli import ingest_report, piped, when
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.errors import EXIT_INTERRUPTED
from hindsight_cli.later import keep_for_later
from hindsight_cli.output import Output
from hindsight_daemon.errors import DaemonUnavailable, NoInput, UsageProblem
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import IngestResult

app = command_app()


class Options(Struct):
    """The command line of an ingest."""

    paths: tuple[str, ...] = ()
    source: str = ""
    project: str = ""
    session_id: str = ""
    since: str = ""
    wait: bool = False
    dry_run: bool = False


def _params(options: Options, context: AppContext) -> dict[str, Any]:
    return {
        "source": options.source,
        "project": options.project,
        "session_id": options.session_id,
        "since": when.as_param(options.since, when.local_now()),
        "wait": options.wait,
        "dry_run": options.dry_run,
        "cwd": context.cwd,
    }


def _absolute(path: str) -> str:
    try:
        return os.path.normpath(Path.cwd() / Path(path).expanduser())
    except FileNotFoundError:
        raise NoInput(f"`{path}` is nowhere: the current folder is gone") from None
    except RuntimeError as exc:
        raise NoInput(f"`{path}`: {exc}") from exc


def read_paths(options: Options, context: AppContext) -> IngestResult:
    """Have files and folders read, or without any the agents' own folders."""
    params = _params(options, context)
    params["paths"] = tuple(_absolute(path) for path in options.paths)
    try:
        with context.writing() as client, context.output.progress("read") as on_progress:
            return client.ingest(**params, on_progress=on_progress)
    except DaemonUnavailable as exc:
        return _postponed(context, exc, params)


def _postponed(context: AppContext, exc: DaemonUnavailable, params: dict[str, Any]) -> IngestResult:
    if params["dry_run"]:
        raise exc
    notice = keep_for_later(context, exc, "ingest.run", params)
    return IngestResult(files=[], episodes=0, memories=0, warnings=[notice])


def read_stream(options: Options, context: AppContext, head: bytes) -> tuple[IngestResult, bool]:
    """Have standard input read; also tells whether it was read to its end."""
    params = _params(options, context)
    joined: IngestResult | None = None

    def feed(file: Path, is_final: bool) -> None:
        nonlocal joined
        call = {**params, "paths": (str(file),), "label": f"stdin:{file.stem}", "final": is_final}
        call["wait"] = params["wait"] and is_final
        try:
            with context.writing() as client, context.output.progress("read") as on_progress:
                latest = client.ingest(**call, on_progress=on_progress)
        except DaemonUnavailable as exc:
            if not is_final:
                return
            kept = file.with_name(f"kept-{file.name}")
            call["paths"] = (str(kept),)
            latest = _postponed(context, exc, call)
            file.rename(kept)
        # A document that is only half there cannot be read yet; that is no failure.
        if is_final or not any(report.error for report in latest.files):
            joined = ingest_report.join(joined, latest)

    is_whole = piped.take_stream(context.paths, feed, head)
    if joined is not None and not is_whole:
        ingest_report.count_what_was_cut_short(joined)
    return joined or IngestResult(files=[], episodes=0, memories=0), is_whole


def run(options: Options, context: AppContext) -> int:
    """Read, report, and tell by the exit code what became of it."""
    if "-" in options.paths and options.paths != ("-",):
        raise UsageProblem("`-` cannot be mixed with other paths")
    head = b"" if options.paths else piped.offered_bytes()
    is_whole = True
    if head or options.paths == ("-",):
        result, is_whole = read_stream(options, context, head)
    else:
        result = read_paths(options, context)
    if not options.paths:
        result, empty = ingest_report.without_empty_folders(result)
        result.warnings.extend(Notice(code="ingest.empty", message=text) for text in empty)
    out = context.output
    code = ingest_report.exit_code(result)
    if not out.is_json:
        _tell(result, out, is_failure=code != 0)
    is_postponed = any(notice.code == "spooled" for notice in result.warnings)
    if out.is_json or not (out.is_quiet or is_postponed):
        out.result(result, lambda: ingest_report.lines_of(result, out))
    return code if is_whole else EXIT_INTERRUPTED


def _tell(result: IngestResult, out: Output, *, is_failure: bool) -> None:
    for message, hint in ingest_report.failures(result).items():
        if is_failure:
            out.error(message, hint)
        else:
            out.warn(f"{message} ({hint})" if hint else message)
    for problem in ingest_report.problems(result):
        out.warn(problem)
    for notice in result.warnings:
        out.note(notice.message)


@app.command(
    epilog="""\b
Examples:
  hindsight ingest                            what your agents have written so far
  hindsight ingest ~/old-sessions session.jsonl
  hindsight ingest --since 7d --dry-run       what would be read
  ssh host cat session.jsonl | hindsight ingest - --project shop
"""
)
def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…|-",
            help="Files or folders; `-` for a transcript on stdin; nothing: the agents' folders.",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option("--source", metavar="NAME", help="Read as this form instead of guessing."),
    ] = "",
    project: Annotated[
        str,
        typer.Option("--project", "-p", metavar="NAME|PATH", help="Where it all belongs."),
    ] = "",
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Session of lines that name none.")
    ] = "",
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only transcripts changed since: `7d`, `yesterday`, `2026-03-09`.",
        ),
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Also wait until the new memories have vectors.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Read transcripts and learn from the tasks in them.

    Takes what Claude Code and Codex write, chat exports, Markdown logs, and JSON Lines with one
    message a line. Every transcript is read on from where it was left; reading it twice changes
    nothing. Lines that cannot be used are named and counted, the rest is taken.
    """
    options = Options(
        paths=tuple(paths or ()),
        source=source,
        project=project,
        session_id=session,
        since=since,
        wait=wait,
        dry_run=dry_run,
    )
    return run(options, app_context(ctx))
