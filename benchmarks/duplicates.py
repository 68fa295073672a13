"""How well same, updated and merely alike statements are told apart, by their words alone.

    python -m benchmarks.duplicates [--split dev|held-out|all] [--errors] [--json OUT]

`duplicates_en.tsv` and `duplicates_zh.tsv` hold hand-written pairs, one a line: label, the earlier
statement, the later one. `same` must merge, `update` must let the later one replace the earlier,
`alike` and `unrelated` must both stay. Every second pair of each label and language is held out:
nothing was tuned on it. What is asked is `engine.admission.compare`, as in every write.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.report import machine, save, table
from hindsight_daemon.engine.admission import compare
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.engine.normalize import content_hash
from hindsight_daemon.model import Memory

LABELS = ("same", "update", "alike", "unrelated")
LANGUAGES = ("en", "zh")
_ANSWERS = {"same": "same", "replaces": "update", "clashes": "update"}
_FOLDER = Path(__file__).parent
_EARLIER = datetime(2026, 1, 1, tzinfo=UTC)


class Pair(msgspec.Struct, frozen=True):
    """Two statements and what the later one is to the earlier."""

    label: str
    earlier: str
    later: str
    lang: str
    is_held_out: bool


def pairs() -> Iterator[Pair]:
    """Read all pairs; raises `ValueError` for a line that is none."""
    for lang in LANGUAGES:
        seen: dict[str, int] = {}
        path = _FOLDER / f"duplicates_{lang}.tsv"
        for line in path.read_text(encoding="utf-8").splitlines():
            label, earlier, later = line.split("\t")
            if label not in LABELS:
                raise ValueError(f"{path.name}: label `{label}`")
            seen[label] = seen.get(label, 0) + 1
            yield Pair(label, earlier, later, lang, seen[label] % 2 == 0)


def answer(pair: Pair) -> str:
    """Return `same`, `update` or `both`, as a write of the later statement would have it."""
    found = compare(
        _stated(pair.later, _EARLIER + timedelta(days=30)), _stated(pair.earlier, _EARLIER)
    )
    return _ANSWERS.get(found.verdict, "both")


def _stated(text: str, at: datetime) -> Memory:
    return Memory(
        id=text,
        layer="semantic",
        kind="fact",
        text=text,
        created_at=at,
        updated_at=at,
        lang=detect(text),
        trust="user",
        content_hash=content_hash(text),
    )


def figures(asked: Sequence[tuple[Pair, str]]) -> dict[str, float]:
    """Return shares over answered pairs: what merged, replaced and stayed rightly and wrongly."""
    by = {label: [found for pair, found in asked if pair.label == label] for label in LABELS}
    stay = by["alike"] + by["unrelated"]
    merged = [pair.label for pair, found in asked if found == "same"]
    replaced = [pair.label for pair, found in asked if found == "update"]
    return {
        "n": len(asked),
        "merge_recall": _share(by["same"], "same"),
        "merge_precision": _share(merged, "same"),
        "update_recall": _share(by["update"], "update"),
        "update_precision": _share(replaced, "update"),
        "must_stay_n": len(stay),
        "wrongly_replaced": _share(stay, "update"),
        "wrongly_merged": _share(stay, "same"),
        "updates_merged": _share(by["update"], "same"),
        "same_replaced": _share(by["same"], "update"),
    }


def _share(found: Sequence[str], wanted: str) -> float:
    return sum(one == wanted for one in found) / len(found) if found else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.duplicates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--split", choices=("dev", "held-out", "all"), default="all")
    parser.add_argument("--errors", action="store_true", help="print the pairs that went wrong")
    parser.add_argument("--json", default="", metavar="OUT", help="save the figures here")
    options = parser.parse_args(arguments)
    wanted = {"dev": (False,), "held-out": (True,), "all": (False, True)}[options.split]
    chosen = [pair for pair in pairs() if pair.is_held_out in wanted]
    started = time.perf_counter()
    asked = [(pair, answer(pair)) for pair in chosen]
    took_ms = (time.perf_counter() - started) * 1000 / max(1, len(asked))
    document: dict[str, Any] = {"sets": {}, "settings": {"ms_per_pair": took_ms, **machine()}}
    for split, held in (("dev", False), ("held-out", True)):
        for lang in LANGUAGES:
            part = [one for one in asked if one[0].is_held_out is held and one[0].lang == lang]
            if part:
                document["sets"][f"{split}/{lang}"] = figures(part)
    names = list(next(iter(document["sets"].values())))
    rows = [
        [name, *(_shown(key, found[key]) for key in names)]
        for name, found in document["sets"].items()
    ]
    print(table(["set", *names], rows))
    if options.errors:
        for pair, found in asked:
            if found != {"same": "same", "update": "update"}.get(pair.label, "both"):
                print(f"{pair.label} → {found}\t{pair.earlier}\t{pair.later}")
    if options.json:
        save(options.json, document)
    return 0


def _shown(key: str, value: float) -> str:
    return str(int(value)) if key.endswith("n") and value == int(value) else f"{100 * value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
