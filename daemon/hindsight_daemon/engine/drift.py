"""Whether the transcripts of a source still say what we read in them; pure.

An agent that changes its format must not go unnoticed: a root whose transcripts give nothing is
silent, one whose recent records are of kinds nobody has described drifts. Imports records only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from hindsight_daemon.model import ReadTally, Record

RECENT = 20
"""Transcripts, latest first, that tell how it is now; an old good past must not hide it."""

DRIFT_SHARE = 0.1
"""Share of unknown records among the recent ones above which a source drifts."""

_FEWEST_UNKNOWN = 3
_FEWEST_RECENT = 5
_SILENT_SHARE = 0.75

State = Literal["ok", "silent", "drift", "unread"]


class Found(Record, frozen=True, kw_only=True):
    """One file below a root whose name says that it is a transcript.

    `tally` is what reading it came to, None if nobody read it; `refusal` says why it was not
    taken for a transcript. `modified_at` is in Unix seconds.
    """

    source: str
    size_bytes: int
    modified_at: float
    tally: ReadTally | None = None
    refusal: str = ""


class SourceTally(Record, frozen=True, kw_only=True):
    """What the transcripts of one source below one root came to.

    `empty` counts those that were read but gave no event; `skipped` maps reasons to files that
    could not be used, `skipped_lines` to single records, `unknown` record types to their counts.
    """

    root: str
    source: str
    found: int
    read: int = 0
    empty: int = 0
    skipped: dict[str, int] = {}
    records: int = 0
    events: int = 0
    size_bytes: int = 0
    bytes_read: int = 0
    skipped_lines: dict[str, int] = {}
    unknown: dict[str, int] = {}
    read_at: datetime | None = None
    state: State = "ok"
    why: str = ""


def tallies(root: str, files: Iterable[Found]) -> list[SourceTally]:
    """Add up the files of a root by source, and judge each."""
    groups: dict[str, list[Found]] = {}
    for file in files:
        groups.setdefault(file.source, []).append(file)
    return [_judged(_summed(root, name, group), group) for name, group in sorted(groups.items())]


def alarms(found: Sequence[SourceTally]) -> list[tuple[str, str]]:
    """Return code (`source.silent` or `source.drift`) and message for what needs a person's eye."""
    return [
        (f"source.{one.state}", f"`{one.source}` in `{one.root}`: {one.why}")
        for one in found
        if one.state in ("silent", "drift")
    ]


def _was_tried(file: Found) -> bool:
    return file.size_bytes > 0 and (file.tally is not None or bool(file.refusal))


def _refusal(file: Found) -> str:
    return file.refusal or (file.tally.problem if file.tally is not None else "")


def _events(file: Found) -> int:
    return file.tally.events if file.tally is not None else 0


def _summed(root: str, source: str, files: Sequence[Found]) -> SourceTally:
    skipped: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    read = [file.tally for file in files if file.tally is not None and file.tally.read_at]
    for file in files:
        if reason := _refusal(file):
            skipped[reason] += 1
        elif file.size_bytes == 0:
            skipped["empty file"] += 1
    for tally in read:
        lines.update(tally.skipped)
        unknown.update(tally.unknown)
    return SourceTally(
        root=root,
        source=source,
        found=len(files),
        read=len(read),
        empty=sum(not tally.events for tally in read),
        skipped=dict(skipped.most_common()),
        records=sum(tally.records for tally in read),
        events=sum(tally.events for tally in read),
        size_bytes=sum(file.size_bytes for file in files),
        bytes_read=sum(tally.bytes_read for tally in read),
        skipped_lines=dict(lines.most_common()),
        unknown=dict(unknown.most_common()),
        read_at=max((tally.read_at for tally in read if tally.read_at), default=None),
    )


def _judged(sum_: SourceTally, files: Sequence[Found]) -> SourceTally:
    tried = [file for file in files if _was_tried(file)]
    if not tried:
        return _as(sum_, "unread" if sum_.found else "ok", "")
    if not sum_.events:
        return _as(sum_, "silent", f"{_of(len(tried), len(tried))} gave no events{_because(sum_)}")
    recent = sorted(tried, key=lambda file: file.modified_at, reverse=True)[:RECENT]
    empty = sum(not _events(file) for file in recent)
    if len(recent) >= _FEWEST_RECENT and empty > len(recent) * _SILENT_SHARE:
        latest = f"{empty} of the {len(recent)} latest transcripts"
        return _as(sum_, "silent", f"{latest} gave no events{_because(sum_)}")
    unknown: Counter[str] = Counter()
    records = 0
    for file in recent:
        if file.tally is not None:
            unknown.update(file.tally.unknown)
            records += file.tally.records
    strange = unknown.total()
    if strange >= _FEWEST_UNKNOWN and strange > records * DRIFT_SHARE:
        names = ", ".join(f"`{name}` ({n})" for name, n in unknown.most_common(3))
        share = round(100 * strange / max(1, records))
        what = f"{share} % of {records} recent records are of unknown type: {names}"
        return _as(sum_, "drift", what)
    return sum_


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} transcript{'s' if whole != 1 else ''}"


def _because(sum_: SourceTally) -> str:
    told = next(iter({**sum_.skipped, **sum_.skipped_lines}), "")
    if not told and sum_.unknown:
        told = "unknown record types " + ", ".join(f"`{name}`" for name in list(sum_.unknown)[:3])
    return f": {told}" if told else ""


def _as(sum_: SourceTally, state: State, why: str) -> SourceTally:
    fields = {name: getattr(sum_, name) for name in sum_.__struct_fields__}
    return SourceTally(**{**fields, "state": state, "why": why})
