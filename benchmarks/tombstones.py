"""How well a tombstone holds against other words, and how seldom it blocks another statement.

`python -m benchmarks.tombstones [--json OUT] [--embedder auto|none]`. Labelled pairs of what was
forgotten and what is said later lie in `labelled/tombstones.jsonl`: restatements must be blocked;
another value, a denial, a correction and what is merely related must pass. One half was tuned on,
the other only for checking. Runs the production rules in this process.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import report
from hindsight_daemon.config import EmbedSettings
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.engine import restatement
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.restatement import statement_of
from hindsight_daemon.model import Tombstone
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.service.gate import Gate

PAIRS = Path(__file__).parent / "labelled" / "tombstones.jsonl"
FLOORS = (0.0, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98)


def pairs() -> list[dict[str, Any]]:
    """Return one row a pair: forgotten, said, is_restated, lang, half."""
    rows = []
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        group = json.loads(line)
        for kind in ("restated", "other"):
            rows += [
                {**group, "said": said, "is_restated": kind == "restated"} for said in group[kind]
            ]
    return rows


def similarities(rows: list[dict[str, Any]], embedder: str) -> dict[tuple[str, str], float]:
    """Return the cosine of each pair, empty without a model."""
    models = ModelHost(EmbedSettings(model=embedder), resolve_paths().models_dir)
    if not models.model_id:
        return {}
    texts = sorted({normalize(row[name]) for row in rows for name in ("forgotten", "said")})
    vectors = dict(zip(texts, models.embed_passages(texts), strict=True))
    return {
        (row["forgotten"], row["said"]): float(
            vectors[normalize(row["forgotten"])] @ vectors[normalize(row["said"])]
        )
        for row in rows
    }


def blocked_share(
    rows: list[dict[str, Any]], similar: dict[tuple[str, str], float] | None, floor: float
) -> dict[str, float]:
    """Return the share of restatements and of other statements that are blocked, in percent."""
    counts: dict[bool, list[bool]] = defaultdict(list)
    for row in rows:
        forgotten, said = statement_of(row["forgotten"]), statement_of(row["said"])
        cosine = similar[row["forgotten"], row["said"]] if similar else None
        if cosine is not None:
            # The floor of the rules is lowered here and applied from outside, to vary it.
            blocked = cosine >= floor and restatement.restates(forgotten, said, 1.0)
        else:
            blocked = restatement.restates(forgotten, said)
        counts[row["is_restated"]].append(blocked)
    return {
        "n": sum(map(len, counts.values())),
        "restated_blocked": round(100 * sum(counts[True]) / max(1, len(counts[True])), 1),
        "other_blocked": round(100 * sum(counts[False]) / max(1, len(counts[False])), 1),
    }


_CYRILLIC = str.maketrans("aeopcxi", "аеорсхі")
DISGUISES: dict[str, Callable[[str], str]] = {
    "as it was": lambda text: text,
    "in capitals": str.upper,
    "with a lead-in": lambda text: f"Remember: {text}",
    "with a Chinese lead-in": lambda text: f"请记住：{text}",
    "confirmed": lambda text: f"We confirmed that {text[0].lower()}{text[1:]}",
    "with thanks": lambda text: f"{text.rstrip('.。')}, thanks!",
    "full width": lambda text: "".join(
        chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in text
    ),
    "invisible characters": lambda text: "\u200b".join(text),
    "soft hyphens": lambda text: text.replace("a", "a\u00ad").replace("的", "的\u00ad"),
    "Cyrillic letters": lambda text: text.translate(_CYRILLIC),
    "accents": lambda text: text.replace("e", "é").replace("a", "à"),
    "quoted": lambda text: f"“{text}”",
    "markup": lambda text: f"**{text}**",
    "more blanks": lambda text: text.replace(" ", "   "),
    "no full stop": lambda text: text.rstrip(".。"),
    "as a list item": lambda text: f"- {text}",
    "variation selectors": lambda text: text.replace("e", "e\ufe0f").replace("是", "是\ufe0f"),
    "over two lines": lambda text: text.replace(" ", "\n", 1),
}
"""What somebody may do to a statement to have it kept again."""


def resurrections(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Try to bring back every forgotten statement in every disguise, by every sort of writer."""
    tried = returned = 0
    for text in dict.fromkeys(row["forgotten"] for row in rows):
        tombstone = Tombstone(
            id="t", normalized_text=normalize(text), memory_id="m", since=datetime.now(UTC)
        )
        for disguise in DISGUISES.values():
            for trust in ("user", "agent"):
                tried += 1
                returned += not Gate([tombstone]).screen(disguise(text), trust=trust).is_refused  # type: ignore[arg-type]
    return {"tried": tried, "returned": returned}


def measure(embedder: str) -> dict[str, Any]:
    """Return all figures."""
    rows = pairs()
    similar = similarities(rows, embedder)
    found: dict[str, Any] = {"by": {}, "floors": {}, "floor": restatement.SIMILARITY_FLOOR}
    for half in ("tune", "check"):
        for lang in ("en", "zh"):
            part = [row for row in rows if (row["half"], row["lang"]) == (half, lang)]
            found["by"][f"{half} {lang} words only"] = blocked_share(part, None, 0.0)
            if similar:
                share = blocked_share(part, similar, restatement.SIMILARITY_FLOOR)
                found["by"][f"{half} {lang} with the model"] = share
    found["resurrections"] = resurrections(rows)
    for floor in FLOORS if similar else ():
        found["floors"][str(floor)] = blocked_share(rows, similar, floor)
    return found


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--json", metavar="OUT", default="")
    parser.add_argument("--embedder", choices=("auto", "none"), default="auto")
    options = parser.parse_args()
    found = measure(options.embedder)
    head = ("pairs", "n", "restated blocked %", "other blocked %")
    for name in ("by", "floors"):
        rows = [(key, *share.values()) for key, share in found[name].items()]
        if rows:
            print(report.table(head, rows), end="\n\n")
    tried = found["resurrections"]
    print(f"resurrections: {tried['returned']} of {tried['tried']} came back")
    if options.json:
        report.save(options.json, {**found, "machine": report.machine()})


if __name__ == "__main__":
    main()
