"""Many queries in one go: JSON Lines in, one recall document a line out, in the same order.

A line is a query as a JSON string, or an object with `query`, an optional `id` that comes back,
and options of its own (`limit`, `project`, `kinds` …), which win over those of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hindsight_cli import errors
from hindsight_daemon.client import Client
from hindsight_daemon.errors import BadInput, HindsightError, NoInput
from hindsight_daemon.protocol.params import RecallParams

EXIT_DATA = 65
_MOST_LINE_BYTES = 1024 * 1024
_OWN = frozenset(RecallParams.__struct_fields__) - {"cwd"}


def answers(
    client: Client, lines: Iterator[bytes], defaults: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield for each line its document and whether it could be answered.

    A line that is no query gets a `hindsight.error/1` document with its number; the lines after it
    are answered all the same.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        given: dict[str, Any] = {}
        try:
            given = _query_of(line, number)
            named = {"id": given.pop("id")} if "id" in given else {}
            found = client.recall(**{**defaults, **given})
        except HindsightError as exc:
            body = msgspec.to_builtins(errors.document_of(exc))
            yield {"line": number, **body}, False
            continue
        yield {**named, **msgspec.to_builtins(found)}, True


def _query_of(line: bytes, number: int) -> dict[str, Any]:
    if len(line) > _MOST_LINE_BYTES:
        raise BadInput(f"line {number} is longer than {_MOST_LINE_BYTES} bytes")
    try:
        body = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise BadInput(f"line {number} is not JSON: {exc}") from exc
    if isinstance(body, str):
        body = {"query": body}
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        raise BadInput(
            f"line {number} has no `query`", hint='such as {"id": 1, "query": "how to deploy"}'
        )
    unknown = sorted(set(body) - _OWN - {"id"})
    if unknown:
        raise BadInput(
            f"line {number}: `{unknown[0]}` is no option of a query",
            hint=f"there are {', '.join(sorted(_OWN))}",
        )
    return body


def lines_of(file: str) -> Iterator[bytes]:
    """Yield the lines of a file, or of standard input for `-`; raises `NoInput`."""
    if file == "-":
        if sys.stdin is None:
            raise NoInput("standard input is closed")
        yield from sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as opened:
            yield from opened
    except OSError as exc:
        raise NoInput(f"cannot read `{file}`: {exc.strerror}") from exc
