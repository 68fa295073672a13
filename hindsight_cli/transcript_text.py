"""How the transcript behind a memory reads: place by place, with line numbers.

A line that is a JSON record is shown as what it says; any other line stands as it is in the file.
"""

from __future__ import annotations

from hindsight_cli.output import Output, plain
from hindsight_cli.recall_text import printable
from hindsight_cli.wording import exact
from hindsight_daemon.protocol.documents import EventView, MemoryDocument, TranscriptSpan

_STATES = {
    "unchanged": ("green", "as the transcript has it"),
    "changed": ("yellow", "the transcript has changed since; this copy was kept"),
    "gone": ("yellow", "the transcript is gone; this copy was kept"),
    "unknown": ("dim", "not comparable with the transcript; this copy was kept"),
}
_NUMBER_WIDTH = 6


def spans_text(document: MemoryDocument, out: Output) -> list[str]:
    """Return the memory's first line and every span with its place and standing."""
    memory = document.memory
    head = f"{memory['kind']} {memory.get('short_id') or memory['id']}"
    lines = [out.style(head, "bold"), *out.wrapped(str(memory["text"]))]
    for span in document.spans:
        lines += ["", *_span_lines(span, out)]
    return lines


def _span_lines(span: TranscriptSpan, out: Output) -> list[str]:
    place = f"{span.transcript}:{span.line}" if span.line else span.transcript
    head = [span.agent, span.session_id, exact(span.at)]
    colour, said = _STATES[span.verified]
    lines = [
        out.style(plain(" · ".join(part for part in head if part)), "bold"),
        f"{out.style(plain(place), 'dim')}  {out.style(said, colour)}",
    ]
    if span.lines and not (span.events and _is_json(span)):
        shown = [one.text for one in span.lines]
        for one in span.lines:
            lines += _numbered(one.line, one.text, out)
    else:
        shown = [event.text for event in span.events]
        for event in span.events:
            lines += _event_lines(event, out)
    # A record may be cut though what it says is whole.
    if span.is_cut and any(text.endswith("…") for text in shown):
        lines.append(out.style("it goes on; this is as much as is shown", "dim"))
    return lines


def _is_json(span: TranscriptSpan) -> bool:
    return span.lines[0].text.lstrip()[:1] in ("{", "[")


def _event_lines(event: EventView, out: Output) -> list[str]:
    first, *rest = printable(event.text).splitlines() or [""]
    speaker = event.tool or event.role
    lines = _numbered(event.line, f"{speaker}: {first}", out)
    for line in rest:
        lines += _numbered(0, line, out)
    return lines


def _numbered(number: int, text: str, out: Output) -> list[str]:
    indent = " " * (_NUMBER_WIDTH + 2)
    first, *rest = out.wrapped(text, indent) or [""]
    label = f"{number or '':>{_NUMBER_WIDTH}}"
    return [f"{out.style(label, 'dim')}  {first[len(indent) :]}".rstrip(), *rest]
