"""Scores the grouping of lessons by pairs, on a labelled set in English and Chinese.

With `--vectors` doubtful pairs are decided by the embedder, as the daemon does where it has one.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from hindsight_daemon.engine.generalise import Grouping, Lesson, lesson_of
from hindsight_daemon.engine.lang import detect
from hindsight_daemon.model import Memory

LABELLED = Path(__file__).with_name("lessons.toml")
_START = datetime(2026, 3, 1, tzinfo=UTC)


def labelled() -> list[tuple[str, Memory]]:
    """Return the lessons with their group, empty where they recur nowhere; each its own episode."""
    rows = tomllib.loads(LABELLED.read_text(encoding="utf-8"))["lesson"]
    return [
        (
            row["group"],
            Memory(
                id=f"{number:04d}",
                layer="semantic",
                kind=row["kind"],
                text=row["text"],
                created_at=_START + timedelta(days=number),
                updated_at=_START + timedelta(days=number),
                lang=detect(row["text"]),
                derived_from=(f"episode-{number}",),
            ),
        )
        for number, row in enumerate(rows)
    ]


def cosines_of(pairs: Sequence[tuple[Lesson, Lesson]]) -> dict[tuple[str, str], float]:
    """Return the cosines of pairs by the installed embedder; empty without one."""
    import tempfile

    from hindsight_daemon.config import EmbedSettings
    from hindsight_daemon.embed.host import ModelHost

    with tempfile.TemporaryDirectory() as folder:
        models = ModelHost(EmbedSettings(), Path(folder))
        if not models.model_id or not pairs:
            return {}
        lessons = {one.id: one.memory.text for pair in pairs for one in pair}
        vectors = dict(zip(lessons, models.embed_passages(list(lessons.values())), strict=True))
        models.unload()
    found = {}
    for one, other in pairs:
        key = (min(one.id, other.id), max(one.id, other.id))
        found[key] = float(vectors[one.id] @ vectors[other.id])
    return found


def scored(*, with_vectors: bool = False, lang: str = "") -> dict[str, Any]:
    """Return precision and recall over pairs, and which pairs were missed or wrong."""
    rows = [(g, m) for g, m in labelled() if lang in ("", "zh" if m.lang == "zh" else "en")]
    lessons = [lesson_of(memory) for _, memory in rows]
    grouping = Grouping(lessons)
    groups = grouping.groups({})
    if with_vectors:
        grouping = Grouping(lessons, cosines_of(grouping.doubtful))
        groups = grouping.groups({})
    found = {
        frozenset(pair)
        for group in groups
        for pair in combinations([member.id for member in group.members], 2)
    }
    wanted = {
        frozenset((one.id, other.id))
        for (label, one), (same, other) in combinations(rows, 2)
        if label and label == same
    }
    texts = {memory.id: memory.text for _, memory in rows}
    return {
        "lessons": len(rows),
        "pairs": len(wanted),
        "precision": len(found & wanted) / len(found) if found else 1.0,
        "recall": len(found & wanted) / len(wanted) if wanted else 1.0,
        "wrong": [sorted(texts[i] for i in pair) for pair in found - wanted],
        "missed": [sorted(texts[i] for i in pair) for pair in wanted - found],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = {
        name: scored(with_vectors=options.vectors, lang=lang)
        for name, lang in (("all", ""), ("en", "en"), ("zh", "zh"))
    }
    print(json.dumps(result, ensure_ascii=False, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
