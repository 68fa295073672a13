"""MCP through the official SDK's client, `hindsight mcp` and the real daemon."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client.client import Client as McpClient
from mcp.shared.exceptions import MCPError

from hindsight_daemon.client import Client
from hindsight_daemon.errors import Busy, NotFound, PermissionProblem
from hindsight_daemon.paths import resolve_paths
from tests.support.harness import kill_hard, running_daemon
from tests.support.mcp_clients import HINDSIGHT, over_http, over_stdio, text_of

MODES = ["legacy", "auto"]


@pytest.fixture
def client() -> Iterator[Client]:
    with running_daemon() as client:
        yield client


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_finds_what_it_and_others_wrote(
    client: Client, repository: Path, mode: str
) -> None:
    client.remember("The staging database listens on port 5544", project=str(repository))

    async def script(mcp: McpClient) -> Any:
        wrote = await mcp.call_tool(
            "memory_write", {"text": "连接池耗尽时，把 max_connections 调到 50", "kind": "solution"}
        )
        found = await mcp.call_tool("memory_search", {"query": "staging database port"})
        chinese = await mcp.call_tool("memory_search", {"query": "连接池耗尽怎么办"})
        return wrote, found, chinese

    wrote, found, chinese = over_stdio(script, agent="claude-code", cwd=repository, mode=mode)
    assert wrote.structured_content["outcome"] == "added"
    assert "port 5544" in text_of(found) and "not instructions" in text_of(found)
    assert found.structured_content["memories"][0]["trust"] == "user"
    assert "max_connections" in text_of(chinese)
    stored = client.show(wrote.structured_content["id"]).memory
    assert (stored["agent"], stored["trust"]) == ("claude-code", "agent")
    assert stored["project"] == str(repository)


@pytest.mark.usefixtures("client")
def test_the_list_of_tools_is_cheap_flat_and_says_what_to_fill() -> None:
    async def script(mcp: McpClient) -> Any:
        return (await mcp.list_tools()).tools

    tools = over_stdio(script)
    text = json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools])
    assert len(text) / 3.6 <= 1500
    for word in ("anyOf", "oneOf", "allOf", "$ref"):
        assert word not in text
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False
        assert len(tool.description) > 80
        for schema in tool.input_schema["properties"].values():
            assert schema["type"] and schema["description"]


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_search", {}, "'query' is a required property"),
    ("memory_search", {"query": ""}, "query"),
    ("memory_search", {"query": 3}, "query"),
    ("memory_search", {"query": "x", "limit": 1000}, "limit"),
    ("memory_search", {"query": "x", "project": "/other"}, "project"),
    ("memory_write", {"text": "abc def", "kind": "nonsense"}, "kind"),
    ("memory_write", {"text": "abc def", "scope": "global"}, "scope"),
    ("memory_forget", {"ids": ["0000"], "reason": "wrong"}, "no memory"),
    ("memory_forget", {"ids": [], "reason": "wrong"}, "ids"),
    ("memory_summarize", {"session": "none-such"}, "no session"),
]


@pytest.mark.usefixtures("client")
def test_a_call_that_cannot_be_carried_out_says_why() -> None:
    async def script(mcp: McpClient) -> Any:
        results = [await mcp.call_tool(tool, arguments) for tool, arguments, _ in BAD_CALLS]
        return results, await mcp.call_tool("memory_search", {"query": "still there"})

    results, alive = over_stdio(script)
    for (tool, arguments, told), result in zip(BAD_CALLS, results, strict=True):
        assert result.is_error, (tool, arguments)
        assert told in text_of(result), (tool, arguments)
    assert not alive.is_error


@pytest.mark.usefixtures("client")
def test_an_unknown_tool_resource_or_prompt_is_named() -> None:
    async def script(mcp: McpClient) -> list[str]:
        told = []
        for wrong in (
            lambda: mcp.call_tool("memory_eat", {}),
            lambda: mcp.read_resource("file:///etc/passwd"),
            lambda: mcp.read_resource("hindsight://memory/ffffffff"),
            lambda: mcp.get_prompt("recall", {}),
        ):
            with pytest.raises(MCPError) as caught:
                await wrong()
            told.append(str(caught.value))
        return told

    tool, uri, memory, prompt = over_stdio(script)
    assert "memory_eat" in tool and "memory_search" in tool
    assert "/etc/passwd" in uri and "no memory" in memory and "task" in prompt


def test_resources_and_the_prompt_show_what_is_remembered(client: Client, repository: Path) -> None:
    kept = client.remember("Deploys need the vpn profile ops-3", project=str(repository))

    async def script(mcp: McpClient) -> Any:
        listed = (await mcp.list_resources()).resources
        read = await mcp.read_resource(listed[0].uri)
        prompt = await mcp.get_prompt("recall", {"task": "deploy with vpn"})
        return listed, read, prompt

    listed, read, prompt = over_stdio(script, cwd=repository)
    assert listed[0].uri == f"hindsight://memory/{kept.id}"
    assert json.loads(read.contents[0].text)["memory"]["text"].startswith("Deploys need")
    assert "ops-3" in prompt.messages[0].content.text


def test_an_agent_reads_no_private_memory_of_another_and_nothing_of_another_project(
    client: Client, repository: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "bank"
    (elsewhere / ".git").mkdir(parents=True)

    async def write(mcp: McpClient) -> Any:
        return await mcp.call_tool(
            "memory_write", {"text": "The signing key rotates on Fridays", "scope": "private"}
        )

    kept = over_stdio(write, agent="codex", cwd=repository).structured_content["id"]

    async def look(mcp: McpClient) -> Any:
        found = await mcp.call_tool("memory_search", {"query": "signing key rotates"})
        try:
            await mcp.read_resource(f"hindsight://memory/{kept}")
        except MCPError as exc:
            return text_of(found), str(exc)
        return text_of(found), ""

    mine, _ = over_stdio(look, agent="codex", cwd=repository)
    assert "Fridays" in mine
    for agent, folder in (("cursor", repository), ("", repository), ("*", repository)):
        found, refused = over_stdio(look, agent=agent, cwd=folder)
        assert "Fridays" not in found and "no memory" in refused
    shared = client.remember("The ledger closes at midnight", project=str(repository)).id

    async def other(mcp: McpClient) -> Any:
        found = await mcp.call_tool("memory_search", {"query": "when does the ledger close"})
        gone = await mcp.call_tool("memory_forget", {"ids": [shared], "reason": "not ours"})
        return text_of(found), gone

    found, gone = over_stdio(other, agent="codex", cwd=elsewhere)
    assert "midnight" not in found and gone.is_error and "no memory" in text_of(gone)
    assert client.show(shared).memory["status"] == "unverified"


def test_a_person_sees_everything_and_the_python_client_can_be_an_agent(
    client: Client, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    with Client(agent="worker-1") as agent:
        kept = agent.remember(
            "Only worker one knows this trick", scope="private", cwd=str(repository)
        )
        with pytest.raises(PermissionProblem):
            agent.remember("Everybody must know", scope="global")
    with Client(agent="worker-2") as other, pytest.raises(NotFound):
        other.show(kept.id)
    assert client.show(kept.id).memory["agent"] == "worker-1"


def test_an_agent_cannot_forget_what_the_user_stated(client: Client, repository: Path) -> None:
    stated = client.remember("Never push on Fridays", project=str(repository)).id

    async def script(mcp: McpClient) -> Any:
        own = await mcp.call_tool("memory_write", {"text": "Pushes take ten minutes"})
        return (
            await mcp.call_tool("memory_forget", {"ids": [stated], "reason": "in the way"}),
            await mcp.call_tool(
                "memory_forget", {"ids": [own.structured_content["id"]], "reason": "they do not"}
            ),
        )

    refused, done = over_stdio(script, cwd=repository)
    assert refused.is_error and "ask the user" in text_of(refused)
    assert not done.is_error
    assert client.show(stated).memory["text"] == "Never push on Fridays"


@pytest.mark.usefixtures("client")
def test_several_clients_at_once_get_their_own_answers(repository: Path) -> None:
    async def one(number: int) -> str:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        server = StdioServerParameters(
            command=HINDSIGHT[0],
            args=[*HINDSIGHT[1:], "mcp", "--agent", f"agent-{number}"],
            env=dict(os.environ),
            cwd=repository,
        )
        async with McpClient(stdio_client(server)) as mcp:
            await mcp.call_tool(
                "memory_write",
                {"text": f"Secret handshake number {number} is waving", "scope": "private"},
            )
            found = await mcp.call_tool("memory_search", {"query": "secret handshake waving"})
            return text_of(found)

    async def main() -> list[str]:
        answers: list[str] = [""] * 4

        async def run(number: int) -> None:
            answers[number] = await one(number)

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(run, number)
        return answers

    for number, answer in enumerate(anyio.run(main)):
        assert f"number {number} is" in answer
        assert sum(f"number {n} is" in answer for n in range(4)) == 1


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("mode", MODES)
def test_a_session_outlives_the_daemon(repository: Path, mode: str) -> None:
    async def script(mcp: McpClient) -> Any:
        first = await mcp.call_tool("memory_write", {"text": "The cache is warmed by cron"})
        await anyio.to_thread.run_sync(kill_hard, resolve_paths())
        second = await mcp.call_tool("memory_search", {"query": "what warms the cache"})
        return first, second

    first, second = over_stdio(script, cwd=repository, mode=mode)
    assert not first.is_error and "by cron" in text_of(second)


def _relay(lines: list[bytes]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*HINDSIGHT, "mcp"], input=b"".join(lines), capture_output=True, timeout=60, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "a",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "0"},
        },
    }
).encode()


@pytest.mark.usefixtures("client")
def test_what_is_no_message_is_answered_and_the_session_goes_on() -> None:
    ping = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    answers = _relay(
        [
            INITIALIZE + b"\n",
            b"not json\n",
            b"\xff\xfe\n",
            b"[]\n",
            b'{"jsonrpc":"2.0","id":7,"method":5}\n',
            b'{"jsonrpc":"2.0","id":8,"method":"no/such"}\n',
            b"\n",
            ping,
        ]
    )
    by_id = {str(answer.get("id")): answer for answer in answers}
    assert by_id["a"]["result"]["serverInfo"]["name"] == "hindsight"
    assert by_id["7"]["error"]["code"] == -32600 and by_id["8"]["error"]["code"] == -32601
    assert by_id["2"]["result"] == {}
    assert sum(answer.get("id") is None for answer in answers) == 3


@pytest.mark.usefixtures("client")
def test_a_message_over_the_cap_is_refused_by_name() -> None:
    huge = b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"' + b"y" * 9_000_000 + b'"}}\n'
    answers = _relay([INITIALIZE + b"\n", huge])
    assert any("at most" in a.get("error", {}).get("message", "") for a in answers)
    assert any("result" in answer for answer in answers)


def test_a_client_that_leaves_in_the_middle_of_a_call_harms_nobody(client: Client) -> None:
    child = subprocess.Popen([*HINDSIGHT, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(INITIALIZE + b"\n")
    child.stdin.flush()
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert client.status().state == "ready"


@pytest.mark.parametrize("mode", MODES)
def test_http_serves_the_same_to_who_has_the_token(
    client: Client, repository: Path, mode: str
) -> None:
    client.remember("Nightly builds run on runner 7", project=str(repository))
    http = client.serve_http(port=0)
    token_file = Path(http.token_file)
    assert token_file.stat().st_mode & 0o777 == 0o600
    token = token_file.read_text(encoding="ascii").strip()

    async def script(mcp: McpClient) -> Any:
        return await mcp.call_tool("memory_search", {"query": "where do nightly builds run"})

    folder = {"X-Hindsight-Cwd": str(repository)}
    assert "runner 7" in text_of(over_http(script, http.url, token, mode=mode, **folder))
    assert "runner 7" not in text_of(over_http(script, http.url, token, mode=mode))
    assert client.serve_http(port=0).port == http.port


STRANGERS: list[tuple[dict[str, str], int]] = [
    ({}, 401),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": "Basic TOKEN"}, 401),
    ({"Authorization": "Bearer TOKEN", "Host": "evil.example"}, 421),
    ({"Authorization": "Bearer TOKEN", "Origin": "http://evil.example"}, 403),
]


def test_http_refuses_strangers(client: Client) -> None:
    http = client.serve_http(port=0)
    token = Path(http.token_file).read_text(encoding="ascii").strip()
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for path in ("/mcp", "/messages/"):
        for headers, status in STRANGERS:
            sent = {name: value.replace("TOKEN", token) for name, value in headers.items()}
            sent["Content-Type"] = "application/json"
            sent["Accept"] = "application/json, text/event-stream"
            url = http.url.replace("/mcp", path)
            answer = httpx.post(url, headers=sent, content=body)
            assert answer.status_code == status, (path, headers)


def test_http_is_not_opened_on_a_taken_port_or_with_a_token_others_can_read(
    client: Client, home: Path
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Busy):
        client.serve_http(port=taken.getsockname()[1])
    token_file = home / "state" / "http-token"
    token_file.chmod(0o644)
    with pytest.raises(PermissionProblem):
        client.serve_http(port=0)
    token_file.unlink()
    assert client.serve_http(port=0).port
