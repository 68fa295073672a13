"""Changes one key in the text of `config.toml` and leaves everything else as the person wrote it.

Pure: text in, text out. The result is checked as a whole by the caller (`parse_settings`).
"""

from __future__ import annotations

import re
import tomllib
import typing
from typing import Any

import msgspec

from hindsight_daemon.config import CHOICES, setting_keys
from hindsight_daemon.errors import ConfigProblem, UsageProblem

_HINT = "`man 5 hindsight-config` tells what each key takes"


def known_key(key: str) -> tuple[str, str]:
    """Split a dotted key; raises `UsageProblem` for one that does not exist."""
    if key not in setting_keys():
        import difflib

        near = difflib.get_close_matches(key, list(setting_keys()), 1)
        hint = f"did you mean `{near[0]}`?" if near else "`hindsight config show` lists the keys"
        raise UsageProblem(f"there is no key `{key}`", hint=hint)
    section, _, name = key.partition(".")
    return section, name


def as_toml(key: str, typed: str) -> str:
    """Return what was typed as a TOML value of the key's type; raises `UsageProblem`.

    Text needs no quotes; lists are written as in TOML or as words with commas.
    """
    section, name = known_key(key)
    cls, _ = setting_keys()[key]
    kind = typing.get_type_hints(cls, include_extras=True)[name]
    for candidate in _readings(typed, kind):
        try:
            value = msgspec.convert(candidate, kind, strict=True)
        except msgspec.ValidationError:
            continue
        if (allowed := CHOICES.get(key)) and value not in allowed:
            raise UsageProblem(f"`{typed}` is none of {', '.join(allowed)}", hint=_HINT)
        return _written(candidate)
    what = f"`{typed}` does not fit `{section}.{name}`, which is {_named(kind)}"
    raise UsageProblem(what, hint=_HINT)


def _readings(typed: str, kind: Any) -> list[Any]:
    readings: list[Any] = []
    try:
        readings.append(tomllib.loads(f"value = {typed}")["value"])
    except tomllib.TOMLDecodeError:
        lowered = typed.strip().lower()
        if kind is bool and lowered in ("on", "yes", "off", "no"):
            readings.append(lowered in ("on", "yes"))
    readings.append(typed)
    readings.append([word.strip() for word in typed.split(",") if word.strip()])
    return readings


def _named(kind: Any) -> str:
    plain = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    metadata = getattr(kind, "__metadata__", ())
    least = next((part.ge for part in metadata if part.ge is not None), None)
    most = next((part.le for part in metadata if part.le is not None), None)
    bound = (
        "" if least is None else f", {least} or more" if most is None else f", {least} to {most}"
    )
    return names.get(plain, "a list of texts") + bound


def _written(value: Any) -> str:
    # JSON texts, numbers and lists are TOML as well.
    return msgspec.json.encode(value).decode()


def with_value(text: str, key: str, value: str) -> str:
    """Return the file's text with `key` set to the TOML text `value`."""
    section, name = known_key(key)
    lines = text.splitlines()
    header = _find(lines, rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?")
    if header is None:
        gap = [""] if lines and lines[-1].strip() else []
        return _joined([*lines, *gap, f"[{section}]", f"{name} = {value}"])
    end = next(
        (n for n in range(header + 1, len(lines)) if re.match(r"\s*\[", lines[n])), len(lines)
    )
    pattern = rf"\s*[\"']?{re.escape(name)}[\"']?\s*="
    found = next((n for n in range(header + 1, end) if re.match(pattern, lines[n])), None)
    if found is None:
        while end > header + 1 and not lines[end - 1].strip():
            end -= 1
        return _joined([*lines[:end], f"{name} = {value}", *lines[end:]])
    length = _value_length(lines[found:], key)
    comment = _comment_of(lines[found]) if length == 1 else ""
    return _joined([*lines[:found], f"{name} = {value}{comment}", *lines[found + length :]])


def _find(lines: list[str], pattern: str) -> int | None:
    return next((n for n, line in enumerate(lines) if re.fullmatch(pattern, line)), None)


def _value_length(lines: list[str], key: str) -> int:
    # A list may run over several lines; TOML's own reader knows where it ends.
    for length in range(1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[:length]))
        except tomllib.TOMLDecodeError:
            continue
        return length
    raise ConfigProblem(f"the present value of `{key}` cannot be read")


def _comment_of(line: str) -> str:
    # The longest end of the line that starts with `#` and without which the rest still reads.
    for found in re.finditer(r"\s+#", line):
        try:
            tomllib.loads(line[: found.start()])
        except tomllib.TOMLDecodeError:
            continue
        return line[found.start() :]
    return ""


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
