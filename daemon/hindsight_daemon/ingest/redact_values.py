"""Secrets that only their name gives away: `password=…`, `"api_key": "…"`, `.env` lines, 密码：….

For `redact` only; works on UTF-8 bytes. A value is taken for a secret by the strength of its name
and by its look, so that references, types, placeholders and prose stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

_STRONG = (b"passw", b"passphrase", b"pwd", b"_pass")
_WEAK = (b"secret", b"token", b"credential")
_KEYS = tuple(
    part + joint + b"key"
    for part in (b"api", b"access", b"private", b"auth", b"signing", b"encryption")
    for joint in (b"", b"_", b"-")
)
_STRONG_CHINESE = ("密码".encode(), "口令".encode())
_WEAK_CHINESE = ("密钥".encode(), "令牌".encode())
_NAME = (
    rb"(?:password|passwd|passwort|passw|passphrase|pwd|_pass"
    rb"|secret(?:[_-]?(?:access[_-]?)?key)?(?:[_-]base)?"
    rb"|token|api[_-]?key|access[_-]?key(?:[_-]?secret)?|private[_-]?key"
    rb"|auth[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?|[A-Z0-9]*_KEY"
    rb"|\xe5\xaf\x86\xe7\xa0\x81|\xe5\x8f\xa3\xe4\xbb\xa4|\xe5\xaf\x86\xe9\x92\xa5"
    rb"|\xe4\xbb\xa4\xe7\x89\x8c)\d{0,3}"
)
_OPERATOR = (
    rb"(?:(?P<tight>[=:])(?=\S)"
    rb"|[ \t]{0,8}(?::[ \t]{0,4}(?:str|String|string|&str)[ \t]{0,4}=|=>|:=|={1,3}|:)[ \t]{0,8}"
    rb"|(?P<told>[ \t]+(?:is|was)[ \t]*:?[ \t]+)"
    rb"|[ \t]{0,4}(?:\xef\xbc\x9a|\xe6\x98\xaf|\xe4\xb8\xba)[ \t]{0,4})"
)
_ASSIGNMENT = re.compile(
    _NAME + rb"(?P<close>\\{0,3}[\"'`]?\]?)(?:" + _OPERATOR + rb"|(?P<flag>[ \t]+)(?=[^\s=:]))"
    rb"(?:(?P<open>\\{0,3}[\"'`])(?P<quoted>[^\"'`\\\s]{4,512})(?=\\{0,3}[\"'`])"
    rb"|(?P<bare>[^\s\"'`,;)}\]<>&|\\\xef\xe3]{4,512}))",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    rb"[$@]?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|->|::|\?\.)[A-Za-z_][A-Za-z0-9_]*)*\Z"
)
_PLACEHOLDER = re.compile(
    rb"(?:[$<{%*#]|\.\.\.|x{3,}|your|my[_-]|example|placeholder|\[|/|\./|~/|https?:|process\.env"
    rb"|os\.|env[.:(\[]|secrets?\.|vars?\.|null\b|none\b|true\b|false\b|undefined\b|nil\b)",
    re.IGNORECASE,
)
# What is said to be a password in prose is one only if no word looks like it.
_TOLD = re.compile(rb"^(?=.*\d)(?=.*[A-Za-z])(?=.*[A-Z!#%+$@^&*=]).{6,}$")
_TYPES = frozenset(
    b"str string text bytes char varchar any number int boolean bool object optional required "
    b"password passwd secret token void self this input hidden field type value".split()
)
_STEMS = (b"pass", b"pwd", b"secret", b"token", b"cred", b"key", b"hash")
_ENV_LINE_START = re.compile(rb"(?:\A|[\n;&\s]|\\n|export )[A-Z0-9_]*\Z")


NEEDLES = frozenset((*_STRONG, *_STRONG_CHINESE, *_WEAK, *_WEAK_CHINESE, *_KEYS, b"_key"))


def assigned_secrets(
    data: bytes, lowered: bytes, found: Set[bytes]
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of the values in `data` that their names mark as secrets.

    `lowered` is `data` in small ASCII letters, `found` those of `NEEDLES` it holds; others in it
    cost time only.
    """
    if found.isdisjoint(NEEDLES):
        return
    if b"_key" in found:
        yield from _values(data, data, b"_KEY", is_strong=False)
    for name in (*_STRONG, *_STRONG_CHINESE):
        if name in found:
            yield from _values(data, lowered, name, is_strong=True)
    for name in (*_WEAK, *_WEAK_CHINESE, *_KEYS):
        if name in found:
            yield from _values(data, lowered, name, is_strong=False)


def _values(
    data: bytes, lowered: bytes, name: bytes, *, is_strong: bool
) -> Iterator[tuple[int, int, str]]:
    position = lowered.find(name)
    while position >= 0:
        match = _ASSIGNMENT.match(data, position)
        if match and data[position - 10 : position] != b"[redacted:":
            group = "quoted" if match["quoted"] is not None else "bare"
            if _is_secret(data, match, position, group, is_strong=is_strong):
                start, end = match.span(group)
                yield start, end, "password" if is_strong else "secret"
        position = lowered.find(name, position + len(name))


def _is_secret(
    data: bytes, match: re.Match[bytes], position: int, group: str, *, is_strong: bool
) -> bool:
    value: bytes = match[group]
    if _PLACEHOLDER.match(value) or value.lower().rstrip(b".:") in _TYPES:
        return False
    if match["flag"] is not None and not _is_flag(data, position):
        return False
    if group == "quoted":
        return _quoted_secret(value, is_strong=is_strong)
    if not value.isascii() or b"(" in value or b"[" in value or b"{" in value:
        return False
    if match["told"] is not None and not _TOLD.search(value):
        return False
    is_reference = _REFERENCE.match(value.rstrip(b":.!?")) is not None
    is_env_line = match["tight"] == b"=" and _is_env_name(data, position)
    if is_env_line and is_strong:
        return True
    if is_reference and data[match.end() : match.end() + 1] in (b",", b")", b";", b"}", b"."):
        return False
    lowered = value.lower()
    if is_reference and any(stem in lowered for stem in _STEMS):
        return False
    if is_strong and (match["tight"] == b"=" or match["flag"] is not None):
        return True
    has_digit = any(48 <= byte <= 57 for byte in value)
    has_letter = any(chr(byte).isalpha() for byte in value if byte < 128)
    if is_strong:
        return has_digit or not is_reference
    return has_digit and has_letter and len(value) >= 8 and b"." not in value[:-1].strip(b".")[:4]


def _quoted_secret(value: bytes, *, is_strong: bool) -> bool:
    lowered = value.lower()
    is_word = _REFERENCE.match(value) is not None or b"-" in value
    if len(value) < 24 and is_word and any(stem in lowered for stem in _STEMS):
        return False
    if is_strong:
        return True
    has_digit = any(48 <= byte <= 57 for byte in value)
    return len(value) >= 8 and has_digit and not value.isdigit()


def _is_flag(data: bytes, position: int) -> bool:
    """Tell whether the name at `position` ends a command-line flag such as `--db-password`."""
    begin = data[max(0, position - 40) : position]
    word = begin.rsplit(b" ", 1)[-1].rsplit(b"\n", 1)[-1]
    return word.startswith(b"--")


def _is_env_name(data: bytes, position: int) -> bool:
    """Tell whether the name at `position` ends a variable in capitals at the start of a word."""
    if not data[position : position + 4].isupper():
        return False
    return _ENV_LINE_START.search(data[max(0, position - 64) : position]) is not None
