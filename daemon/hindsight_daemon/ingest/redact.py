"""Replaces secrets by `[redacted:<kind>]` before anything leaves `ingest`.

Works on UTF-8 bytes, so that word boundaries hold next to Chinese text too. A rule's expression
runs only if one of its needles occurs; most texts hold none. Values of assignments are judged by
how they look (see `redact_values`), the rest by shapes that only secrets have. The shapes come from
detect-secrets where it has them; its keyword and entropy detectors are not used because they
take hashes, ids and ordinary code for secrets.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
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

from hindsight_daemon.ingest.redact_values import assigned_secrets
from hindsight_daemon.model import Event

_MARKER = re.compile(rb"\[redacted:[a-z0-9-]+\]")
_MAX_PASSES = 4


class _Rule(NamedTuple):
    """`group` of `pattern` is a secret of this kind; tried if a needle occurs.

    `is_loose` shapes also occur inside longer words, so they count only as whole words.
    """

    kind: str
    needles: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    group: int = 0
    is_loose: bool = False


def _own(kind: str, needles: str, pattern: bytes, group: int = 0, *, loose: bool = False) -> _Rule:
    words = tuple(needle.encode() for needle in needles.split("|"))
    return _Rule(kind, words, re.compile(pattern, re.DOTALL), group, loose)


def _borrowed(
    kind: str, needles: str, detector: type[RegexBasedDetector], *, loose: bool = False
) -> Iterator[_Rule]:
    """Turn the expressions of a detect-secrets plugin into rules over bytes."""
    words = tuple(needle.encode() for needle in needles.split("|"))
    for expression in detector.denylist:
        flags = expression.flags & ~re.UNICODE
        pattern = re.compile(expression.pattern.encode(), flags)
        yield _Rule(kind, words, pattern, 1 if kind == "aws-secret" else 0, loose)


_KEY_BEGIN = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BODY = rb"(?:[A-Za-z0-9+/=:,\s]|\\[nrt]|-(?!-----)){0,32768}"


@functools.cache
def _rules() -> tuple[_Rule, ...]:
    token = rb"[A-Za-z0-9_-]"
    return (
        _own("private-key", "PRIVATE KEY", _KEY_BEGIN + _KEY_BODY + rb"(?:" + _KEY_END + rb")?"),
        _own("private-key", "PRIVATE KEY", rb"[A-Za-z0-9+/=\s\\]{16,32768}" + _KEY_END),
        _own(
            "private-key",
            "PuTTY-User-Key-File",
            rb"PuTTY-User-Key-File-\d.*?(?:Private-MAC:[^\r\n\\]*|\Z)",
        ),
        _own("aws-id", "AKIA|ASIA|ABIA|ACCA|A3T", AWSKeyDetector.denylist[0].pattern.encode()),
        *_borrowed("azure-storage", "AccountKey=", AzureStorageKeyDetector),
        *_borrowed("github", "ghp_|gho_|ghu_|ghs_|ghr_", GitHubTokenDetector),
        _own("github", "github_pat_", rb"github_pat_[A-Za-z0-9_]{22,}"),
        *_borrowed("gitlab", "gl|GR1348941", GitLabTokenDetector),
        *_borrowed("mailchimp", "-us", MailchimpDetector, loose=True),
        *_borrowed("openai", "T3BlbkFJ", OpenAIDetector),
        _own(
            "llm-key",
            "sk-",
            rb"sk-(?:ant|proj|svcacct|admin|or|lf|live|test|None)-" + token + rb"{12,}",
        ),
        _own(
            "llm-key",
            "sk-",
            rb"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_]{20,}",
        ),
        _own("llm-key", "hf_|gsk_|xai-|pplx-", rb"(?:hf_|gsk_|xai-|pplx-)[A-Za-z0-9]{30,}"),
        *_borrowed("pypi", "pypi-", PypiTokenDetector),
        _own("npm", "npm_", rb"npm_[A-Za-z0-9]{36}"),
        _own("npm", "_authToken", rb"_authToken\s*=\s*([^\s\"'$]{8,})", 1),
        *_borrowed("sendgrid", "SG.", SendGridDetector),
        _own("slack", "xox|XOX", rb"[xX][oO][xX][a-zA-Z]-[A-Za-z0-9-]{8,}"),
        _own("slack", "xapp-", rb"xapp-\d-[A-Za-z0-9-]{16,}"),
        *_borrowed("slack", "xox|XOX|hooks.slack.com", SlackDetector),
        *_borrowed("square", "sq0", SquareOAuthDetector),
        *_borrowed("stripe", "k_live_", StripeDetector),
        _own("stripe", "k_test_|whsec_", rb"(?:[rsp]k_test_|whsec_)[0-9A-Za-z]{16,}"),
        _own("google", "AIza", rb"AIza[0-9A-Za-z_-]{35}"),
        _own("google", "ya29.|GOCSPX-", rb"(?:ya29\.|GOCSPX-)[0-9A-Za-z_-]{20,}"),
        _own("jwt", "eyJ", rb"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,4}\.?"),
        *_borrowed("discord", "discord|Discord|DISCORD", DiscordBotTokenDetector),
        *_borrowed("telegram", ":AA", TelegramBotTokenDetector, loose=True),
        *_borrowed("twilio", "AC|SK", TwilioKeyDetector, loose=True),
        _own("vault", "hvs.|hvb.", rb"hv[sb]\.[A-Za-z0-9_-]{24,}"),
        _own("digitalocean", "dop_v1_|doo_v1_|dor_v1_", rb"do[por]_v1_[a-f0-9]{64}"),
        _own("age-key", "AGE-SECRET-KEY-", rb"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
        _own(
            "url-password",
            "://",
            rb"://[^\s/?#@:'\"<>{}\[\]()`\\]{0,64}:(?![$<{%*])([^\s/?#'\"<>{}`\\]{1,256})@",
            1,
        ),
        _own(
            "bearer",
            "earer |EARER ",
            rb"(?:[Bb]earer|BEARER) +(?=[A-Za-z._~+/=-]{0,200}\d)([A-Za-z0-9._~+/=-]{12,})",
            1,
        ),
        _own(
            "authorization",
            "uthorization|UTHORIZATION",
            rb"[Aa](?:uthorization|UTHORIZATION)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?"
            rb"(?:[A-Za-z]{3,12} +)?(?=[A-Za-z._~+/=:-]{0,200}\d)([A-Za-z0-9._~+/=:-]{8,})",
            1,
        ),
    )


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


def _find(data: bytes) -> list[tuple[int, int, str]]:
    """Return the spans of secrets, sorted and without overlaps."""
    spans: list[tuple[int, int, str]] = []
    for rule in _rules():
        for needle in rule.needles:
            if needle in data:
                spans.extend(_matches(rule, data))
                break
    spans.extend(assigned_secrets(data))
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


def _matches(rule: _Rule, data: bytes) -> Iterator[tuple[int, int, str]]:
    for match in rule.pattern.finditer(data):
        start, end = match.span(rule.group)
        if rule.is_loose and (data[start - 1 : start].isalnum() or data[end : end + 1].isalnum()):
            continue
        if start < end:
            yield start, end, rule.kind


def _replace(data: bytes, spans: list[tuple[int, int, str]]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, end, kind in spans:
        parts += (data[position:start], b"[redacted:", kind.encode(), b"]")
        position = end
    parts.append(data[position:])
    return b"".join(parts)
