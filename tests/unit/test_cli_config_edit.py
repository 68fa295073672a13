"""Changing one key of a file that a person wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hindsight_cli.config_edit import as_toml, with_value
from hindsight_daemon.config import parse_settings
from hindsight_daemon.errors import UsageProblem

WRITTEN_BY_HAND = """\
# my settings
[embed]
threads = 1   # the fan is loud
model = "auto"

[watch]
roots = [
  "/a",  # old
  "/b",
]
poll_s = 5.0
"""


@pytest.mark.parametrize(
    ("key", "typed", "toml"),
    [
        ("embed.threads", "4", "4"),
        ("embed.model", "none", '"none"'),
        ("embed.model", '"none"', '"none"'),
        ("embed.allow_download", "yes", "true"),
        ("embed.allow_download", "false", "false"),
        ("embed.idle_unload_s", "60", "60"),
        ("watch.roots", "/a, /b", '["/a","/b"]'),
        ("watch.roots", '["/a"]', '["/a"]'),
        ("watch.roots", "", "[]"),
        ("recall.fusion", "rrf", '"rrf"'),
        ("store.uri", "s3://bucket/数据", '"s3://bucket/数据"'),
    ],
)
def test_words_become_values_of_the_type_of_the_key(key: str, typed: str, toml: str) -> None:
    assert as_toml(key, typed) == toml


@pytest.mark.parametrize(
    ("key", "typed"),
    [
        ("embed.threads", "0"),
        ("embed.threads", "many"),
        ("embed.allow_download", "perhaps"),
        ("recall.fusion", "blend"),
        ("embed.thread", "1"),
        ("nonsense", "1"),
    ],
)
def test_values_that_do_not_fit_and_unknown_keys_are_refused(key: str, typed: str) -> None:
    with pytest.raises(UsageProblem):
        as_toml(key, typed)


def test_a_value_is_replaced_and_its_comment_kept() -> None:
    changed = with_value(WRITTEN_BY_HAND, "embed.threads", "4")
    assert changed == WRITTEN_BY_HAND.replace("threads = 1", "threads = 4")


def test_a_list_over_several_lines_is_replaced_whole() -> None:
    changed = with_value(WRITTEN_BY_HAND, "watch.roots", '["/c"]')
    assert tomllib.loads(changed)["watch"] == {"roots": ["/c"], "poll_s": 5.0}


def test_a_new_key_goes_to_the_end_of_its_section() -> None:
    changed = with_value(WRITTEN_BY_HAND, "embed.reranker", '"none"')
    assert 'model = "auto"\nreranker = "none"\n\n[watch]' in changed


def test_a_new_section_goes_to_the_end_of_the_file() -> None:
    changed = with_value(WRITTEN_BY_HAND, "recall.fusion", '"rrf"')
    assert changed == WRITTEN_BY_HAND + '\n[recall]\nfusion = "rrf"\n'


def test_an_empty_file_gets_the_section() -> None:
    assert with_value("", "daemon.autostart", "false") == "[daemon]\nautostart = false\n"


def test_a_hash_inside_a_text_is_no_comment() -> None:
    text = '[store]\nuri = "/a #1"  # place\n'
    changed = with_value(text, "store.uri", '"/b"')
    assert changed == '[store]\nuri = "/b"  # place\n'


def test_every_change_leaves_a_file_that_reads() -> None:
    for key, value in (("embed.model", '"x"'), ("watch.enabled", "false"), ("watch.poll_s", "1")):
        changed = with_value(WRITTEN_BY_HAND, key, value)
        parse_settings(changed, Path("config.toml"))
