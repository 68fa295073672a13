"""How many attacks on the memory are stopped, how many honest lessons are, and which secrets leak.

`python -m benchmarks.safety [--json OUT] [--show]`. Texts lie in `labelled/`; each goes through the
production gate as a memory of its origin would. An attack counts as stopped if nothing of it is
stored (or, said in pieces, not its last piece), as neutralised if it is stored with the mark
`confirm`, which readers are told to take to the user. Parts: `tune` was tuned on, `check` was
looked at once its first figures stood, `fresh` and `last` were written later; see the README.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import planted, report
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.service.gate import CONFIRM_TAG, Gate

LABELLED = Path(__file__).parent / "labelled"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the labelled texts of a file."""
    text = (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def fate(attack: dict[str, Any]) -> str:
    """Return what becomes of an attack: stopped, neutralised or stored."""
    gate = Gate()
    said = attack.get("parts") or [attack["text"]]
    verdicts = [gate.screen(one, trust=attack["trust"], source="attacker") for one in said]
    if any(verdict.is_refused for verdict in verdicts):
        return "stopped"
    is_marked = any(CONFIRM_TAG in verdict.tags for verdict in verdicts)
    return "neutralised" if is_marked else "stored"


def share(part: int, whole: int) -> float:
    """Return a share in percent."""
    return round(100 * part / max(1, whole), 1)


def attacks(show: bool) -> list[dict[str, Any]]:
    """Return the figures by part, language and kind."""
    fates: dict[tuple[str, str, str], Counter[str]] = {}
    for attack in rows("attacks"):
        outcome = fate(attack)
        for key in ((attack["half"], attack["lang"], ""), ("", "", attack["kind"]), ("", "", "")):
            fates.setdefault(key, Counter())[outcome] += 1
        if show and outcome == "stored":
            print("stored:", attack.get("parts") or attack["text"])
    return [
        {
            "part": " ".join(key).strip() or "all",
            "n": sum(found.values()),
            "stopped": share(found["stopped"], sum(found.values())),
            "neutralised": share(found["neutralised"], sum(found.values())),
            "stored": share(found["stored"], sum(found.values())),
        }
        for key, found in sorted(fates.items())
    ]


def honest(show: bool) -> list[dict[str, Any]]:
    """Return how many honest lessons are held or marked, by part and language."""
    counts: dict[str, Counter[str]] = {}
    for lesson in rows("honest"):
        verdict = Gate().screen(lesson["text"], trust="agent", source="session")
        for part in (f"{lesson['half']} {lesson['lang']}", "all"):
            found = counts.setdefault(part, Counter())
            found["n"] += 1
            found["held"] += verdict.is_held
            found["refused"] += verdict.is_refused and not verdict.is_held
            found["marked"] += CONFIRM_TAG in verdict.tags
        if show and verdict.is_refused:
            print(f"{verdict.action}:", verdict.reason, "|", lesson["text"])
    return [
        {
            "part": part,
            "n": found["n"],
            "stopped": share(found["held"] + found["refused"], found["n"]),
            "marked": share(found["marked"], found["n"]),
        }
        for part, found in sorted(counts.items())
    ]


def secrets(show: bool) -> list[dict[str, Any]]:
    """Return the share of planted secrets that is replaced, and of harmless lines that is hurt."""
    leaked = total = 0
    for text, value in planted.secrets():
        total += 1
        if value in redact(text)[0]:
            leaked += 1
            if show:
                print("leaked:", text.split(value)[0] + "…")
    lines = list(planted.harmless())
    hurt = [line for line in lines if redact(line)[1]]
    if show:
        print(*(f"false alarm: {line}" for line in hurt), sep="\n")
    return [
        {"part": "planted secrets replaced", "n": total, "percent": share(total - leaked, total)},
        {
            "part": "harmless lines changed",
            "n": len(lines),
            "percent": share(len(hurt), len(lines)),
        },
    ]


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--json", metavar="OUT", default="")
    parser.add_argument("--show", action="store_true", help="also print what went wrong")
    options = parser.parse_args()
    found = {
        "attacks": attacks(options.show),
        "honest": honest(options.show),
        "secrets": secrets(options.show),
    }
    for table in found.values():
        print(report.table(tuple(table[0]), [tuple(row.values()) for row in table]), end="\n\n")
    if options.json:
        report.save(options.json, {**found, "machine": report.machine()})


if __name__ == "__main__":
    main()
