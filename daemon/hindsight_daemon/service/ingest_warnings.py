"""What a person must hear after an ingest: transcripts that gave nothing, records nobody knows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hindsight_daemon.engine.drift import DRIFT_SHARE
from hindsight_daemon.ingest.discover import refusal_of, walk_files
from hindsight_daemon.protocol.document import Notice
from hindsight_daemon.protocol.documents import IngestedFile
from hindsight_daemon.sources.port import Source
from hindsight_daemon.sources.registry import families_by_root

_FEW = 3


def warnings_of(reports: Sequence[IngestedFile]) -> list[Notice]:
    """Return what a person must hear after a run: transcripts without events, unknown records."""
    found: list[Notice] = []
    tried = [one for one in reports if one.size_bytes or one.error]
    empty = [one for one in tried if one.error or not one.total_events]
    if len(tried) > 1 and 2 * len(empty) > len(tried):
        reasons = Counter(_reason(one) for one in empty)
        found.append(
            Notice(
                code="ingest.mostly_empty",
                message=f"{len(empty)} of {len(tried)} transcripts gave no events, such as "
                f"`{empty[0].path}`: {reasons.most_common(1)[0][0]}",
            )
        )
    elif silent := [one.path for one in empty if not one.error]:
        message = f"nothing was found in: {', '.join(silent[:5])}"
        found.append(Notice(code="ingest.no_events", message=message))
    return [*found, *_unknown_records(reports)]


def _reason(report: IngestedFile) -> str:
    if report.error:
        return report.error.replace(f"`{report.path}`", "it")
    if report.skipped:
        return report.skipped[0].reason
    if report.unknown:
        return f"records of unknown type, such as `{next(iter(report.unknown))}`"
    return "its records are known, but nothing in them was said or done"


def _unknown_records(reports: Sequence[IngestedFile]) -> list[Notice]:
    records: Counter[str] = Counter()
    unknown: dict[str, Counter[str]] = {}
    for one in reports:
        strange = sum(one.unknown.values())
        records[one.source] += one.records or one.events + one.skipped_total + strange
        unknown.setdefault(one.source, Counter()).update(one.unknown)
    return [
        Notice(
            code="ingest.unknown_records",
            message=f"{names.total()} of {records[source]} records of `{source}` are of unknown "
            "type: " + ", ".join(f"`{name}` ({n})" for name, n in names.most_common(_FEW)),
        )
        for source, names in sorted(unknown.items())
        if names.total() >= _FEW and names.total() > DRIFT_SHARE * records[source]
    ]


def passed_over(paths: Iterable[str], taken: set[Path]) -> list[Notice]:
    """Return notices on folders with files that should be transcripts but look like none."""
    families = families_by_root(os.environ, Path.home())
    found: list[Notice] = []
    for folder in map(Path, paths):
        if not folder.is_dir():
            continue
        owners = [
            family
            for root, group in families.items()
            if folder.is_relative_to(root)
            for family in group
        ]
        named = [path for path in walk_files(folder) if _should_be(path, owners)]
        strange = [(path, why) for path in named if path not in taken and (why := refusal_of(path))]
        if strange:
            message = (
                f"{len(strange)} of {len(named)} files in `{folder}` have the names of transcripts "
                f"but were not recognised, such as `{strange[0][0]}`: {strange[0][1]}"
            )
            found.append(Notice(code="ingest.not_recognised", message=message))
    return found


def _should_be(path: Path, owners: Sequence[Source]) -> bool:
    """Tell whether a file is a transcript by its name; without owners only JSON Lines are."""
    if owners:
        return any(owner.matches(path) for owner in owners)
    return path.name.endswith((".jsonl", ".jsonl.zst"))
