"""`hindsight watch`: what the daemon sees and learns, as it happens."""

from __future__ import annotations

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.output import Output, clip, plain
from hindsight_cli.wording import count, exact_second
from hindsight_daemon.protocol.documents import Happening

_NAME_WIDTH = 9

app = command_app()


def line_of(happening: Happening, out: Output) -> str:
    """Return a happening as one line; on a terminal it is cut to fit."""
    name, text, style = _told(happening)
    start = f"{exact_second(happening.at)}  {name:<{_NAME_WIDTH}}  "
    room = max(20, out.width - len(start)) if out.width else 0
    head = out.style(start[: -_NAME_WIDTH - 2], "dim") + out.style(start[-_NAME_WIDTH - 2 :], style)
    return head + clip(plain(text), room)


def _told(happening: Happening) -> tuple[str, str, str]:
    """Return what happened in a word, the rest of the line, and the colour of the word."""
    data = happening.data
    match happening.event:
        case "transcript.read":
            source = data["source"]
            return "read", f"{count(data['events'], 'event')} of {source} · {data['path']}", "cyan"
        case "task.consolidated":
            made = count(len(data["memories"]), "memory", "memories")
            colour = {"success": "green", "failure": "red"}.get(data["outcome"], "yellow")
            return "task", f"{data['outcome']}: {data['goal']} ({made})", colour
        case ("memory.added" | "memory.merged" | "memory.superseded" | "memory.forgotten") as event:
            return event.partition(".")[2], f"{data['kind']} {data['id']} {data['text']}", "bold"
        case "overflow":
            return "missed", f"{count(data['lost'], 'line')}: this reader was too slow", "yellow"
        case "watch.started":
            roots = ", ".join(data["roots"])
            return "watching", roots or "no folder of an agent; only what is called for", "dim"
        case other:
            return other, "", "dim"


def run(context: AppContext) -> int:
    """Print until interrupted; raises `DaemonUnavailable` when the daemon goes."""
    out = context.output
    with context.writing() as client:
        for happening in client.happenings():
            if out.is_json:
                out.document(happening)
            else:
                out.lines([line_of(happening, out)])
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight watch
  hindsight watch --json | jq -r 'select(.event == "memory.added") | .data.text'
"""
)
def watch(ctx: typer.Context) -> int:
    """Watch what the daemon sees and learns.

    Shows which transcripts are read, what is made of tasks that are over, and which memories are
    added, merged and forgotten, until Ctrl-C or until the daemon stops. With `--json` every line
    is one JSON object. A reader that is too slow is told how much it missed.
    """
    return run(app_context(ctx))
