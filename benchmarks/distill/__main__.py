"""`python -m benchmarks.distill [--json OUT] [--show] [--half tuning|held-out] [--shared DIR]`.

Every labelled session of `cases/` is written in its agent's own format, read and distilled by the
production code, and judged. With `--shared DIR` real transcripts are distilled instead and a
deterministic sample of the lessons is printed, to be read by eye.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.distill.cases import Case, load
from benchmarks.distill.production import learn_session, read_sessions
from benchmarks.distill.score import CaseScore, Figures, score, total
from benchmarks.distill.wire import file_name, render
from benchmarks.report import machine, progress, save, table

_HEADER = ("set", "cases", "outcomes", "accuracy", "expected", "recall", "produced", "precision")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distill")
    parser.add_argument("--json", metavar="OUT", help="write the figures to a file")
    parser.add_argument("--show", action="store_true", help="print what went wrong, case by case")
    parser.add_argument("--all", action="store_true", help="with --show: right lessons too")
    parser.add_argument("--half", choices=("tuning", "held-out"), help="only one half of the set")
    parser.add_argument("--shared", metavar="DIR", help="distil the transcripts below DIR instead")
    parser.add_argument("--sample", type=int, default=50, help="lessons to print of --shared")
    options = parser.parse_args(argv)
    if options.shared:
        sample_of(Path(options.shared), options.sample)
        return
    cases = load()
    if options.half:
        cases = [case for case in cases if case.is_held_out == (options.half == "held-out")]
    scores = score_cases(cases)
    if options.show:
        for one in scores:
            _show(one, everything=options.all)
    figures = summarise(scores)
    rows = [_row(name, one) for name, one in figures.items()]
    print(table((*_HEADER, "junk"), rows))
    if options.json:
        document = {
            "sets": {name: msgspec.to_builtins(one) for name, one in figures.items()},
            "cases": msgspec.to_builtins(scores),
            "settings": machine(),
        }
        save(options.json, document)


def score_cases(cases: Sequence[Case]) -> list[CaseScore]:
    """Write, read, distil and judge cases."""
    scores = []
    with tempfile.TemporaryDirectory(prefix="hs-distill-") as folder:
        for case in cases:
            path = Path(folder) / file_name(case)
            path.write_text(render(case), encoding="utf-8")
            sessions = list(read_sessions(path))
            events = [event for one in sessions for event in one.events]
            learned = [task for one in sessions for task in learn_session(one)]
            scores.append(score(case, events, learned))
    return scores


def summarise(scores: Sequence[CaseScore]) -> dict[str, Figures]:
    """Return the figures of all cases, of each half and of each language."""
    groups = {
        "all": scores,
        "tuning half": [one for one in scores if not one.held_out],
        "held-out half": [one for one in scores if one.held_out],
        "English": [one for one in scores if one.lang == "en"],
        "Chinese": [one for one in scores if one.lang == "zh"],
    }
    for name in dict.fromkeys(one.format for one in scores):
        groups[name] = [one for one in scores if one.format == name]
    return {name: total(group) for name, group in groups.items() if group}


def sample_of(folder: Path, count: int) -> None:
    """Print `count` lessons of all transcripts below a folder, the same ones at every run."""
    texts: dict[str, str] = {}
    sessions = episodes = lessons = 0
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "INDEX.md"):
        for session in read_sessions(path):
            sessions += 1
            for one in learn_session(session):
                episodes += one.episode is not None
                lessons += len(one.lessons)
                for lesson in one.lessons:
                    memory = lesson.memory
                    where = f"{path.parent.name}/{path.name}"
                    line = f"[{memory.kind}, {memory.importance}, {memory.scope}] {memory.text}"
                    texts.setdefault(memory.text, f"{line}\n    {where}: {memory.task_goal[:100]}")
    progress(f"{sessions} sessions, {episodes} episodes, {lessons} lessons, {len(texts)} distinct")
    order = sorted(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())
    for number, text in enumerate(order[:count], 1):
        print(f"{number:3} {texts[text]}")


def _row(name: str, one: Figures) -> list[str]:
    shares = (one.outcome_accuracy, one.recall, one.precision, one.junk)
    accuracy, recall, precision, junk = (f"{100 * share:.1f}" for share in shares)
    counts = (one.cases, one.outcomes, one.expected, one.produced)
    cases, outcomes, expected, produced = map(str, counts)
    return [name, cases, outcomes, accuracy, expected, recall, produced, precision, junk]


def _show(one: CaseScore, *, everything: bool) -> None:
    lines = [f"  outcome: {wrong}" for wrong in one.wrong_outcomes]
    lines += [f"  missed: {missed}" for missed in one.missed]
    for lesson in one.lessons:
        if everything or lesson.fate in ("wrong", "junk"):
            why = f" ({lesson.why})" if lesson.why else ""
            lines.append(f"  {lesson.fate}{why}: [{lesson.kind}] {lesson.text}")
    if lines:
        print("\n".join([f"{one.name} ({one.format})", *lines]))


if __name__ == "__main__":
    main()
