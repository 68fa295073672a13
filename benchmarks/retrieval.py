"""Retrieval quality through the production path: a real daemon, a socket, a temporary store.

    python -m benchmarks.retrieval --data DIR [--sets A,B] [--json OUT] [--one-store]
                                   [--rerank on|off|auto]

DIR holds one folder a set, each with `corpus.jsonl` {pool,id,session,ts,speaker,text} and
`queries.jsonl` {pool,id,query,gold,stale,category,lang}. Conversation sets are ingested as generic
transcripts, one project a pool, and asked for turns. Sets named `facts_*` are written with
`remember` in order of `ts` and asked for whatever recall returns by default. No language model
takes part, and nothing here knows which answer is right until the answers are in.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.daemon import CALL_TIMEOUT_S, daemon_in, temporary_home
from benchmarks.metrics import Answer, by_category
from benchmarks.report import machine, progress, save, table
from hindsight_daemon.client import Client
from hindsight_daemon.protocol.documents import MemoryView

LIMIT = 20
_WARNED = ("stale", "contradicted", "superseded", "archived")


class Passage(msgspec.Struct, frozen=True):
    """One text of a corpus; `id` is unique within its pool."""

    pool: str
    id: str
    text: str
    session: str = ""
    ts: str = ""
    speaker: str = ""


class Question(msgspec.Struct, frozen=True):
    """One query with the ids that answer it and those that used to."""

    pool: str
    id: str
    query: str
    gold: list[str]
    stale: list[str] = []
    category: str = "all"
    lang: str = ""


class RetrievalSet(msgspec.Struct, frozen=True):
    """A corpus and its questions."""

    name: str
    passages: list[Passage]
    questions: list[Question]

    @property
    def is_facts(self) -> bool:
        """Whether it is stated with `remember` rather than read from a transcript."""
        return self.name.startswith("facts_")

    @property
    def pools(self) -> list[str]:
        """The names of its pools, in order of appearance."""
        return list(dict.fromkeys(passage.pool for passage in self.passages))


def load_set(folder: Path) -> RetrievalSet:
    """Read one set; raises `OSError` or `msgspec.ValidationError` for a broken one."""
    return RetrievalSet(
        folder.name,
        list(_lines(folder / "corpus.jsonl", Passage)),
        list(_lines(folder / "queries.jsonl", Question)),
    )


def _lines(path: Path, kind: type[Any]) -> Iterator[Any]:
    decoder = msgspec.json.Decoder(kind, strict=False)
    with path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield decoder.decode(line)


def write_transcript(found: RetrievalSet, pool: str, folder: Path) -> Path:
    """Write one pool as a generic transcript and return its path."""
    path = folder / f"{found.name}-{pool}.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for passage in found.passages:
            if passage.pool != pool:
                continue
            line = {
                "id": passage.id,
                # Sessions are numbered anew in each pool.
                "session": f"{found.name}/{pool}/{passage.session}",
                "ts": passage.ts,
                "speaker": passage.speaker,
                "text": passage.text,
            }
            out.write(json.dumps({k: v for k, v in line.items() if v}, ensure_ascii=False) + "\n")
    return path


def fill(client: Client, found: RetrievalSet, folder: Path) -> float:
    """Store a set and wait until all of it has vectors; return the seconds it took."""
    started = time.monotonic()
    if found.is_facts:
        ordered = sorted(found.passages, key=lambda passage: passage.ts)
        for passage in ordered:
            client.remember(
                passage.text,
                project=passage.pool,
                external_id=passage.id,
                occurred_at=passage.ts,
            )
    else:
        for pool in found.pools:
            report = client.ingest(
                (str(write_transcript(found, pool, folder)),), source="generic", project=pool
            )
            for file in report.files:
                if file.error or file.skipped_total:
                    progress(f"{file.path}: {file.error or f'{file.skipped_total} lines skipped'}")
    client.sync(vectors=True, timeout_s=CALL_TIMEOUT_S)
    return time.monotonic() - started


def ask(
    client: Client, found: RetrievalSet, *, one_store: bool, rerank: str
) -> tuple[list[Answer], int]:
    """Ask every question; return the answers and how many came with a warning."""
    age = {(passage.pool, passage.id): passage.ts for passage in found.passages}
    kinds = () if found.is_facts else ("turn",)
    answers: list[Answer] = []
    warned = 0
    for question in found.questions:
        scope: dict[str, Any] = {"all_projects": True} if one_store else {"project": question.pool}
        started = time.perf_counter()
        result = client.recall(question.query, limit=LIMIT, kinds=kinds, rerank=rerank, **scope)
        took_ms = (time.perf_counter() - started) * 1000
        warned += bool(result.warnings)
        views = {_name(view, found, question.pool, one_store): view for view in result.memories}
        gold = frozenset(question.gold)
        answers.append(
            Answer(
                ranked=tuple(views),
                gold=gold,
                stale=frozenset(question.stale),
                newest=max(
                    question.gold, key=lambda i: age.get((question.pool, i), ""), default=""
                ),
                valid=frozenset(i for i, view in views.items() if view.status == "valid"),
                unmarked=frozenset(i for i, view in views.items() if view.status not in _WARNED),
                category=question.category,
                took_ms=took_ms,
            )
        )
    return answers, warned


def _name(view: MemoryView, found: RetrievalSet, pool: str, one_store: bool) -> str:
    # Ids repeat between pools; what another pool returned must not count as this one's gold.
    if not view.external_id:
        return view.id
    if not one_store or view.project == pool or (len(found.pools) == 1 and not view.project):
        return view.external_id
    return f"{view.project}/{view.external_id}"


def print_set(name: str, figures: dict[str, dict[str, float]]) -> None:
    """Print one set's figures, a line for each category."""
    columns = [key for key in figures["all"] if not key.startswith("stale")]
    columns = [key for key in columns if key != "newest_above_stale"]
    print(f"\n## {name}\n")
    print(
        table(
            ["category", *columns],
            [
                [category, *(_shown(key, row[key]) for key in columns)]
                for category, row in figures.items()
            ],
        )
    )
    rows = [(category, row) for category, row in figures.items() if "stale_n" in row]
    if rows:
        keys = ["stale_n", "newest_above_stale", "stale_as_valid", "stale_unmarked"]
        print()
        print(table(["category", *keys], [[c, *(_shown(k, r[k]) for k in keys)] for c, r in rows]))


def _shown(key: str, value: float) -> str:
    if key in ("n", "stale_n"):
        return str(int(value))
    return f"{value:.1f}" if key.endswith("_ms") else f"{100 * value:.1f}"


def run(
    sets: Sequence[RetrievalSet], *, one_store: bool, rerank: str, embedder: str = ""
) -> dict[str, Any]:
    """Run the sets and return the document that `--json` saves."""
    figures: dict[str, dict[str, dict[str, float]]] = {}
    settings: dict[str, Any] = {
        "one_store": one_store,
        "rerank": rerank,
        "limit": LIMIT,
        "fill_s": {},
        "with_warnings": {},
        **machine(),
    }
    environment = {"HINDSIGHT_EMBED_MODEL": embedder} if embedder else {}
    # One store for all sets is asked without project; else each set has a store of its own.
    groups = [list(sets)] if one_store else [[found] for found in sets]
    for group in groups:
        with contextlib.ExitStack() as stack:
            home = stack.enter_context(temporary_home(environment))
            client = stack.enter_context(daemon_in(home))
            for found in group:
                progress(f"{found.name}: storing {len(found.passages)} texts")
                settings["fill_s"][found.name] = round(fill(client, found, home), 1)
            settings["embedder"] = client.status().embedder
            for found in group:
                progress(f"{found.name}: asking {len(found.questions)} questions")
                client.recall("warm up", limit=1, rerank=rerank)
                answers, warned = ask(client, found, one_store=one_store, rerank=rerank)
                figures[found.name] = by_category(answers)
                settings["with_warnings"][found.name] = warned
                print_set(found.name, figures[found.name])
    return {"sets": figures, "settings": settings}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.retrieval",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", required=True, type=Path, help="folder of retrieval sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; default: all")
    parser.add_argument("--json", default="", metavar="OUT", help="save the figures here")
    parser.add_argument("--one-store", action="store_true", help="ask without project filter")
    parser.add_argument("--rerank", choices=("on", "off", "auto"), default="auto")
    parser.add_argument("--embedder", default="", help="none, or a name of `hindsight model list`")
    parser.add_argument("--pools", default="", help="only these pools, comma-separated")
    parser.add_argument(
        "--questions",
        type=int,
        default=0,
        metavar="N",
        help="only the first N questions of each pool",
    )
    options = parser.parse_args(arguments)
    names = [name for name in options.sets.split(",") if name] or sorted(
        path.parent.name for path in options.data.glob("*/queries.jsonl")
    )
    missing = [name for name in names if not (options.data / name / "queries.jsonl").is_file()]
    if missing or not names:
        parser.error(f"no such set in {options.data}: {', '.join(missing) or '(none found)'}")
    sets = [load_set(options.data / name) for name in names]
    pools = [pool for pool in options.pools.split(",") if pool]
    sets = [narrowed(found, pools, options.questions) for found in sets]
    document = run(
        sets, one_store=options.one_store, rerank=options.rerank, embedder=options.embedder
    )
    print(f"\n{json.dumps(document['settings'], ensure_ascii=False)}")
    if options.json:
        save(options.json, document)
    return 0


def narrowed(found: RetrievalSet, pools: Sequence[str], questions: int) -> RetrievalSet:
    """Return a set with only these pools (all if none is named) and the first questions of each."""
    asked: dict[str, int] = {}
    kept: list[Question] = []
    for question in found.questions:
        asked[question.pool] = asked.get(question.pool, 0) + 1
        if (not pools or question.pool in pools) and asked[question.pool] <= (
            questions or len(found.questions)
        ):
            kept.append(question)
    passages = [passage for passage in found.passages if not pools or passage.pool in pools]
    return RetrievalSet(found.name, passages, kept)


if __name__ == "__main__":
    sys.exit(main())
