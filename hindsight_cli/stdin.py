"""The rules of piping: `-`, a missing argument with something piped in, ids one a line."""

from __future__ import annotations

import sys

from hindsight_daemon.errors import BadInput, NoInput, UsageProblem

_MOST_BYTES = 8 * 1024 * 1024


def is_piped() -> bool:
    """Tell whether standard input is open and no terminal."""
    try:
        return sys.stdin is not None and not sys.stdin.isatty()
    except ValueError:
        return False


def read_text(what: str) -> str:
    """Read standard input whole, as UTF-8; a byte order mark is dropped."""
    if sys.stdin is None:
        raise NoInput("standard input is closed")
    try:
        data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    except OSError as exc:
        raise NoInput(f"cannot read standard input: {exc.strerror}") from exc
    if len(data) > _MOST_BYTES:
        raise BadInput(f"the {what} on standard input is longer than {_MOST_BYTES} bytes")
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as exc:
        raise BadInput(
            f"the {what} on standard input is not UTF-8 (byte {exc.start})",
            hint="convert it first, such as with `iconv -t UTF-8`",
        ) from exc


def text_or_stdin(words: list[str], what: str, usage: str) -> str:
    """Return the words as one text, or standard input for `-` or when something is piped in."""
    if words == ["-"] or (not words and is_piped()):
        return read_text(what)
    if not words:
        raise UsageProblem(f"no {what} given", hint=usage)
    return " ".join(words)


def ids_or_stdin(ids: list[str], usage: str) -> tuple[str, ...]:
    """Return ids from the arguments; `-` stands for ids on standard input, split at blanks."""
    if not ids and is_piped():
        ids = ["-"]
    found: list[str] = []
    for one in ids:
        found.extend(read_text("list of ids").split() if one == "-" else [one])
    if not found:
        raise UsageProblem("no id given", hint=usage)
    return tuple(dict.fromkeys(found))
