"""Tolerant reading of single fields: a value of the wrong type counts as absent.

For `sources` only; no function here raises on any input.
"""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from hindsight_daemon.clock import parse_time
from hindsight_daemon.sources.json_text import encode_json

RESULT_CHARS = 16 * 1024
"""Longest text kept of a tool result or of a call's arguments."""
MESSAGE_CHARS = 64 * 1024
"""Longest text kept of a prompt, an answer or a shell command."""
_CUT_SLACK_CHARS = 512


def names(text: str) -> frozenset[str]:
    """Return a set of names written in one text."""
    return frozenset(text.split())


def string(value: Any) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """Return `value` if it is a whole number (or the text of one), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isascii():
        try:
            return int(value)
        except ValueError:
            return None
    return None


def flag(value: Any) -> bool | None:
    """Return `value` if it is a truth value, else None."""
    return value if isinstance(value, bool) else None


def first_string(record: dict[str, Any], *names: str) -> str:
    """Return the first non-empty string among the named fields."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def moment(value: Any) -> datetime | None:
    """Read a time given as ISO text or as seconds, milliseconds, microseconds or nanoseconds."""
    if isinstance(value, str):
        try:
            found = parse_time(value)
            if found is not None or not value.strip():
                return found
            value = float(value)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
        if not math.isfinite(seconds):
            return None
        while abs(seconds) > 1e11:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def bounded(text: str, limit: int = RESULT_CHARS) -> str:
    """Keep head and tail of a text longer than `limit` characters, with a marker between.

    Cuts fall on line breaks where one is near, so that no token (and no secret) is halved.
    """
    if len(text) <= limit:
        return text
    head_end = limit * 2 // 3
    tail_start = len(text) - (limit - head_end)
    line_end = text.rfind("\n", head_end - _CUT_SLACK_CHARS, head_end)
    line_start = text.find("\n", tail_start, tail_start + _CUT_SLACK_CHARS)
    head_end = line_end if line_end > 0 else head_end
    tail_start = line_start + 1 if line_start > 0 else tail_start
    left_out = tail_start - head_end
    return f"{text[:head_end]}\n[… {left_out} characters left out …]\n{text[tail_start:]}"


def attachment_note(what: str, media_type: str, data: str) -> str:
    """Describe a base64 payload by media type, size and hash instead of keeping it."""
    size_bytes = len(data) * 3 // 4
    digest = hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:16]
    kind = f" {media_type}" if media_type else ""
    return f"[{what}{kind} {size_bytes} bytes sha256:{digest}]"


def folder_of_uri(text: str) -> str:
    """Return the path in an address of an editor (`file:`, `vscode-remote:`), else the text."""
    scheme, mark, _ = text.partition(":")
    if not mark or scheme not in ("file", "vscode-remote"):
        return text
    try:
        path = unquote(urlsplit(text).path)
    except ValueError:
        return ""
    is_windows = len(path) > 2 and path[0] == "/" and path[2] == ":"
    return path[1:] if is_windows else path


def block_text(block: Any) -> str:
    """Return the readable text of one content block of a message."""
    if isinstance(block, str):
        return block
    block = mapping(block)
    kind = string(block.get("type"))
    if kind in ("image", "document", "input_image", "image_url", "input_audio", "file"):
        return _payload_text(kind, block)
    return first_string(block, "text", "refusal", "output")


def content_text(content: Any) -> str:
    """Return the readable text of message content: a string, a block or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(block_text, content) if text)
    return block_text(content)


def compact(value: Any, limit: int = RESULT_CHARS) -> str:
    """Return arguments as bounded text: strings as they are, everything else as JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else encode_json(value)
    return bounded(text, limit)


def _payload_text(kind: str, block: dict[str, Any]) -> str:
    what = "document" if kind in ("document", "file") else "image"
    what = "audio" if kind == "input_audio" else what
    source = mapping(block.get("source"))
    if data := string(source.get("data")):
        return attachment_note(what, string(source.get("media_type")), data)
    url = block.get("image_url")
    url = string(mapping(url).get("url")) or string(url) or string(source.get("url"))
    if url.startswith("data:"):
        media, _, data = url[5:].partition(",")
        return attachment_note(what, media.split(";")[0], data)
    return f"[{what} {url[:200]}]" if url else f"[{what}]" if source or kind != "file" else ""
