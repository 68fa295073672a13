"""The quality guard: a small corpus of our own through the production path, against kept figures.

    python -m benchmarks.smoke [--write]

`benchmarks/smoke/` holds three hand-written sets in the form that `benchmarks.retrieval` reads: a
team's conversation in English, one in Chinese, and facts in both, with questions about what changed
meanwhile. Fails (exit code 1) when recall@5 over all questions falls by more than two points, MRR
by four or newest_above_stale by ten below `figures.json`, which `--write` takes anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.metrics import Answer, summarise
from benchmarks.report import progress
from benchmarks.retrieval import ask, daemon_in, fill, load_set, temporary_home

FOLDER = Path(__file__).parent / "smoke"
FIGURES = FOLDER / "figures.json"
TOLERANCE = {"recall@5": 0.02, "mrr": 0.04, "newest_above_stale": 0.10}
KEPT = ("recall@1", "recall@5", "recall@10", "mrr", "newest_above_stale")


def measure(embedder: str = "") -> tuple[str, dict[str, float]]:
    """Ask every question of every set; return the embedder's name (or `none`) and the figures."""
    environment = {"HINDSIGHT_EMBED_MODEL": embedder} if embedder else {}
    answers: list[Answer] = []
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(temporary_home(environment))
        client = stack.enter_context(daemon_in(home))
        for folder in sorted(path.parent for path in FOLDER.glob("*/queries.jsonl")):
            found = load_set(folder)
            fill(client, found, home)
            answers += ask(client, found, one_store=False, rerank="off")[0]
        used = client.status().embedder
    figures = summarise(answers)
    return used or "none", {name: round(figures[name], 4) for name in KEPT}


def fallen(figures: dict[str, float], kept: dict[str, float]) -> list[str]:
    """Return what is further below the kept figures than it may be, in words."""
    return [
        f"{name} fell from {100 * kept[name]:.1f} to {100 * figures[name]:.1f}"
        for name, tolerance in TOLERANCE.items()
        if figures[name] < kept[name] - tolerance
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smoke")
    parser.add_argument("--write", action="store_true", help="keep the figures of this run")
    parser.add_argument("--embedder", default="", help="none, or a name of `hindsight model list`")
    options = parser.parse_args(arguments)
    embedder, figures = measure(options.embedder)
    print(json.dumps({embedder: figures}))
    known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    if options.write:
        known[embedder] = figures
        FIGURES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    if embedder not in known:
        progress(f"no kept figures for `{embedder}`: nothing to compare with")
        return 0
    problems = fallen(figures, known[embedder])
    for problem in problems:
        progress(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
