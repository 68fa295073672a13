"""The shapes that only secrets have, as expressions over bytes, by what must occur for them.

For `redact` only, which imports this module when first needed: detect-secrets, where most shapes
come from, loads an HTTP library of which nothing is used here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector


class Shape(NamedTuple):
    """`group` of `pattern` is a secret of this kind.

    `is_loose` shapes also occur inside longer words, so they count only as whole words.
    """

    kind: str
    pattern: re.Pattern[bytes]
    group: int = 0
    is_loose: bool = False


def _own(kind: str, pattern: bytes, group: int = 0) -> Shape:
    return Shape(kind, re.compile(pattern, re.DOTALL), group)


def _borrowed(
    kind: str, detector: type[RegexBasedDetector], *, is_loose: bool = False
) -> Iterator[Shape]:
    """Turn the expressions of a detect-secrets plugin into rules over bytes."""
    for expression in detector.denylist:
        pattern = re.compile(expression.pattern.encode(), expression.flags & ~re.UNICODE)
        yield Shape(kind, pattern, is_loose=is_loose)


_KEY_BEGIN = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BODY = rb"(?:[A-Za-z0-9+/=:,\s]|\\[nrt]|-(?!-----)){0,32768}"
_KEY_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n"
_MAX_KEY_BYTES = 32768
_WORD = rb"[A-Za-z0-9_-]"


_ANY_CASE = frozenset((b"discord", b"earer ", b"uthorization", b"hooks.slack.com", b"xox"))
"""Needles that may be written in capitals too."""

BY_NEEDLE: tuple[tuple[bytes, tuple[Shape, ...]], ...] = (
    (
        b"PRIVATE KEY",
        (_own("private-key", _KEY_BEGIN + _KEY_BODY + rb"(?:" + _KEY_END + rb")?"),),
    ),
    (
        b"PuTTY-User-Key",
        (_own("private-key", rb"PuTTY-User-Key-File-\d.*?(?:Private-MAC:[^\r\n\\]*|\Z)"),),
    ),
    (b"AccountKey=", tuple(_borrowed("azure-storage", AzureStorageKeyDetector))),
    (b"github_pat_", (_own("github", rb"github_pat_[A-Za-z0-9_]{22,}"),)),
    (b"GR1348941", tuple(_borrowed("gitlab", GitLabTokenDetector))),
    (
        b"sk-",
        (
            *_borrowed("openai", OpenAIDetector),
            _own(
                "llm-key",
                rb"sk-(?:ant|proj|svcacct|admin|or|lf|live|test|None)-" + _WORD + rb"{12,}",
            ),
            _own(
                "llm-key",
                rb"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_]{20,}",
            ),
        ),
    ),
    (b"hf_", (_own("llm-key", rb"hf_[A-Za-z0-9]{30,}"),)),
    (b"gsk_", (_own("llm-key", rb"gsk_[A-Za-z0-9]{30,}"),)),
    (b"xai-", (_own("llm-key", rb"xai-[A-Za-z0-9]{30,}"),)),
    (b"pplx-", (_own("llm-key", rb"pplx-[A-Za-z0-9]{30,}"),)),
    (b"-us", tuple(_borrowed("mailchimp", MailchimpDetector, is_loose=True))),
    (b"pypi-", tuple(_borrowed("pypi", PypiTokenDetector))),
    (b"npm_", (_own("npm", rb"npm_[A-Za-z0-9]{36}"),)),
    (b"_authToken", (_own("npm", rb"_authToken\s*=\s*([^\s\"'$]{8,})", 1),)),
    (b"SG.", tuple(_borrowed("sendgrid", SendGridDetector))),
    (
        b"xox",
        (
            _own("slack", rb"xox[a-zA-Z]-[A-Za-z0-9-]{8,}"),
            *_borrowed("slack", SlackDetector),
        ),
    ),
    (b"xapp-", (_own("slack", rb"xapp-\d-[A-Za-z0-9-]{16,}"),)),
    (b"hooks.slack.com", tuple(_borrowed("slack", SlackDetector))),
    (b"sq0", tuple(_borrowed("square", SquareOAuthDetector))),
    (b"k_live_", tuple(_borrowed("stripe", StripeDetector))),
    (b"k_test_", (_own("stripe", rb"[rsp]k_test_[0-9A-Za-z]{16,}"),)),
    (b"whsec_", (_own("stripe", rb"whsec_[0-9A-Za-z+/=]{16,}"),)),
    (b"AIza", (_own("google", rb"AIza[0-9A-Za-z_-]{35}"),)),
    (b"ya29.", (_own("google", rb"ya29\.[0-9A-Za-z_-]{20,}"),)),
    (b"GOCSPX-", (_own("google", rb"GOCSPX-[0-9A-Za-z_-]{20,}"),)),
    (b"eyJ", (_own("jwt", rb"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,4}\.?"),)),
    (b"discord", tuple(_borrowed("discord", DiscordBotTokenDetector))),
    (b":AA", tuple(_borrowed("telegram", TelegramBotTokenDetector, is_loose=True))),
    (b"_v1_", (_own("digitalocean", rb"do[por]_v1_[a-f0-9]{64}"),)),
    (b"AGE-SECRET-KEY-", (_own("age-key", rb"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),)),
    (
        b"://",
        (
            _own(
                "url-password",
                rb"://[^\s/?#@:'\"<>{}\[\]()`\\]{0,64}:"
                rb"(?![$<{%*])([^\s/?#'\"<>{}`\\]{1,256})@",
                1,
            ),
        ),
    ),
    (
        b"earer ",
        (
            _own(
                "bearer",
                rb"(?i:bearer) +(?=[A-Za-z._~+/=-]{0,200}\d)([A-Za-z0-9._~+/=-]{12,})",
                1,
            ),
        ),
    ),
    (
        b"uthorization",
        (
            _own(
                "authorization",
                rb"(?i:authorization)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?"
                rb"(?:[A-Za-z]{3,12} +(?!YOUR|MY_)(?=[a-z._~+/=:-]{0,200}[A-Z0-9])"
                rb"|(?=[A-Za-z._~+/=:-]{0,200}\d))([A-Za-z0-9._~+/=:-]{8,})",
                1,
            ),
        ),
    ),
)
"""Shapes by the needle without which none of them can match; no needle is a common word."""

_PREFIXED: tuple[tuple[tuple[bytes, ...], Shape], ...] = (
    (
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"A3T"),
        _own("aws-id", rb"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{16}"),
    ),
    (
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
        _own("github", rb"gh[pousr]_[A-Za-z0-9_]{36,}"),
    ),
    (
        tuple(
            b"gl%b-" % part
            for part in (
                b"pat",
                b"dt",
                b"ft",
                b"soat",
                b"rt",
                b"cbt",
                b"imt",
                b"ptt",
                b"agent",
                b"oas",
            )
        ),
        _own("gitlab", rb"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_-]{20,}"),
    ),
    ((b"hvs.", b"hvb."), _own("vault", rb"hv[sb]\.[A-Za-z0-9_-]{24,}")),
)
"""Shapes that begin with one of several needles."""

_ALWAYS: tuple[Shape, ...] = tuple(_borrowed("twilio", TwilioKeyDetector, is_loose=True))
"""Shapes whose beginning is too short for a needle, but literal and therefore quick."""

NEEDLES: frozenset[bytes] = frozenset(
    needle.lower()
    for needle in (
        *(needle for needle, _ in BY_NEEDLE),
        *(needle for needles, _ in _PREFIXED for needle in needles),
    )
)


def shaped_secrets(data: bytes, found: Set[bytes]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of what has the shape of a secret.

    `found` are those of `NEEDLES` that `data` holds in small or capital letters; others in it
    cost time only.
    """
    for shape in _ALWAYS:
        yield from _matches(shape, data)
    if found.isdisjoint(NEEDLES):
        return
    for needle, shapes in BY_NEEDLE:
        if needle.lower() in found and (needle in _ANY_CASE or needle in data):
            for shape in shapes:
                yield from _matches(shape, data)
    for needles, shape in _PREFIXED:
        if not found.isdisjoint(needle.lower() for needle in needles):
            yield from _matches(shape, data)
    if b"private key" in found and b"PRIVATE KEY" in data:
        yield from _beheaded_keys(data)


def _matches(shape: Shape, data: bytes) -> Iterator[tuple[int, int, str]]:
    for match in shape.pattern.finditer(data):
        start, end = match.span(shape.group)
        if shape.is_loose and (data[start - 1 : start].isalnum() or data[end : end + 1].isalnum()):
            continue
        if start < end:
            yield start, end, shape.kind


def _beheaded_keys(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield private keys whose beginning was cut off; looks backwards from their last line."""
    for match in re.finditer(_KEY_END, data):
        body = data[max(0, match.start() - _MAX_KEY_BYTES) : match.start()]
        size = len(body) - len(body.rstrip(_KEY_BYTES))
        if size >= 16:
            yield match.start() - size, match.end(), "private-key"
