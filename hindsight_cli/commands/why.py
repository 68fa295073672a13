"""`hindsight why`: where a memory comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output, clip, plain
from hindsight_cli.wording import exact
from hindsight_daemon.protocol.documents import WhyResult, WhyStep

_SHOWN_CHARS = 600
_STATES = {
    "unchanged": ("green", "the transcript still says so"),
    "changed": ("yellow", "the transcript has changed since"),
    "gone": ("yellow", "the transcript is gone; this copy was kept"),
    "unknown": ("dim", "not comparable with the transcript"),
}

app = command_app()


def lines_of(result: WhyResult, out: Output) -> list[str]:
    """Return the chain from the memory down to the transcript lines."""
    lines: list[str] = []
    for step in result.steps:
        lines.append(out.style(_head(step), "bold"))
        if text := step.text.strip("\n"):
            lines += out.wrapped(clip(text, _SHOWN_CHARS), "  ")
        if step.transcript:
            lines.append("  " + out.style(_place(step), "dim"))
        if step.verified in _STATES:
            colour, said = _STATES[step.verified]
            lines.append("  " + out.style(said, colour))
        lines.append("")
    for entry in result.history:
        reason = f": {entry['reason']}" if entry["reason"] else ""
        actor = entry["actor"] or "hindsight"
        line = plain(f"{exact(entry['at'])}  {entry['action']} by {actor}{reason}")
        lines += [out.style(one, "dim") for one in out.wrapped(line)]
    return lines if result.history else lines[:-1]


def _head(step: WhyStep) -> str:
    parts = [step.what, step.id if step.what != "transcript" else "", exact(step.at), step.agent]
    return " · ".join(part for part in parts if part)


def _place(step: WhyStep) -> str:
    return f"{step.transcript}:{step.line}" if step.line else step.transcript


def run(memory_id: str, context: AppContext) -> int:
    """Ask and print."""
    with context.reading() as client:
        result = client.why(memory_id)
    out = context.output
    out.result(result, lambda: lines_of(result, out))
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight why 019c1f0e
"""
)
def why(
    ctx: typer.Context,
    memory_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id, or as much of it as is unique.")
    ],
) -> int:
    """Trace a memory to its source.

    Walks from the memory to the episode it was drawn from and to the transcript lines behind it,
    and says whether those lines still read as they did.
    """
    return run(memory_id, app_context(ctx))
