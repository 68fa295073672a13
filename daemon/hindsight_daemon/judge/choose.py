"""From settings to a judge. Reads the key when a judge is made, and nothing else."""

from __future__ import annotations

from pathlib import Path

from hindsight_daemon.config import JudgeSettings
from hindsight_daemon.credential import read_key
from hindsight_daemon.errors import ConfigProblem
from hindsight_daemon.judge.command import CommandJudge
from hindsight_daemon.judge.http import AnthropicJudge, OllamaJudge, OpenAIJudge
from hindsight_daemon.judge.port import Judge

_HTTP = {"openai": OpenAIJudge, "anthropic": AnthropicJudge, "ollama": OllamaJudge}


def make_judge(settings: JudgeSettings, folder: Path) -> Judge | None:
    """Return the judge that the settings ask for, None if they ask for none.

    A command runs in `folder`. Raises `ConfigProblem` or `PermissionProblem` naming what is amiss.
    """
    if settings.provider == "none":
        return None
    if settings.provider == "command":
        if not settings.command:
            raise ConfigProblem(
                "`judge.provider` is command, but `judge.command` is empty",
                hint='such as `command = ["claude", "-p"]` below `[judge]`',
            )
        return CommandJudge(settings.command, folder, settings.model)
    if not settings.model:
        raise ConfigProblem(
            f"`judge.provider` is {settings.provider}, but `judge.model` is empty",
            hint="`hindsight config set judge.model NAME`",
        )
    key = read_key(settings.key_env, settings.key_file)
    return _HTTP[settings.provider](settings.base_url, settings.model, key, settings.attempts)
