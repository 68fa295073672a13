"""Keys come from the environment or from a file that nobody else can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.credential import read_key
from hindsight_daemon.errors import ConfigProblem, PermissionProblem


def _file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "key"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


def test_the_variable_comes_before_the_file_and_nothing_named_means_no_key(tmp_path: Path) -> None:
    file = _file(tmp_path, "from-file\n")
    assert read_key("K", file, {"K": "from-env "}) == "from-env"
    assert read_key("K", file, {}) == "from-file"
    assert read_key("", "", {"K": "x"}) == ""


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(PermissionProblem, match="open to other users"):
        read_key("", _file(tmp_path, "k", mode), {})


@pytest.mark.parametrize("text", ["", "  \n", "two words", "OPENAI=sk\nOTHER=x"])
def test_a_file_with_no_key_or_more_than_one_thing_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigProblem, match="one key"):
        read_key("", _file(tmp_path, text), {})


def test_what_is_named_and_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="`K` holds no key"):
        read_key("K", "", {})
    with pytest.raises(ConfigProblem, match="cannot read the key file"):
        read_key("", str(tmp_path / "none"), {})
    with pytest.raises(ConfigProblem, match="no plain file"):
        read_key("", str(tmp_path), {})
