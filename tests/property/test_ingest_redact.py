"""Redaction holds for any surrounding text, changes nothing twice and never fails."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_daemon.ingest.redact import needles, redact
from hindsight_daemon.ingest.redact_shapes import shaped_secrets
from hindsight_daemon.ingest.redact_values import assigned_secrets

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def _of(alphabet: str, size: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=size, max_size=size)


SECRET = st.one_of(
    _of(ALNUM + "_-", 40).map(lambda body: f"sk-ant-api03-{body}"),
    _of(ALNUM, 36).map(lambda body: f"ghp_{body}"),
    _of(ALNUM + "_", 60).map(lambda body: f"github_pat_{body}"),
    _of(string.ascii_uppercase + string.digits, 16).map(lambda body: f"AKIA{body}"),
    _of(ALNUM, 24).map(lambda body: f"xoxb-1234567890-{body}"),
    _of(ALNUM + "_-", 35).map(lambda body: f"AIza{body}"),
    st.tuples(_of(ALNUM, 20), _of(ALNUM, 30), _of(ALNUM + "_-", 43)).map(
        lambda parts: "eyJ" + ".".join(parts)
    ),
    _of(ALNUM + "+/", 64).map(
        lambda body: f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    ),
)
SURROUNDING = st.text(max_size=60) | st.sampled_from(
    ["token = ", '"password": "', "密码：", "export KEY=", "://u:", "[redacted:github]", "```\n"]
)
BOUNDARY = st.sampled_from([" ", "\n", '"', "'", "，", "(", "\t", "。", "=", "："])


@given(SURROUNDING, BOUNDARY, SECRET, BOUNDARY, SURROUNDING)
def test_a_planted_secret_never_survives(
    before: str, left: str, secret: str, right: str, after: str
) -> None:
    clean, count = redact(before + left + secret + right + after)
    assert secret not in clean
    assert count >= 1


@given(st.lists(SURROUNDING | SECRET | BOUNDARY, max_size=8))
def test_redacting_twice_changes_nothing(parts: list[str]) -> None:
    once, _ = redact("".join(parts))
    assert redact(once) == (once, 0)


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz ,.\n中文字()", max_size=40), max_size=6))
def test_prose_is_left_alone(parts: list[str]) -> None:
    text = "".join(parts)
    assert redact(text) == (text, 0)


@given(_of(HEX, 40), _of(HEX, 64), st.uuids())
def test_hashes_and_ids_are_left_alone(commit: str, digest: str, uuid: object) -> None:
    text = f"commit {commit} sha256:{digest} id={uuid}"
    assert redact(text) == (text, 0)


@settings(max_examples=50)
@given(st.text(st.characters(), max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    clean, count = redact(text)
    assert (clean == text) == (count == 0)


NEEDLE = st.sampled_from(sorted(needles().all)).map(bytes)
IN_ANY_CASE = st.tuples(NEEDLE, st.sampled_from([bytes.lower, bytes.upper, bytes.title])).map(
    lambda pair: pair[1](pair[0])
)
PART = st.one_of(
    IN_ANY_CASE,
    NEEDLE.map(lambda needle: needle[:-1]),
    (SURROUNDING | SECRET | BOUNDARY).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"=hunter2A9!", b": 'Zq81kk02ahTT'", b" 0123456789abcdefABCDEF0123456789"]),
)


@given(st.lists(PART, max_size=10).map(b"".join))
def test_trying_only_what_a_text_has_literals_for_finds_all_that_trying_everything_finds(
    data: bytes,
) -> None:
    lowered = data.lower()
    found = needles().found_in(lowered)
    assert found == {needle for needle in needles().all if needle in lowered}
    # What looks like a token of Discord is one only in a text about it.
    everything = needles().all - {b"discord"} | found
    assert set(shaped_secrets(data, found)) == set(shaped_secrets(data, everything))
    assert set(assigned_secrets(data, lowered, found)) == set(
        assigned_secrets(data, lowered, everything)
    )


@settings(max_examples=30, deadline=None)
@given(NEEDLE, st.integers(-40, 3))
def test_a_literal_is_found_where_a_long_text_is_cut(needle: bytes, offset: int) -> None:
    text = b"." * (256 * 1024 + offset) + needle + b"." * 5000
    assert needle in needles().found_in(text)
