"""A judge that is a real command: told on stdin, heard on stdout, ended with the call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest

from hindsight_daemon.config import JudgeSettings
from hindsight_daemon.errors import ConfigProblem, JudgeRefused, JudgeUnavailable
from hindsight_daemon.judge.choose import make_judge
from hindsight_daemon.judge.command import CommandJudge
from hindsight_daemon.judge.port import Answer, Prompt
from tests.support.harness import wait_until

PROMPT = Prompt(
    system="[hindsight:own-session]\nSay it.",
    text="<data>" + "数据 " * 50_000 + "</data>",
    schema={"type": "object"},
    name="saying",
)
ECHO = """
import json, os, sys
told = sys.stdin.read()
print("thinking aloud …", file=sys.stderr)
print(json.dumps({
    "marked": "hindsight:own-session" in told, "length": len(told), "cwd": os.getcwd(),
    "variable": os.environ.get("HINDSIGHT_OWN_SESSION"), "args": sys.argv[1:],
}))
"""


def judge(tmp_path: Path, code: str, *args: str) -> CommandJudge:
    script = tmp_path / "judge.py"
    script.write_text(code, encoding="utf-8")
    return CommandJudge((sys.executable, str(script), *args), tmp_path / "room", "mine")


def ask(one: CommandJudge, timeout_s: float = 20.0) -> Answer:
    return asyncio.run(one.ask(PROMPT, timeout_s=timeout_s))


def test_the_command_gets_the_prompt_on_stdin_and_its_stdout_is_the_answer(tmp_path: Path) -> None:
    answer = ask(judge(tmp_path, ECHO, "-p", "$HOME"))
    assert '"marked": true' in answer.text and '"variable": "1"' in answer.text
    assert '"$HOME"' in answer.text, "no shell reads the arguments"
    assert str(tmp_path / "room") in answer.text
    assert "thinking" not in answer.text
    assert answer.is_estimated and answer.tokens_in > 100_000
    assert answer.model == "mine"


def test_a_command_that_does_not_read_its_stdin_may_answer_too(tmp_path: Path) -> None:
    assert ask(judge(tmp_path, "print('{}')")).text == "{}"


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    code = "import sys; sys.exit('not logged in')"
    with pytest.raises(JudgeUnavailable, match=r"status 1: not logged in"):
        ask(judge(tmp_path, code))


def test_a_command_that_says_nothing_or_far_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeRefused, match="wrote nothing"):
        ask(judge(tmp_path, "import sys; sys.stdin.read()"))
    with pytest.raises(JudgeRefused, match="more than"):
        ask(judge(tmp_path, "print('x' * 5_000_000)"))


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))\n"
        "child.wait()\n"
    )
    with pytest.raises(JudgeUnavailable) as raised:
        ask(judge(tmp_path, code), timeout_s=1.5)
    assert raised.value.detail["reason"] == "timeout"
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not _runs(child), "the grandchild is gone")


def _runs(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    return False


def test_a_command_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(JudgeUnavailable, match="no command `no-such-judge`"):
        ask(CommandJudge(("no-such-judge",), tmp_path))


def test_settings_that_lack_something_say_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(**fields: object) -> object:
        return make_judge(JudgeSettings(**fields), tmp_path)  # type: ignore[arg-type]

    assert made() is None
    with pytest.raises(ConfigProblem, match=r"judge\.command"):
        made(provider="command")
    with pytest.raises(ConfigProblem, match=r"judge\.model"):
        made(provider="ollama")
    with pytest.raises(ConfigProblem, match="`MY_KEY` holds no key"):
        made(provider="openai", model="m", key_env="MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-1")
    assert made(provider="openai", model="m", key_env="MY_KEY") is not None
    assert made(provider="anthropic", model="m") is not None
