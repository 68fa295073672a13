"""Memories, episodes and sessions as MCP resources, and the prompt that brings memories along."""

from __future__ import annotations

from typing import Any

from mcp_types import (
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from hindsight_daemon.errors import NotFound, UsageProblem
from hindsight_daemon.mcp.calls import Handlers, as_json, call_of, latest
from hindsight_daemon.mcp.reader import Reader
from hindsight_daemon.protocol.documents import RecallResult
from hindsight_daemon.protocol.params import RecallParams, SessionParams, ShowParams

SCHEME = "hindsight://"
JSON_TYPE = "application/json"
_LISTED = 20

TEMPLATES: tuple[ResourceTemplate, ...] = (
    ResourceTemplate(
        name="memory",
        uri_template=f"{SCHEME}memory/{{id}}",
        description="One memory with evidence, status and where it came from",
        mime_type=JSON_TYPE,
    ),
    ResourceTemplate(
        name="episode",
        uri_template=f"{SCHEME}episode/{{id}}",
        description="One task: goal, steps, outcome, failure reason, lessons",
        mime_type=JSON_TYPE,
    ),
    ResourceTemplate(
        name="session",
        uri_template=f"{SCHEME}session/{{id}}",
        description="One agent session and the memories made of it",
        mime_type=JSON_TYPE,
    ),
)

PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        name="recall",
        title="Recall past experience",
        description="What is remembered about a task, to be read before it is started",
        arguments=[
            PromptArgument(name="task", description="The task, in a sentence", required=True)
        ],
    ),
)


async def listed(handlers: Handlers, reader: Reader) -> list[Resource]:
    """Return the newest memories of the reader's project as resources."""
    return [
        Resource(
            name=f"{one['kind']} {one['short_id']}",
            uri=f"{SCHEME}{'episode' if one['kind'] == 'episode' else 'memory'}/{one['id']}",
            description=str(one["text"])[:120],
            mime_type=JSON_TYPE,
        )
        for one in await latest(handlers, reader, limit=_LISTED)
    ]


async def read(handlers: Handlers, reader: Reader, uri: str) -> TextResourceContents:
    """Return what a URI names; raises `NotFound` or `UsageProblem`."""
    what, _, which = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not which or what not in ("memory", "episode", "session"):
        raise UsageProblem(f"`{uri}` is no resource of hindsight", hint="see resources/templates")
    call = call_of(reader)
    if what == "session":
        found = await handlers["session.show"](SessionParams(session_id=which), call)
    else:
        found = await handlers["memory.show"](ShowParams(id=which), call)
        memory: dict[str, Any] = getattr(found, "memory", {})
        if what == "episode" and memory.get("kind") != "episode":
            raise NotFound(f"`{which}` is a {memory.get('kind')}, not an episode")
    return TextResourceContents(uri=uri, mime_type=JSON_TYPE, text=as_json(found))


async def prompt(
    handlers: Handlers, reader: Reader, name: str, arguments: dict[str, str]
) -> GetPromptResult:
    """Return the memories about a task as a message; raises `UsageProblem`."""
    task = arguments.get("task", "").strip()
    if name != "recall" or not task:
        raise UsageProblem(f"prompt `{name}` needs `task`", hint="the one prompt is `recall`")
    params = RecallParams(query=task, limit=5, cwd=reader.cwd, with_context=True)
    found = await handlers["memory.recall"](params, call_of(reader))
    assert isinstance(found, RecallResult)
    text = found.context or "Nothing relevant is remembered."
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=f"What is remembered about: {task[:80]}", messages=[message])
