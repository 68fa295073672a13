"""Judges against a real HTTP server on this machine: what they send, take, and make of trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hindsight_daemon.errors import ConfigProblem, JudgeRefused, JudgeUnavailable
from hindsight_daemon.judge.http import AnthropicJudge, OllamaJudge, OpenAIJudge
from hindsight_daemon.judge.port import Answer, Judge, Prompt
from hindsight_daemon.outbound import CallFailed, Endpoint, pause_s
from tests.support.model_server import Asked, ModelServer, Reply, chat, model_server

SCHEMA = {
    "type": "object",
    "properties": {"said": {"type": "string"}},
    "required": ["said"],
    "additionalProperties": False,
}
PROMPT = Prompt(system="Say it.", text="<data>hi</data>", schema=SCHEMA, name="saying")
KEY = "sk-test-0123456789"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(chat({"said": "hi"})) as server:
        yield server


def ask(judge: Judge, timeout_s: float = 5.0) -> Answer:
    async def asking() -> Answer:
        try:
            return await judge.ask(PROMPT, timeout_s=timeout_s)
        finally:
            await judge.close()

    return asyncio.run(asking())


def openai(server: ModelServer, attempts: int = 1) -> OpenAIJudge:
    return OpenAIJudge(f"{server.url}/v1/", "small-1", KEY, attempts)


def test_an_openai_endpoint_is_asked_for_a_strict_schema_and_told_the_key(
    server: ModelServer,
) -> None:
    answer = ask(openai(server))
    assert json.loads(answer.text) == {"said": "hi"}
    assert (answer.tokens_in, answer.tokens_out, answer.is_estimated) == (100, 20, False)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["response_format"]["json_schema"] == {
        "name": "saying",
        "strict": True,
        "schema": SCHEMA,
    }
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]


def _picky(asked: Asked) -> Reply:
    for name, said in (
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
    ):
        if name in asked.body:
            return Reply({"error": {"message": said}}, status=400)
    if asked.body.get("response_format", {}).get("type") == "json_schema":
        return Reply({"error": {"message": "response_format json_schema is unknown"}}, status=400)
    return chat({"said": "hi"})


def test_a_parameter_that_an_endpoint_does_not_know_is_left_out_from_then_on(
    server: ModelServer,
) -> None:
    server.will(_picky)
    judge = openai(server)

    async def twice() -> None:
        await judge.ask(PROMPT, timeout_s=5)
        before = len(server.asked)
        await judge.ask(PROMPT, timeout_s=5)
        assert len(server.asked) == before + 1
        await judge.close()

    asyncio.run(twice())
    assert server.asked[-1].body["response_format"] == {"type": "json_object"}
    assert server.asked[-1].body["max_completion_tokens"] == PROMPT.max_output_tokens


def test_a_refusal_of_the_question_itself_is_no_reason_to_ask_again(server: ModelServer) -> None:
    server.will(Reply({"error": {"message": "prompt is too long"}}, status=400))
    with pytest.raises(JudgeRefused, match="prompt is too long"):
        ask(openai(server, attempts=3))
    assert len(server.asked) == 1


def test_anthropic_has_to_call_a_tool_whose_input_is_the_answer(server: ModelServer) -> None:
    server.will(
        Reply(
            {
                "content": [
                    {"type": "text", "text": "Here it is."},
                    {"type": "tool_use", "id": "t", "name": "saying", "input": {"said": "嗨"}},
                ],
                "stop_reason": "tool_use",
                "usage": {
                    "input_tokens": 10,
                    "cache_read_input_tokens": 90,
                    "output_tokens": 7,
                },
            }
        )
    )
    answer = ask(AnthropicJudge(f"{server.url}/v1", "claude-x", KEY, 1))
    assert json.loads(answer.text) == {"said": "嗨"}
    assert (answer.tokens_in, answer.tokens_out) == (100, 7)
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.body["tool_choice"] == {"type": "tool", "name": "saying"}
    assert asked.body["tools"][0]["input_schema"] == SCHEMA


def test_ollama_is_given_the_schema_and_room_for_the_whole_prompt(server: ModelServer) -> None:
    server.will(
        Reply(
            {
                "message": {"role": "assistant", "content": '{"said": "hi"}'},
                "done_reason": "stop",
                "prompt_eval_count": 31,
                "eval_count": 6,
            }
        )
    )
    answer = ask(OllamaJudge(server.url, "qwen3:4b", "", 1))
    assert (answer.tokens_in, answer.tokens_out) == (31, 6)
    (asked,) = server.asked
    assert asked.path == "/api/chat"
    assert asked.body["format"] == SCHEMA
    assert asked.body["options"]["num_ctx"] >= PROMPT.max_output_tokens
    assert "authorization" not in {name.lower() for name in asked.headers}


def test_tokens_are_estimated_where_the_endpoint_does_not_count(server: ModelServer) -> None:
    server.will(Reply({"choices": [{"message": {"content": "说一句话"}}]}))
    answer = ask(openai(server))
    assert answer.is_estimated
    assert answer.tokens_in > 0 and answer.tokens_out >= 4


def test_an_answer_that_was_cut_off_says_so(server: ModelServer) -> None:
    server.will(chat('{"said": "h', finish="length"))
    assert ask(openai(server)).is_cut


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Bad gateway</html>",
        {"choices": []},
        {"choices": [{"message": {"content": None}}]},
        ["no", "object"],
        {"error": "quota"},
    ],
    ids=["html", "no choice", "no content", "a list", "an error with status 200"],
)
def test_a_reply_without_an_answer_is_refused(server: ModelServer, body: Any) -> None:
    server.will(Reply(body))
    with pytest.raises(JudgeRefused, match=r"127\.0\.0\.1"):
        ask(openai(server))


@pytest.mark.parametrize("reply", [Reply(never=True), Reply({"x": "y" * 4000}, stalls=True)])
def test_a_call_ends_in_time_whether_nothing_comes_or_only_a_part(
    server: ModelServer, reply: Reply
) -> None:
    server.will(reply)
    with pytest.raises(JudgeUnavailable) as raised:
        ask(openai(server), timeout_s=0.2)
    assert raised.value.detail["reason"] == "timeout"


def test_a_wrong_key_is_told_without_the_key_and_not_tried_again(server: ModelServer) -> None:
    server.will(Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status=401))
    with pytest.raises(JudgeUnavailable) as raised:
        ask(openai(server, attempts=3))
    assert "Incorrect API key" in raised.value.message
    assert KEY not in raised.value.message
    assert len(server.asked) == 1


def test_nobody_listening_is_told_as_such() -> None:
    with model_server(chat({"said": "hi"})) as server:
        judge = openai(server)
    with pytest.raises(JudgeUnavailable, match="cannot be reached"):
        ask(judge)


def test_a_redirect_is_not_followed_because_the_key_would_travel(server: ModelServer) -> None:
    server.will(Reply({}, status=307, headers={"location": "http://127.0.0.1:9/elsewhere"}))
    with pytest.raises(JudgeUnavailable, match="307"):
        ask(openai(server))


@pytest.mark.parametrize(
    "trouble",
    [
        Reply({"error": "overloaded"}, status=503),
        Reply({"error": "slow down"}, status=429, headers={"retry-after": "7"}),
        Reply(drops=True),
    ],
    ids=["503", "429", "dropped"],
)
def test_passing_trouble_is_tried_again_after_a_pause(server: ModelServer, trouble: Reply) -> None:
    server.will(trouble, trouble, chat({"said": "hi"}))
    pauses: list[float] = []

    async def asking() -> Any:
        endpoint = Endpoint(server.url, {}, attempts=3)

        async def nap(seconds: float) -> None:
            pauses.append(seconds)

        try:
            return await endpoint.ask("chat", {}, timeout_s=5, sleep=nap)
        finally:
            await endpoint.close()

    assert asyncio.run(asking())["id"] == "c1"
    assert len(pauses) == 2
    if trouble.status == 429:
        assert pauses == [7.0, 7.0]
    else:
        assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0


def test_trouble_that_stays_is_told_after_the_last_attempt(server: ModelServer) -> None:
    server.will(Reply({"error": "down"}, status=500))
    with Endpoint(server.url, {}, attempts=3) as endpoint, pytest.raises(CallFailed, match="500"):
        endpoint.ask_blocking("chat", {}, timeout_s=5, sleep=lambda _: None)
    assert len(server.asked) == 3


def test_pauses_grow_are_bounded_and_a_server_that_asks_for_hours_is_left_alone() -> None:
    broken = CallFailed("broken", "x")
    grown = [pause_s(n, broken, jitter=lambda: 1.0) for n in range(8)]
    assert grown[:4] == [1.0, 2.0, 4.0, 8.0] and grown[-1] == 30.0
    assert pause_s(0, CallFailed("busy", "x", retry_after_s=3600), jitter=lambda: 0.0) is None
    assert pause_s(0, CallFailed("denied", "x"), jitter=lambda: 0.0) is None


@pytest.mark.parametrize(
    "url", ["", "ftp://host/v1", "host/v1", "https://", "https://user:pw@host/v1"]
)
def test_an_address_that_cannot_be_one_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigProblem):
        Endpoint(url, {})


def test_only_loopback_counts_as_this_machine() -> None:
    def local(url: str) -> bool:
        return Endpoint(url, {}, secret="k").is_local

    assert local("http://127.0.0.1:1/v1") and local("http://localhost/v1") and local("http://[::1]")
    assert not local("https://api.example.com") and not local("http://10.0.0.5:8080")
    assert Endpoint("http://10.0.0.5", {}, secret="k").sends_key_in_the_clear
    assert not Endpoint("https://10.0.0.5", {}, secret="k").sends_key_in_the_clear
