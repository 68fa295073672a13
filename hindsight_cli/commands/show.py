"""`hindsight show`: one memory, whole, or the transcript behind it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.history_text import history_lines
from hindsight_cli.output import Output
from hindsight_cli.transcript_text import spans_text
from hindsight_cli.wording import exact
from hindsight_daemon.protocol.documents import MemoryDocument

app = command_app()


def lines_of(document: MemoryDocument, out: Output) -> list[str]:
    """Return the memory for reading: text first, then what is known about it."""
    memory = document.memory
    head = f"{memory['kind']} {memory.get('short_id') or memory['id']}"
    lines = [out.style(head, "bold"), *out.wrapped(str(memory["text"])), ""]
    lines += out.pairs(_facts(memory))
    for title, items in (("lessons", memory["lessons"]), ("steps", _steps(memory))):
        if items:
            lines += ["", out.style(title, "bold")]
            lines += [line for item in items for line in out.wrapped(str(item), "  ")]
    if memory["evidence"]:
        lines += ["", out.style("evidence", "bold")]
        lines += [line for link in memory["evidence"] for line in _evidence(link, out)]
    if document.history:
        lines += ["", out.style("history", "bold"), *history_lines(document.history, out)]
    return lines


def _facts(memory: dict[str, Any]) -> list[tuple[str, str]]:
    outcome = memory["outcome"] if memory["kind"] == "episode" else ""
    also = memory.get("also_supersedes", ())
    return [
        ("id", memory["id"]),
        ("goal", memory["task_goal"]),
        ("outcome", outcome),
        ("failure", memory["failure_reason"]),
        ("standing", f"{memory['status']}, confidence {memory['confidence']:.2f}"),
        ("because", memory["verdict_reason"]),
        ("importance", memory["importance"]),
        ("trust", memory["trust"]),
        ("scope", memory["scope"]),
        ("holds", memory["applicability"]),
        ("layer", memory["layer"]),
        ("task type", memory["task_type"]),
        ("project", memory["project"]),
        ("agent", memory["agent"]),
        ("session", memory["session_id"]),
        ("speaker", memory["speaker"]),
        ("branch", memory["git_branch"]),
        ("tags", ", ".join(memory["tags"])),
        ("external id", memory["external_id"]),
        ("happened", exact(memory["valid_from"] or "")),
        ("created", exact(memory["created_at"])),
        ("updated", exact(memory["updated_at"])),
        ("expires", exact(memory["expires_at"] or "")),
        ("pinned", "yes" if memory["pinned"] else ""),
        ("seen in", f"{memory['support_count']} tasks" if memory["support_count"] > 1 else ""),
        ("supersedes", ", ".join(filter(None, [memory["supersedes"], *also]))),
        ("contradicts", ", ".join(memory.get("conflicts_with", ()))),
        ("replaced by", memory["superseded_by"]),
        ("derived from", ", ".join(memory["derived_from"])),
    ]


def _steps(memory: dict[str, Any]) -> list[str]:
    return [
        f"{step.get('action', '')}{' → ' + step['result'] if step.get('result') else ''}"
        for step in memory["execution_path"]
    ]


def _evidence(link: dict[str, Any], out: Output) -> list[str]:
    line = f":{link['line']}" if link.get("line") else ""
    lines = [out.style(f"  {link.get('transcript', '')}{line}", "dim")]
    if link.get("quote"):
        lines += out.wrapped(f"“{link['quote']}”", "  ")
    return lines


def run(
    memory_id: str, context: AppContext, *, with_history: bool, with_transcript: bool = False
) -> int:
    """Ask and print."""
    with context.reading() as client:
        document = client.show(memory_id, with_history=with_history, with_spans=with_transcript)
    out = context.output
    if out.is_json:
        out.document(document)
    elif with_transcript:
        out.paged(spans_text(document, out))
        if not document.spans:
            out.say("no transcript stands behind this memory")
    else:
        out.lines(lines_of(document, out))
    return 0


@app.command(
    epilog="""\b
Examples:
  hindsight show 019c1f0e
  hindsight show 019c1f0e --history --json
  hindsight show 019c1f0e --transcript
"""
)
def show(
    ctx: typer.Context,
    memory_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id, or as much of it as is unique.")
    ],
    history: Annotated[
        bool, typer.Option("--history", help="Also what changed, when, by whom and why.")
    ] = False,
    transcript: Annotated[
        bool,
        typer.Option("--transcript", "-t", help="Instead, the lines of the transcript behind it."),
    ] = False,
) -> int:
    """Show one memory with everything known about it.

    With `--transcript` the evidence is opened in its place: the lines of the transcript itself
    while they are unchanged, else the copy that was kept, which is said. What is longer than the
    terminal goes through `$PAGER`.
    """
    return run(memory_id, app_context(ctx), with_history=history, with_transcript=transcript)
