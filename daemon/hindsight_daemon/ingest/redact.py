"""Replaces secrets by `[redacted:<kind>]` before anything leaves `ingest`.

Works on UTF-8 bytes, so that word boundaries hold next to Chinese text too. Some secrets have
shapes of their own (`redact_shapes`), others are given away by the name they are assigned to
(`redact_values`). The keyword and entropy detectors of detect-secrets are not used because they
take hashes, ids and ordinary code for secrets.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from hindsight_daemon.ingest import redact_values
from hindsight_daemon.ingest.redact_needles import Needles
from hindsight_daemon.ingest.redact_values import assigned_secrets
from hindsight_daemon.model import Event

_MARKER = re.compile(rb"\[redacted:[a-z0-9-]+\]")
_MAX_PASSES = 4


def redact(text: str) -> tuple[str, int]:
    """Return the text with its secrets replaced, and how many there were.

    Applying it to its own result changes nothing.
    """
    data = text.encode("utf-8", "surrogatepass")
    total = 0
    for _ in range(_MAX_PASSES):
        spans = _find(data)
        if not spans:
            break
        data = _replace(data, spans)
        total += len(spans)
    return (data.decode("utf-8", "surrogatepass"), total) if total else (text, 0)


def redact_event(event: Event) -> tuple[Event, int]:
    """Return the event with its text, arguments and command redacted, and the count."""
    text, total = redact(event.text) if event.text else ("", 0)
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    tool = event.tool
    if tool is not None and (tool.arguments or tool.command):
        command, found = redact(tool.command) if tool.command else ("", 0)
        arguments = command
        if tool.arguments != tool.command:
            arguments, more = redact(tool.arguments)
            found += more
        if found:
            tool = msgspec.structs.replace(tool, arguments=arguments, command=command)
            total += found
    if text is event.text and tool is event.tool:
        return event, total
    return msgspec.structs.replace(event, text=text, tool=tool), total


@cache
def needles() -> Needles:
    """Return all literals without which there is no secret."""
    from hindsight_daemon.ingest import redact_shapes

    return Needles((*redact_shapes.NEEDLES, *redact_values.NEEDLES))


def _find(data: bytes) -> list[tuple[int, int, str]]:
    """Return the spans of secrets, sorted and without overlaps."""
    # Imported on first use: its origin, detect-secrets, takes a tenth of a second to load.
    from hindsight_daemon.ingest.redact_shapes import shaped_secrets

    lowered = data.lower()
    found = needles().found_in(lowered)
    spans = [*shaped_secrets(data, found), *assigned_secrets(data, lowered, found)]
    if not spans:
        return spans
    done = [match.span() for match in _MARKER.finditer(data)]
    spans.sort()
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in spans:
        if any(start < marker_end and end > marker_start for marker_start, marker_end in done):
            continue
        if merged and start < merged[-1][1]:
            first, last, former = merged[-1]
            merged[-1] = (first, max(last, end), former)
        else:
            merged.append((start, end, kind))
    return merged


def _replace(data: bytes, spans: list[tuple[int, int, str]]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, end, kind in spans:
        parts += (data[position:start], b"[redacted:", kind.encode(), b"]")
        position = end
    parts.append(data[position:])
    return b"".join(parts)
