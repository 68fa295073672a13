"""`hindsight judge …`: the language model that may be asked, if one is configured."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output
from hindsight_cli.wording import count, span
from hindsight_daemon.protocol.documents import JudgeResult, JudgeTryResult

app = command_app(help="See and try the language model that may be asked.")


def lines_of(result: JudgeResult, out: Output) -> list[str]:
    """Return what is configured, where prompts go, and how queue and budget stand."""
    if result.provider == "none":
        return ["none: nothing is sent to a language model"]
    used_for = "refining what rules learn from tasks" if result.distils else "questions only"
    goes = "stays on this machine" if result.is_local else "leaves this machine, redacted"
    held = f", {result.held} held" if result.held else ""
    lines = out.pairs(
        [
            ("provider", result.provider),
            ("model", result.model),
            ("asked at", result.where),
            ("content", goes if result.where else ""),
            ("used for", used_for if result.where else ""),
            ("budget", f"{result.tokens_left} of {result.tokens_per_day} tokens left today (UTC)"),
            ("waiting", f"{count(result.waiting, 'task')}{held}"),
            ("paused", f"for {span(result.paused_s)}" if result.paused_s else ""),
        ]
    )
    for text in (result.problem, result.trouble):
        if text:
            lines += out.pairs([("problem", text)])
    return lines


@app.command("show")
def show(ctx: typer.Context) -> int:
    """Show which language model is asked, where content goes, and what is left of the budget."""
    context = app_context(ctx)
    with context.reading() as client:
        result = client.judge()
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    return 0


def try_lines(result: JudgeTryResult, out: Output) -> list[str]:
    """Return the prompt of a dry run, or rules and answer beside each other."""
    if result.dry_run:
        where = result.where or "nowhere: no language model is configured"
        head = f"about {result.tokens_estimated} tokens would go to {where}"
        return [
            out.style(head, "cyan"),
            "",
            *result.system.splitlines(),
            "",
            *result.prompt.splitlines(),
        ]
    answer = result.answer or {}
    lines = [out.style(f"rules ({result.session_id})", "cyan"), *_slots(result.rules, out)]
    lines += ["", out.style(f"{result.model}", "cyan"), *_slots(answer, out)]
    lines += [out.style(f"refused: {problem}", "yellow") for problem in result.problems]
    lines.append(f"{result.tokens_in} tokens in, {result.tokens_out} out; nothing was stored")
    return lines


def _slots(slots: dict[str, Any], out: Output) -> list[str]:
    lines = out.pairs(
        [
            ("goal", str(slots.get("goal", ""))),
            ("type", str(slots.get("task_type", ""))),
            ("outcome", str(slots.get("outcome", ""))),
            ("failure", str(slots.get("failure_reason", ""))),
        ]
    )
    for lesson in slots.get("lessons", []):
        lines += out.pairs([(str(lesson.get("kind", "")), str(lesson.get("text", "")))])
    return lines


def run_try(context: AppContext, session: str, *, dry_run: bool) -> int:
    """Ask and print."""
    out = context.output
    connection = context.reading() if dry_run else context.writing()
    with connection as client, out.progress("judge") as on_progress:
        result = client.judge_try(session_id=session, dry_run=dry_run, on_progress=on_progress)
    out.result(result, lambda: try_lines(result, out))
    return 0


@app.command(
    "try",
    epilog="""\b
Examples:
  hindsight judge try --dry-run
  hindsight judge try 5e551000 --json | jq .answer
""",
)
def try_(
    ctx: typer.Context,
    session: Annotated[
        str,
        typer.Argument(
            metavar="[SESSION]", help="A session's id or its beginning; the newest if none."
        ),
    ] = "",
    dry_run: DryRun = False,
) -> int:
    """Show the last task of a session to the language model and print what it fills in.

    Nothing of it is stored; it counts against the budget of the day. With `--dry-run` nothing is
    sent, and the very text that would be is printed.
    """
    return run_try(app_context(ctx), session, dry_run=dry_run)
