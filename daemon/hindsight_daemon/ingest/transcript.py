"""Reads one transcript from where it was left: bytes → source → redacted events in batches.

The one door from files to events. Synchronous and blocking; run it in a worker thread. It stores
nothing: whoever takes a batch commits its events and its checkpoint together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hindsight_daemon.errors import BadInput, NoInput, UsageProblem
from hindsight_daemon.ingest.batch import (
    BATCH_CHARS,
    BATCH_EVENTS,
    MAX_SKIPPED,
    TranscriptBatch,
)
from hindsight_daemon.ingest.checkpoint import FileFacts, Resume, plan, prefix_hash
from hindsight_daemon.ingest.database import read_database
from hindsight_daemon.ingest.json_tree import read_tree
from hindsight_daemon.ingest.reader import (
    MAX_LINE_BYTES,
    Head,
    OpenTranscript,
    TooLong,
    read_document,
    read_head,
    read_lines,
)
from hindsight_daemon.ingest.redact import redact_event
from hindsight_daemon.ingest.side_files import texts_beside
from hindsight_daemon.model import Checkpoint, Event
from hindsight_daemon.sources.port import (
    DatabaseSource,
    Parser,
    RawLine,
    Skipped,
    Source,
    TranscriptContext,
)
from hindsight_daemon.sources.registry import sniff, source_named

__all__ = ["BATCH_EVENTS", "TranscriptBatch", "read_transcript"]


def read_transcript(
    path: Path,
    *,
    checkpoint: Checkpoint | None = None,
    source_name: str = "",
    session_id: str = "",
    project: str = "",
    label: str = "",
    final: bool = True,
) -> Iterator[TranscriptBatch]:
    """Yield what a transcript holds beyond its checkpoint, at least one batch if it can be read.

    `label` stands for the path in origins and checkpoints (piped input). With `final` false the
    file is still being written: an unterminated last line is left alone, and a file too young to
    be understood yields nothing instead of an error. Databases hold many sessions, so that
    `session_id` does not apply to them. Raises `NoInput`, `BadInput`, `PermissionProblem` or
    `UsageProblem`, for databases also `Busy`.
    """
    shown = label or str(path.absolute())
    with OpenTranscript(path, shown) as transcript:
        if not _has_content(transcript, final=final):
            return
        if transcript.is_database:
            yield from read_database(
                path,
                shown=shown,
                checkpoint=checkpoint,
                source_name=source_name,
                project=project,
                final=final,
            )
            return
        head = read_head(transcript)
        if not head.text.strip():
            if final:
                raise NoInput(f"`{shown}` holds nothing but white space")
            return
        source = _choose(head, checkpoint, source_name, shown, final=final)
        if source is None:
            return
        if source.container == "database":
            raise BadInput(
                f"`{shown}` is no SQLite database, where `{source.name}` keeps its sessions"
            )
        if isinstance(source, DatabaseSource):
            yield from read_tree(
                path, source, shown=shown, checkpoint=checkpoint, project=project, final=final
            )
            return
        facts = _facts(transcript)
        resume = _resume(transcript, facts, checkpoint, source)
        if resume.restarted and not source_name:
            source = _choose(head, None, "", shown, final=final)
            if source is None:
                return
        context = TranscriptContext(
            path=shown,
            session_id=session_id,
            project=project,
            state=resume.state,
            beside={} if label else texts_beside(source, path),
        )
        reading = _Reading(transcript, source, context, facts, resume)
        if source.container == "document":
            yield from reading.document(checkpoint, final=final)
        else:
            yield from reading.lines(final=final)


class _Reading:
    """One pass over a transcript: collects events until a batch is full."""

    def __init__(
        self,
        transcript: OpenTranscript,
        source: Source,
        context: TranscriptContext,
        facts: FileFacts,
        resume: Resume,
    ) -> None:
        self._transcript = transcript
        self._source = source
        self._facts = facts
        self._resume = resume
        self._path = context.path
        self._parser: Parser = source.parser(context)
        # By id: an event that comes again within a batch has grown, and replaces its former self.
        self._events: dict[str, Event] = {}
        self._chars = 0
        self._redactions = 0
        self._garbled = 0
        self._listed = 0
        self._records = 0
        self._found = 0
        self._too_long: list[Skipped] = []
        self._checkpoint = self._checkpoint_at(resume.offset, resume.line, resume.state)

    def lines(self, *, final: bool) -> Iterator[TranscriptBatch]:
        offset, number = self._resume.offset, self._resume.line
        torn_state: str | None = None
        for item, end in read_lines(self._transcript, offset, number, final=final):
            if end is None:
                # The rest of this line may still come, so the checkpoint stays before it.
                torn_state = self._parser.state()
            else:
                offset, number = end, item.number
            if isinstance(item, TooLong):
                reason = f"longer than {MAX_LINE_BYTES // 2**20} MiB"
                self._too_long.append(Skipped(line=item.number, reason=reason))
                continue
            self._records += 1
            yield from self._feed(item)
            if self._is_full() and end is not None:
                yield self._batch(self._checkpoint_at(offset, number, self._parser.state()))
        state = self._parser.state() if torn_state is None else torn_state
        yield self._batch(self._checkpoint_at(offset, number, state), is_last=True)

    def document(self, known: Checkpoint | None, *, final: bool) -> Iterator[TranscriptBatch]:
        raw = read_document(self._transcript)
        if known and not self._resume.restarted and known.prefix_hash == raw.sha256:
            yield self._batch(msgspec.structs.replace(known, mtime_ns=self._facts.mtime_ns))
            return
        self._resume = msgspec.structs.replace(self._resume, offset=0)
        yield from self._feed(raw)
        if self._parser.skipped and not self._found:
            if final:
                reason = self._parser.skipped[0].reason
                raise BadInput(f"`{self._path}` cannot be read as `{self._source.name}`: {reason}")
            return
        done = self._checkpoint_at(raw.byte_end, 1, "")
        done = msgspec.structs.replace(done, prefix_hash=raw.sha256)
        yield self._batch(done, is_last=True)

    def _feed(self, line: RawLine) -> Iterator[TranscriptBatch]:
        """Take the events of a line; one that overflows a batch gives several.

        Those carry the last checkpoint from before the line, so that it is read again after a
        crash in between.
        """
        if "\ufffd" in line.text:
            # A replaced byte takes three; equal lengths mean that the file says U+FFFD itself.
            self._garbled += len(line.text.encode()) != line.byte_end - line.byte_start
        for event in self._parser.feed(line):
            clean, count = redact_event(event)
            self._events[clean.id] = clean
            self._redactions += count
            self._found += 1
            self._chars += len(clean.text)
            if clean.tool is not None:
                self._chars += len(clean.tool.arguments)
            if len(self._events) >= 2 * BATCH_EVENTS or self._chars >= 2 * BATCH_CHARS:
                yield self._batch(self._checkpoint)

    def _is_full(self) -> bool:
        return len(self._events) >= BATCH_EVENTS or self._chars >= BATCH_CHARS

    def _checkpoint_at(self, offset: int, line: int, state: str) -> Checkpoint:
        return Checkpoint(
            path=self._path,
            source=self._source.name,
            parser_version=self._source.parser_version,
            device=self._facts.device,
            inode=self._facts.inode,
            size=self._facts.size,
            mtime_ns=self._facts.mtime_ns,
            offset=offset,
            line=line,
            prefix_hash=prefix_hash(self._transcript.prefix(offset)),
            state=state,
        )

    def _batch(self, checkpoint: Checkpoint, *, is_last: bool = False) -> TranscriptBatch:
        skipped = sorted([*self._parser.skipped, *self._too_long], key=lambda item: item.line)
        listed = skipped[: MAX_SKIPPED - self._listed]
        self._listed += len(listed)
        batch = TranscriptBatch(
            path=self._path,
            source=self._source.name,
            checkpoint=checkpoint,
            events=tuple(self._events.values()),
            records=self._records,
            skipped=tuple(listed),
            skipped_total=len(skipped),
            unknown=dict(self._parser.unknown),
            warnings=self._warnings(is_last=is_last),
            redactions=self._redactions,
            size_bytes=self._facts.size,
            restarted=self._resume.restarted,
        )
        self._checkpoint = checkpoint
        self._events, self._chars, self._redactions, self._garbled = {}, 0, 0, 0
        self._records = 0
        self._too_long = []
        self._parser.skipped.clear()
        self._parser.unknown.clear()
        return batch

    def _warnings(self, *, is_last: bool) -> tuple[str, ...]:
        found = []
        if self._garbled:
            found.append(f"lines with bytes that are not UTF-8, shown as U+FFFD: {self._garbled}")
        if is_last and not self._found and not self._resume.offset:
            found.append("nothing that was said or done was found")
        return tuple(found)


def _has_content(transcript: OpenTranscript, *, final: bool) -> bool:
    if transcript.facts.st_size:
        return True
    if final:
        raise NoInput(f"`{transcript.label}` is empty")
    return False


def _choose(
    head: Head, checkpoint: Checkpoint | None, source_name: str, shown: str, *, final: bool
) -> Source | None:
    """Return the family to read with; None if it cannot be told yet."""
    if source_name:
        return source_named(source_name)
    if checkpoint is not None:
        try:
            return source_named(checkpoint.source)
        except UsageProblem:
            pass  # written by a newer or older version that knows other families
    try:
        return sniff(head.text, shown)[0]
    except BadInput:
        if not final and not head.has_line:
            return None
        raise


def _facts(transcript: OpenTranscript) -> FileFacts:
    info: os.stat_result = transcript.facts
    return FileFacts(
        device=info.st_dev,
        inode=info.st_ino,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        is_packed=transcript.is_packed,
    )


def _resume(
    transcript: OpenTranscript, facts: FileFacts, checkpoint: Checkpoint | None, source: Source
) -> Resume:
    if checkpoint is None:
        return Resume()
    if source.container == "document":
        changed = (checkpoint.source, checkpoint.parser_version) != (
            source.name,
            source.parser_version,
        )
        return Resume(restarted="the parser has changed" if changed else "")
    return plan(
        checkpoint,
        facts,
        source=source.name,
        parser_version=source.parser_version,
        prefix=transcript.prefix(checkpoint.offset),
    )
