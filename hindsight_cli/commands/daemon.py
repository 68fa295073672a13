"""`hindsight daemon …`: start, stop and look after the daemon."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from hindsight_cli import daemon_log, filing, lifecycle, service_unit
from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import InstallDocument, LogDocument
from hindsight_cli.output import Output
from hindsight_cli.wording import size, span
from hindsight_daemon.errors import DaemonStartFailed, UsageProblem
from hindsight_daemon.launch import check_platform
from hindsight_daemon.protocol.documents import Ack, StatusResult

EXIT_NOT_RUNNING = 1

app = command_app(help="Start, stop and look after the daemon.", invoke_without_command=True)


@app.callback()
def group(
    ctx: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve MCP over HTTP on loopback, and say where.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port for it; 0: any free one."),
    ] = None,
) -> int:
    """Start, stop and look after the daemon.

    `--http` starts it if need be and lets it serve MCP over HTTP until it stops. Requests need
    the bearer token in the file it names, which is made on first use and readable by you alone.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    if http:
        return _serve_http(app_context(ctx), port)
    raise UsageProblem("`daemon` needs a command", hint="see `hindsight daemon --help`")


def _serve_http(context: AppContext, port: int | None) -> int:
    with lifecycle.connect(context.paths, context.settings).client as client:
        found = client.serve_http(port=port)
    out = context.output
    out.result(
        found,
        lambda: out.pairs(
            [("url", found.url), ("SSE", found.sse_url), ("token in", found.token_file)]
        ),
    )
    out.say("for example:")
    out.say(
        f"  claude mcp add --transport http hindsight {found.url} "
        f'--header "Authorization: Bearer $(cat {found.token_file})"'
    )
    return 0


def lines_of(status: StatusResult, out: Output) -> list[str]:
    """Return how the daemon is, one topic a line."""
    colour = "green" if status.state == "ready" else "yellow"
    lines = [f"{out.style(status.state, colour)}{f' (pid {status.pid})' if status.pid else ''}"]
    embedder = status.embedder or "none"
    if status.embedder and not status.embedder_loaded:
        embedder += ", not loaded"
    waiting = [
        f"{number} {what}"
        for number, what in (
            (status.pending_fold, "for the tables"),
            (status.pending_vectors, "for vectors"),
        )
        if number
    ]
    lines += out.pairs(
        [
            ("version", status.version),
            ("socket", status.socket),
            ("store", status.store_uri),
            ("up", span(status.uptime_s) if status.uptime_s else ""),
            ("memory", size(status.rss_bytes) if status.rss_bytes else ""),
            ("embedder", embedder if status.uptime_s else ""),
            ("judge", status.judge),
            ("waiting", ", ".join(waiting)),
            ("following", ", ".join(status.watching)),
            ("managed by", status.managed_by if status.managed_by != "self" else ""),
            ("log", status.log),
        ]
    )
    return lines


def show_status(context: AppContext) -> int:
    """Print the status; exit 1 if no daemon runs."""
    status = lifecycle.status(context.paths)
    if status is None:
        status = StatusResult(
            pid=0,
            state="stopped",
            version="",
            socket=str(context.paths.socket),
            log=str(context.paths.log_file),
        )
    _print_status(status, context)
    return EXIT_NOT_RUNNING if status.state == "stopped" else 0


def _print_status(status: StatusResult, context: AppContext) -> None:
    out = context.output
    out.result(status, lambda: lines_of(status, out))
    if not out.is_json:
        for notice in status.warnings:
            out.warn(notice.message)


@app.command("status")
def status(ctx: typer.Context) -> int:
    """Tell whether the daemon runs and how it is; exit 1 if it does not."""
    return show_status(app_context(ctx))


@app.command("start")
def start(ctx: typer.Context) -> int:
    """Start the daemon if it does not run."""
    context = app_context(ctx)
    _print_status(lifecycle.start(context.paths), context)
    return 0


@app.command("stop")
def stop(ctx: typer.Context) -> int:
    """Stop the daemon; the next command that needs it starts it again."""
    context = app_context(ctx)
    stopped = lifecycle.stop(context.paths)
    ack = Ack(message="stopped" if stopped else "no daemon was running")
    context.output.result(ack, lambda: [ack.message])
    return 0


@app.command("restart")
def restart(ctx: typer.Context) -> int:
    """Stop the daemon and start it anew."""
    context = app_context(ctx)
    lifecycle.stop(context.paths)
    _print_status(lifecycle.start(context.paths), context)
    return 0


@app.command("logs")
def logs(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines come.")] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", metavar="N", min=0, help="How many to begin with.")
    ] = 50,
) -> int:
    """Show the daemon's log.

    It holds ids, counts and durations, never what was remembered. With `--follow --json` every
    line is one JSON object. Under systemd, see `journalctl --user -u hindsight`.
    """
    context = app_context(ctx)
    out, path = context.output, context.paths.log_file
    found = [daemon_log.fields_of(line) for line in daemon_log.last_lines(path, lines)]
    if not follow:
        document = LogDocument(path=str(path), lines=found)
        out.result(document, lambda: [daemon_log.readable(fields) for fields in found])
        if not found:
            out.note(f"`{path}` is empty")
        return 0
    out.log_lines(found, daemon_log.readable)
    for line in daemon_log.follow(path):
        out.log_lines([daemon_log.fields_of(line)], daemon_log.readable)
    return 0


@app.command("run")
def run(ctx: typer.Context) -> int:
    """Run the daemon in the foreground, for service managers and debugging."""
    check_platform()
    app_context(ctx).output.note("Ctrl-C stops it")
    command = [sys.executable, "-m", "hindsight_daemon"]
    try:
        os.execv(command[0], command)
    except OSError as exc:
        raise DaemonStartFailed(f"cannot execute `{command[0]}`: {exc.strerror}") from exc


def install_unit(context: AppContext, *, dry_run: bool) -> int:
    """Write the service definition of this platform, or print it."""
    if sys.platform == "darwin":
        unit = service_unit.launchd_agent(context.paths, os.environ, os.getuid())
    else:
        unit = service_unit.systemd_unit(os.environ)
    file = filing.install_file(unit.path, unit.text, dry_run=dry_run)
    document = InstallDocument(files=[file], dry_run=dry_run, commands=list(unit.commands))
    out = context.output
    shown = unit.text.splitlines() if dry_run else [f"{file.state} {file.path}"]
    out.result(document, lambda: shown)
    if not out.is_json:
        out.say(f"{'would go to' if dry_run else 'switch it on with'}:")
        for command in [str(unit.path)] if dry_run else unit.commands:
            out.say(f"  {command}")
    return 0


@app.command("install")
def install(ctx: typer.Context, dry_run: DryRun = False) -> int:
    """Hand the daemon to systemd or launchd.

    Writes a user unit (Linux) or a launch agent (macOS) for this installation and says how to
    switch it on; starts nothing. `--dry-run` prints the file instead.
    """
    return install_unit(app_context(ctx), dry_run=dry_run)
