"""`hindsight demo`: the whole loop on sample sessions, in a home that is removed afterwards."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from importlib import resources
from types import FrameType
from typing import Any

import typer

from hindsight_cli import ingest_report, lifecycle, trial
from hindsight_cli.context import AppContext, app_context, command_app
from hindsight_cli.documents import DemoDocument, DemoQuery
from hindsight_cli.output import Output
from hindsight_cli.recall_text import lines_of as recall_lines
from hindsight_cli.wording import count, project_name
from hindsight_daemon.client import Client
from hindsight_daemon.config import load_settings
from hindsight_daemon.model import DISTILLED_KINDS

QUERIES = ("why did the migration test hang", "订单测试为什么失败")
_SHOWN = 2

app = command_app()


@contextlib.contextmanager
def sample_paths() -> Iterator[tuple[str, ...]]:
    """Give the packaged sample sessions as files."""
    folder = resources.files("hindsight_cli") / "samples"
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(resources.as_file(entry))
            for entry in folder.iterdir()
            if entry.name.endswith(".jsonl")
        ]
        yield tuple(sorted(str(file) for file in files))


@contextlib.contextmanager
def _ends_tidily() -> Iterator[None]:
    # SIGTERM unwinds like Ctrl-C, so that daemon and folder go whoever ends the demo.
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def play(client: Client, out: Output, paths: tuple[str, ...]) -> DemoDocument:
    """Ingest, list what was learned, and ask."""
    started = time.monotonic()
    with out.progress("read") as on_progress:
        read = client.ingest(paths, wait=True, on_progress=on_progress)
    ingest_ms = round((time.monotonic() - started) * 1000, 1)
    for problem in ingest_report.problems(read):
        out.warn(problem)
    # The times shown below are to be those of recall, not of the fold that would run beside it.
    client.sync()
    learned = client.list(limit=200, all_projects=True, kinds=DISTILLED_KINDS).memories
    for query in QUERIES:
        client.recall(query, all_projects=True, limit=_SHOWN)
    queries = []
    for query in QUERIES:
        started = time.monotonic()
        found = client.recall(query, all_projects=True, limit=_SHOWN)
        took_ms = round((time.monotonic() - started) * 1000, 1)
        queries.append(DemoQuery(query=query, took_ms=took_ms, memories=found.memories))
    return DemoDocument(
        transcripts=len(read.files),
        events=read.events,
        ingest_ms=ingest_ms,
        memories=learned,
        queries=queries,
    )


def lines_of(demo: DemoDocument, out: Output) -> list[str]:
    """Return what was learned by session, then questions and answers."""
    lines: list[str] = []
    for memories in _by_session(demo.memories).values():
        first = memories[0]
        head = f"{first['agent']} · {project_name(first['project'])}"
        lines.append(out.style(head, "bold"))
        for memory in memories:
            kind = out.style(memory["kind"], "cyan")
            first_line, *more = out.wrapped(" ".join(memory["text"].split()), "      ")
            lines += [f"  {kind}", first_line, *more]
        lines.append("")
    for asked in demo.queries:
        lines.append(out.style(f'$ hindsight recall "{asked.query}"', "bold"))
        result = {"memories": [_plain(memory) for memory in asked.memories]}
        lines += recall_lines(result, width=out.width, colour=out.style("x", "dim") != "x")
        lines += [out.style(f"{asked.took_ms:.0f} ms", "dim"), ""]
    return lines


def _plain(view: Any) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(view)
    return plain


def _by_session(memories: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    sessions: dict[str, list[dict[str, Any]]] = {}
    for memory in sorted(memories, key=lambda one: (one["session_id"], one["kind"] != "episode")):
        sessions.setdefault(memory["session_id"], []).append(memory)
    return sessions


def run(context: AppContext) -> int:
    """Play the demo; whatever happens, nothing is left behind."""
    out = context.output
    with _ends_tidily(), trial.temporary_home() as paths, sample_paths() as samples:
        out.say(f"a daemon in a temporary home reads {count(len(samples), 'sample session')} …")
        settings = load_settings(paths.config_file)
        connection = lifecycle.connect(
            paths, settings, timeout_s=max(120.0, context.options.timeout_s), client_name="demo"
        )
        with connection.client as client:
            demo = play(client, out, samples)
    if not out.is_json:
        learned = count(len(demo.memories), "memory", "memories")
        out.say(f"{count(demo.events, 'event')} → {learned} in {demo.ingest_ms / 1000:.1f} s")
    out.result(demo, lambda: lines_of(demo, out))
    out.say("the temporary home is gone; `hindsight ingest` reads your own sessions")
    return 0


@app.command()
def demo(ctx: typer.Context) -> int:
    """Show the whole loop on sample sessions.

    Starts a daemon in a temporary home, reads five short sessions of Claude Code and Codex,
    prints what was learned from them, asks two questions, and removes everything again.
    Your own memories are not touched.
    """
    return run(app_context(ctx))
