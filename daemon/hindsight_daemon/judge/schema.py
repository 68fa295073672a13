"""From a record class to a strict JSON schema, and from an answer's text to the record.

Imports records only. Models wrap JSON into prose and code fences whatever they are told, so one
object is looked for in the text; what is in it is taken by the schema or not at all.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T", bound=Struct)

_MAX_CHARS = 200_000
_MAX_OBJECTS = 40


class BadAnswer(ValueError):
    """The text holds no answer of the wanted form; says what is wrong with it."""


def schema_of(cls: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a record whose fields are all required, without references.

    Providers' strict modes want every field required and no other allowed; many local servers
    do not follow references.
    """
    (whole,), parts = msgspec.json.schema_components([cls], ref_template="{name}")
    found = _inlined(whole, parts)
    assert isinstance(found, dict)
    return found


def _inlined(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(one, parts) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(parts[node["$ref"]], parts)
    found = {key: _inlined(one, parts) for key, one in node.items() if key != "title"}
    if found.get("type") == "object" and "properties" in found:
        found["required"] = list(found["properties"])
        found["additionalProperties"] = False
    return found


def read_answer(text: str, cls: type[T]) -> T:
    """Return the one record in `text`; raises `BadAnswer`.

    Two different ones are no answer: which of them is meant would be a guess.
    """
    text = text.strip()[:_MAX_CHARS]
    if not text:
        raise BadAnswer("the answer is empty")
    found: list[T] = []
    problem = "the answer holds no JSON object"
    for value in _objects(text):
        try:
            one = msgspec.convert(value, cls, strict=True)
        except msgspec.ValidationError as exc:
            problem = f"the answer does not fit its form: {str(exc)[:200]}"
            continue
        if one not in found:
            found.append(one)
    if not found:
        raise BadAnswer(problem)
    if len(found) > 1:
        raise BadAnswer("the answer holds several different objects")
    return found[0]


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects in the text, in order."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            found.append(value)
        at = text.find("{", end)
    return found
