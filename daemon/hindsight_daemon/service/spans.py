"""Opens the evidence of a memory in its place: the transcript's own lines, or the kept events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.model import Event, Evidence, Origin
from hindsight_daemon.protocol.documents import NumberedLine, TranscriptSpan
from hindsight_daemon.service.event_views import cut, event_view, spoken_text
from hindsight_daemon.service.originals import Originals
from hindsight_daemon.service.views import iso
from hindsight_daemon.store.port import Store

MAX_SPANS = 40
_SPAN_CHARS = 20_000
_CHUNK_BYTES = 1 << 20


def _line_at(path: str, offset: int) -> int:
    """Return the number of the line that begins at an offset, 0 if the file is gone meanwhile."""
    breaks = 0
    try:
        with Path(path).open("rb") as file:
            while offset > 0 and (data := file.read(min(offset, _CHUNK_BYTES))):
                breaks += data.count(b"\n")
                offset -= len(data)
    except OSError:
        return 0
    return breaks + 1


async def spans_of(store: Store, evidence: Sequence[Evidence]) -> list[TranscriptSpan]:
    """Return the spans that these links lead to, each once, in order of the links."""
    event_ids = [event_id for link in evidence for event_id in link.event_ids]
    events = {event.id: event for event in await store.events_by_id(event_ids)}
    spans: dict[tuple[str, int, int, str], TranscriptSpan] = {}
    originals = Originals()
    for link in evidence:
        for event_id in link.event_ids or ("",):
            event = events.get(event_id)
            origin = (event.origin if event else None) or Origin(
                path=link.transcript,
                line=link.line,
                byte_start=link.byte_start,
                byte_end=link.byte_end,
                sha256=link.sha256,
            )
            # One record of a transcript may have become several events.
            key = (origin.path, origin.byte_start, origin.byte_end, origin.sha256 or event_id)
            if key not in spans:
                if len(spans) == MAX_SPANS:
                    return list(spans.values())
                spans[key] = await asyncio.to_thread(_span, originals, link, event, origin)
            if event is not None:
                _add(spans[key], event)
    return list(spans.values())


def _span(
    originals: Originals, link: Evidence, event: Event | None, origin: Origin
) -> TranscriptSpan:
    session_id = event.session_id if event else link.session_id
    state, raw, path, is_packed = originals.look(origin, event, session_id)
    span = TranscriptSpan(
        agent=link.agent,
        session_id=session_id,
        transcript=origin.path,
        verified=state,
        origin="file" if raw else "store",
        at=iso(event.ts) if event else "",
        line=origin.line,
        byte_start=origin.byte_start,
        byte_end=origin.byte_end,
    )
    if raw:
        # The file may hold secrets that were kept out of the store; they stay out of answers too.
        text, _ = redact(raw.decode("utf-8", "replace").rstrip("\r\n"))
        span.is_cut = len(text) > _SPAN_CHARS
        # Counted anew: a source may number what it made of the file, such as messages.
        counted = 0 if is_packed else _line_at(path, origin.byte_start)
        span.line = first = counted or origin.line or 1
        span.lines = [
            NumberedLine(line=first + number, text=line.rstrip("\r"))
            for number, line in enumerate(cut(text, _SPAN_CHARS).split("\n"))
        ]
    return span


def _add(span: TranscriptSpan, event: Event) -> None:
    text = spoken_text(event)
    span.is_cut = span.is_cut or len(text) > _SPAN_CHARS
    span.events.append(event_view(event, cut(text, _SPAN_CHARS)))
