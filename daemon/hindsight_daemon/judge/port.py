"""What the daemon asks of a language model. Imports records only."""

from __future__ import annotations

from typing import Any, Protocol

from hindsight_daemon.model import Record


class Prompt(Record, frozen=True, kw_only=True):
    """What is sent: `system` says what to do, `text` holds the (redacted, fenced) data.

    `schema` is the JSON schema of the answer and `name` what the answer is called in it;
    `max_output_tokens` bounds what comes back.
    """

    system: str
    text: str
    schema: dict[str, Any]
    name: str
    max_output_tokens: int = 1200


class Answer(Record, frozen=True, kw_only=True):
    """What came back, as text, with what it cost.

    `is_estimated` says that the tokens were counted by us because the model did not tell;
    `is_cut` that the model stopped at its limit.
    """

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    is_estimated: bool = False
    is_cut: bool = False


class Judge(Protocol):
    """A configured model; stateless between calls."""

    model: str
    where: str
    """Host or command the prompts go to."""
    is_local: bool
    """Whether prompts surely stay on this machine."""
    is_key_exposed: bool
    """Whether a key leaves this machine without encryption."""

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""

    async def close(self) -> None:
        """Release connections."""
