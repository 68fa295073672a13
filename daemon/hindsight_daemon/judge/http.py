"""Judges behind HTTP: OpenAI-compatible chat completions, Anthropic messages, Ollama's chat.

Each knows one wire form: what to send, where the answer stands, what it cost. Tools that differ
only in what they refuse are met half-way: a parameter that an endpoint does not know is left out
from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hindsight_daemon.errors import JudgeRefused, JudgeUnavailable
from hindsight_daemon.judge.port import Answer, Prompt
from hindsight_daemon.judge.tokens import estimate
from hindsight_daemon.outbound import CallFailed, Endpoint

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
OLLAMA_URL = "http://127.0.0.1:11434"
_ANTHROPIC_VERSION = "2023-06-01"
_CONTEXT_STEP = 4096


class _HttpJudge:
    """What the three share: an endpoint, and errors in our words."""

    def __init__(
        self, base_url: str, model: str, key: str, headers: Mapping[str, str], attempts: int
    ) -> None:
        self._endpoint = Endpoint(base_url, headers, attempts=attempts, secret=key)
        self.model = model
        self.where = self._endpoint.host
        self.is_local = self._endpoint.is_local
        self.is_key_exposed = self._endpoint.sends_key_in_the_clear

    async def close(self) -> None:
        """Release connections."""
        await self._endpoint.close()

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""
        raise NotImplementedError

    async def _post(self, path: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        try:
            found = await self._endpoint.ask(path, body, timeout_s=timeout_s)
        except CallFailed as exc:
            raise _in_our_words(exc) from exc
        if not isinstance(found, dict):
            raise JudgeRefused(f"`{self.where}` sent no JSON object")
        return found

    def _strange(self, found: dict[str, Any]) -> JudgeRefused:
        fields = ", ".join(sorted(map(str, found)))[:100]
        return JudgeRefused(f"`{self.where}` sent a reply without an answer (fields: {fields})")


def _in_our_words(failure: CallFailed) -> JudgeRefused | JudgeUnavailable:
    if failure.reason in ("rejected", "garbled"):
        return JudgeRefused(failure.message)
    hint = {
        "denied": "check `judge.base_url`, `judge.model` and the key",
        "unreachable": "does it run? its address is `judge.base_url`",
        "timeout": "`judge.timeout_s` bounds how long an answer may take",
        "busy": "the endpoint limits how often it may be asked; it is tried again later",
    }.get(failure.reason, "")
    return JudgeUnavailable(
        failure.message, hint=hint, reason=failure.reason, retry_after_s=failure.retry_after_s
    )


class OpenAIJudge(_HttpJudge):
    """Any endpoint that speaks OpenAI's chat completions."""

    def __init__(self, base_url: str, model: str, key: str, attempts: int) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        super().__init__(base_url or OPENAI_URL, model, key, headers, attempts)
        self._format = "json_schema"
        self._length = "max_tokens"
        self._knows_temperature = True

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""
        while True:
            try:
                found = await self._post("chat/completions", self._body(prompt), timeout_s)
                break
            except JudgeRefused as exc:
                if not self._gives_way(exc.message):
                    raise
        choices = found.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        text = _text_of(message.get("content")) if isinstance(message, dict) else None
        if not isinstance(choice, dict) or text is None:
            raise self._strange(found)
        usage = found.get("usage")
        return _answer(
            prompt,
            text,
            self.model,
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
            is_cut=choice.get("finish_reason") == "length",
        )

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.text},
            ],
            self._length: prompt.max_output_tokens,
        }
        if self._knows_temperature:
            body["temperature"] = 0
        if self._format == "json_schema":
            wanted = {"name": prompt.name, "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif self._format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _gives_way(self, said: str) -> bool:
        """Leave out what the endpoint complains about; False if there is nothing left to leave."""
        if self._length == "max_tokens" and "max_tokens" in said and "max_completion" in said:
            self._length = "max_completion_tokens"
        elif self._knows_temperature and "temperature" in said:
            self._knows_temperature = False
        elif self._format and any(w in said for w in ("response_format", "json_", "schema")):
            self._format = "json_object" if self._format == "json_schema" else ""
        else:
            return False
        return True


class AnthropicJudge(_HttpJudge):
    """Anthropic's messages; the answer is the input of a tool that the model has to call."""

    def __init__(self, base_url: str, model: str, key: str, attempts: int) -> None:
        headers = {"anthropic-version": _ANTHROPIC_VERSION}
        if key:
            headers["x-api-key"] = key
        base_url = (base_url or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")
        super().__init__(base_url, model, key, headers, attempts)

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""
        body = {
            "model": self.model,
            "max_tokens": prompt.max_output_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.text}],
            "tools": [
                {
                    "name": prompt.name,
                    "description": "Give the answer.",
                    "input_schema": prompt.schema,
                }
            ],
            "tool_choice": {"type": "tool", "name": prompt.name},
        }
        found = await self._post("v1/messages", body, timeout_s)
        blocks = found.get("content")
        text = _of_blocks(blocks, prompt.name) if isinstance(blocks, list) else None
        if text is None:
            raise self._strange(found)
        usage = found.get("usage")
        read = [
            _count(usage, name)
            for name in (
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            )
        ]
        return _answer(
            prompt,
            text,
            self.model,
            None if read[0] is None else sum(one or 0 for one in read),
            _count(usage, "output_tokens"),
            is_cut=found.get("stop_reason") == "max_tokens",
        )


class OllamaJudge(_HttpJudge):
    """Ollama's own chat call, whose `format` takes a schema."""

    def __init__(self, base_url: str, model: str, key: str, attempts: int) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        super().__init__(base_url or OLLAMA_URL, model, key, headers, attempts)

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""
        needed = estimate(prompt.system + prompt.text) + prompt.max_output_tokens
        body = {
            "model": self.model,
            "stream": False,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.text},
            ],
            "format": prompt.schema,
            "options": {
                "temperature": 0,
                "num_predict": prompt.max_output_tokens,
                # It drops the beginning of a prompt beyond this without a word.
                "num_ctx": -(-needed // _CONTEXT_STEP) * _CONTEXT_STEP,
            },
        }
        found = await self._post("api/chat", body, timeout_s)
        message = found.get("message")
        text = _text_of(message.get("content")) if isinstance(message, dict) else None
        if text is None:
            raise self._strange(found)
        return _answer(
            prompt,
            text,
            self.model,
            _count(found, "prompt_eval_count"),
            _count(found, "eval_count"),
            is_cut=found.get("done_reason") == "length",
        )


def _answer(
    prompt: Prompt,
    text: str,
    model: str,
    tokens_in: int | None,
    tokens_out: int | None,
    *,
    is_cut: bool,
) -> Answer:
    return Answer(
        text=text,
        tokens_in=estimate(prompt.system + prompt.text) if tokens_in is None else tokens_in,
        tokens_out=estimate(text) if tokens_out is None else tokens_out,
        model=model,
        is_estimated=tokens_in is None or tokens_out is None,
        is_cut=is_cut,
    )


def _text_of(content: object) -> str | None:
    """Return the text of a message whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return None


def _of_blocks(blocks: list[object], name: str) -> str | None:
    """Return the input of the tool call among content blocks, or else what was said."""
    said: list[str] = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use" and block.get("name") == name:
            return json.dumps(block.get("input"), ensure_ascii=False)
        if isinstance(text := block.get("text"), str):
            said.append(text)
    return "".join(said) if said else None


def _count(usage: object, name: str) -> int | None:
    """Return a count of tokens that an endpoint told, None if it did not tell a sensible one."""
    found = usage.get(name) if isinstance(usage, dict) else None
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 <= found < 1 << 40 else None
