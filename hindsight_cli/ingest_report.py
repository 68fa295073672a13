"""What an ingest came to: several answers joined, the exit code, the report for people.

Pure: works on documents.
"""

from __future__ import annotations

from msgspec import structs

from hindsight_cli.output import Output
from hindsight_cli.wording import count, size
from hindsight_daemon.errors import BadInput, HindsightError, NoInput, error_classes
from hindsight_daemon.protocol.documents import IngestedFile, IngestResult

_SHOWN_FILES = 20
_SHOWN_SKIPS = 3


def join(former: IngestResult | None, latest: IngestResult) -> IngestResult:
    """Add up the answers of a transcript that was read in several steps."""
    if former is None:
        return latest
    files = {file.path: file for file in former.files}
    for file in latest.files:
        files[file.path] = _join_file(files[file.path], file) if file.path in files else file
    return IngestResult(
        files=list(files.values()),
        episodes=former.episodes + latest.episodes,
        memories=former.memories + latest.memories,
        events=former.events + latest.events,
        turns=former.turns + latest.turns,
        refused=former.refused + latest.refused,
        memory_ids=list(dict.fromkeys([*former.memory_ids, *latest.memory_ids])),
        took_ms=round(former.took_ms + latest.took_ms, 1),
        warnings=latest.warnings,
        dry_run=latest.dry_run,
    )


def count_what_was_cut_short(result: IngestResult) -> None:
    """Count the events of a call that was given up, whose answer nobody heard.

    They are in the tally of their transcript, which was new to this command.
    """
    for file in result.files:
        result.events += max(0, file.total_events - file.events)
        file.events = max(file.events, file.total_events)


def _join_file(former: IngestedFile, latest: IngestedFile) -> IngestedFile:
    return IngestedFile(
        path=latest.path,
        source=latest.source or former.source,
        sessions=list(dict.fromkeys([*former.sessions, *latest.sessions])),
        events=former.events + latest.events,
        skipped=[*former.skipped, *latest.skipped][:20],
        skipped_total=former.skipped_total + latest.skipped_total,
        warnings=list(dict.fromkeys([*former.warnings, *latest.warnings])),
        error=latest.error,
        error_code=latest.error_code,
        hint=latest.hint,
        size_bytes=latest.size_bytes,
        total_events=max(former.total_events, latest.total_events),
    )


def _class_of(code: str) -> type[HindsightError]:
    return next((cls for cls in error_classes() if cls.code == code), BadInput)


def is_useless(file: IngestedFile) -> bool:
    """Tell whether nothing in a file could be used."""
    return bool(file.error) or (not file.sessions and file.skipped_total > 0)


def without_empty_folders(result: IngestResult) -> tuple[IngestResult, list[str]]:
    """Return the result less the agents' folders that hold nothing yet, and what they say.

    Nobody named these folders, so that an agent which was installed and never used is no failure.
    """
    empty = [file for file in result.files if file.error_code == NoInput.code]
    rest = [file for file in result.files if file.error_code != NoInput.code]
    return structs.replace(result, files=rest), [file.error for file in empty]


def exit_code(result: IngestResult) -> int:
    """Return 66 if a path was missing or empty, the first failure's code if all was unusable."""
    if any(file.error_code == NoInput.code for file in result.files):
        return NoInput.exit_code
    if not result.files or not all(is_useless(file) for file in result.files):
        return 0
    return next((_class_of(f.error_code).exit_code for f in result.files if f.error), 65)


def failures(result: IngestResult) -> dict[str, str]:
    """Return the message of every file that failed, with its hint."""
    return {file.error: file.hint for file in result.files if file.error}


def problems(result: IngestResult) -> list[str]:
    """Return a line for the lines that were passed over, and what else is to be said of files."""
    told: list[str] = []
    for file in result.files:
        for skip in file.skipped[:_SHOWN_SKIPS]:
            told.append(f"{file.path}:{skip.line}: skipped: {skip.reason}")
        if (more := file.skipped_total - min(len(file.skipped), _SHOWN_SKIPS)) > 0:
            told.append(f"{file.path}: {count(more, 'more line')} skipped")
        told.extend(f"{file.path}: {warning}" for warning in file.warnings)
    return list(dict.fromkeys(told))


def lines_of(result: IngestResult, out: Output) -> list[str]:
    """Return the report: the files that brought something new, then the sum."""
    fresh = [file for file in result.files if file.events]
    shown = fresh if out.verbosity or result.dry_run or len(fresh) <= _SHOWN_FILES else []
    rows = [
        (count(file.events, "event"), count(len(file.sessions), "session"), file.source, file.path)
        for file in shown
    ]
    lines = out.table(("EVENTS", "SESSIONS", "SOURCE", "TRANSCRIPT"), rows)
    usable = sum(not file.error for file in result.files)
    if result.files and not usable:
        return []
    if result.dry_run:
        size_bytes = sum(file.size_bytes for file in result.files)
        looked = f"{count(usable, 'transcript')}, {size(size_bytes)}"
        return [*lines, f"{looked}: {count(result.events, 'new event')} would be read"]
    total = (
        f"{count(usable, 'transcript')}, {count(result.events, 'new event')}: "
        f"{count(result.episodes, 'episode')}, {count(result.memories, 'memory', 'memories')}"
    )
    lines.append(f"{total} in {result.took_ms / 1000:.1f} s")
    if result.refused:
        lines.append(f"{count(result.refused, 'memory', 'memories')} kept out: forgotten or unsafe")
    return lines
