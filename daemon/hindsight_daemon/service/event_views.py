"""Events as the documents of the contract show them: cut to size, around what matters."""

from __future__ import annotations

from hindsight_daemon.model import Event
from hindsight_daemon.protocol.documents import EventView, NumberedLine
from hindsight_daemon.service.views import iso

_CUT = "…"


def spoken_text(event: Event) -> str:
    """Return what an event says: its text, else the command or the arguments of its tool."""
    tool = event.tool
    return event.text or ((tool.command or tool.arguments) if tool else "")


def event_view(event: Event, text: str) -> EventView:
    """Return an event with `text` in place of its whole text."""
    origin = event.origin
    return EventView(
        id=event.id,
        agent=event.agent,
        session_id=event.session_id,
        seq=event.seq,
        role=event.role,
        kind=event.kind,
        at=iso(event.ts),
        text=text,
        tool=event.tool.name if event.tool else "",
        transcript=origin.path if origin else "",
        line=origin.line if origin else 0,
    )


def cut(text: str, chars: int, around: int = 0) -> str:
    """Return at most `chars` characters of a text, from shortly before `around` on."""
    if len(text) <= chars:
        return text
    start = max(0, min(around - chars // 4, len(text) - chars))
    end = start + chars
    return (_CUT if start else "") + text[start:end] + (_CUT if end < len(text) else "")


def matching_lines(text: str, needle: str, *, most: int, chars: int) -> list[NumberedLine]:
    """Return the first lines that hold the lower-case needle, each cut around it.

    A needle with line breaks brings the lines it reaches over as one.
    """
    lowered = text.lower()
    # A few letters change their length in lower case; then places are off by as much, no more.
    found: list[NumberedLine] = []
    place = lowered.find(needle)
    while place >= 0 and len(found) < most:
        start = lowered.rfind("\n", 0, place) + 1
        end = lowered.find("\n", place + len(needle))
        end = len(text) if end < 0 else end
        line = cut(text[start:end].rstrip("\r"), chars, place - start)
        found.append(NumberedLine(line=lowered.count("\n", 0, place) + 1, text=line))
        place = lowered.find(needle, max(end, place + 1))
    return found
