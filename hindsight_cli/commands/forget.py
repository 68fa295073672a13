"""`hindsight forget`: remove memories and keep their text from coming back."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from msgspec import Struct

from hindsight_cli.choices import DryRun
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.later import keep_for_later
from hindsight_cli.output import Output
from hindsight_cli.stdin import ids_or_stdin
from hindsight_cli.wording import MEMORY_HEADINGS, count, memory_rows
from hindsight_daemon.clock import SystemClock, new_id
from hindsight_daemon.errors import DaemonUnavailable, UsageProblem
from hindsight_daemon.protocol.documents import ForgetResult

EXIT_DECLINED = 1
_USAGE = "`hindsight forget ID…`"

app = command_app()


class Options(Struct):
    """The command line of a forget."""

    ids: tuple[str, ...]
    reason: str = ""
    dry_run: bool = False
    yes: bool = False


def preview(ids: tuple[str, ...], context: AppContext) -> list[dict[str, Any]]:
    """Return the memories that the ids name."""
    with context.reading() as client:
        found = [client.show(one).memory for one in ids]
    return list({memory["id"]: memory for memory in found}.values())


def lines_of(
    result: ForgetResult, out: Output, memories: list[dict[str, Any]] | None = None
) -> list[str]:
    """Return what was or would be forgotten; `memories` are those that would."""
    verb = "would forget" if result.dry_run else "forgot"
    if memories:
        return [f"{verb}:", *out.table(MEMORY_HEADINGS, memory_rows(memories, out))]
    lines = [
        f"{verb} {memory_id}{', which rested on it' * (memory_id in result.derived)}"
        for memory_id in result.forgotten
    ]
    lines += [f"cleared {memory_id} of it" for memory_id in result.changed]
    return lines or [f"{verb} nothing"] * (not out.is_quiet)


def run(options: Options, context: AppContext) -> int:
    """Show what is meant, ask if need be, remove, tell."""
    out = context.output
    if not options.dry_run and not options.yes:
        if not out.can_ask:
            raise UsageProblem(
                "nobody is here to confirm", hint="add `--yes`, or look first with `--dry-run`"
            )
        memories = preview(options.ids, context)
        out.talk(out.table(MEMORY_HEADINGS, memory_rows(memories, out)))
        if not out.confirm(f"Forget {count(len(memories), 'memory', 'memories')} for good?"):
            out.say("nothing was forgotten")
            return EXIT_DECLINED
    params: dict[str, Any] = {
        "ids": options.ids,
        "reason": options.reason,
        "dry_run": options.dry_run,
        "request_key": new_id(SystemClock().now()),
    }
    try:
        with context.writing() as client:
            result = client.forget(**params)
    except DaemonUnavailable as exc:
        if options.dry_run:
            raise
        params["ids"] = tuple(memory["id"] for memory in preview(options.ids, context))
        out.note(keep_for_later(context, exc, "memory.forget", params).message)
        result = ForgetResult(forgotten=list(params["ids"]), tombstones=[])
    would_go = options.dry_run and not out.is_json and result.forgotten
    memories = preview(tuple(result.forgotten), context) if would_go else []
    out.result(result, lambda: lines_of(result, out, memories))
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight forget 019c1f0e --reason "the port has changed"
  hindsight list --kind lesson --json | jq -r '.memories[].id' | hindsight forget - --dry-run
"""
)
def forget(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…|-", help="Ids or unique prefixes; `-` reads them from stdin."),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the tombstone.")
    ] = "",
    dry_run: DryRun = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")
    ] = False,
) -> int:
    """Remove memories and keep them from coming back.

    A tombstone with the text stays behind. It blocks the same statement on every path: reading
    the transcript again, consolidation, `remember`, import; also in other words, as far as words
    and the embedding model can tell. Memories that say the same go too, and so do those that were
    derived from nothing else; what has other evidence stays without it. `hindsight unforget` lifts
    the tombstone.
    """
    options = Options(ids=ids_or_stdin(ids or [], _USAGE), reason=reason, dry_run=dry_run, yes=yes)
    return run(options, app_context(ctx))
