"""Decoding of JSON that agents wrote: fast for good lines, forgiving for damaged ones.

For `sources` only. Lone surrogates become U+FFFD, so that every text can be stored and printed.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?P<low>\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    r"|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_decode = msgspec.json.Decoder().decode


def decode_json(text: str) -> Any:
    """Return the value of a JSON text; raises `ValueError` with the reason if there is none.

    Accepts what strict decoders refuse and real transcripts hold: lone surrogate escapes, NUL
    bytes left by a crash, raw control characters, NaN.
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    repaired = _ESCAPES.sub(_replace_lone_surrogate, text.replace("\x00", ""))
    try:
        return json.loads(repaired, strict=False)
    except json.JSONDecodeError as exc:
        raise ValueError(f"not JSON: {exc.msg} at character {exc.pos + 1}") from exc
    except (RecursionError, ValueError) as exc:
        raise ValueError("nested too deeply or a number too long") from exc


def decode_object(text: str) -> dict[str, Any]:
    """Return a JSON object; raises `ValueError` for anything else."""
    value = decode_json(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def head_lines(head: str, limit: int = 64) -> list[str]:
    """Return the first non-blank lines of a transcript's beginning.

    Lines end at newlines only; `str.splitlines` would also cut JSON at U+0085 or U+2028.
    """
    return [line for line in head.split("\n", limit)[:limit] if line and not line.isspace()]


def object_in(text: str | None) -> dict[str, Any]:
    """Return the object that a text is, an empty one if it is none."""
    try:
        return decode_object(text) if text else {}
    except ValueError:
        return {}


def encode_json(value: Any) -> str:
    """Return compact JSON text of plain values."""
    return msgspec.json.encode(value).decode("utf-8")


def _replace_lone_surrogate(match: re.Match[str]) -> str:
    escape = match.group(0)
    if match.group("low") or escape[1] != "u" or len(escape) < 6:
        return escape
    return "\\ufffd"


def decode_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a line, several where a writer lost the newline between them.

    Raises `ValueError` if the line does not begin with one.
    """
    try:
        return [decode_object(text)]
    except ValueError:
        if "}{" not in text:
            raise
    objects: list[dict[str, Any]] = []
    decoder = json.JSONDecoder(strict=False)
    repaired = _ESCAPES.sub(_replace_lone_surrogate, text)
    position, end = 0, len(repaired)
    while position < end:
        try:
            value, position = decoder.raw_decode(repaired, position)
        except (ValueError, RecursionError) as exc:
            if objects:
                break
            raise ValueError("not JSON") from exc
        if isinstance(value, dict):
            objects.append(value)
        while position < end and repaired[position].isspace():
            position += 1
    if not objects:
        raise ValueError("not a JSON object")
    return objects
