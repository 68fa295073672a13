"""The SDK's server with our tools, resources and prompt bound to a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.mcp import calls, resources, tools
from hindsight_daemon.mcp.reader import Reader, agent_name
from hindsight_daemon.version import VERSION

Context = ServerRequestContext[Any, Any]
Identify = Callable[[Context], Reader]


def build_server(handlers: calls.Handlers, identify: Identify) -> Server[Any]:
    """Return a server whose requests are carried out by `handlers` for the reader of each."""

    async def list_tools(_c: Context, _p: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(tools.TOOLS))

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        request_id = "" if context.request_id is None else str(context.request_id)
        try:
            return await calls.carry_out(
                handlers, params.name, params.arguments or {}, identify(context), request_id
            )
        except KeyError as exc:
            known = ", ".join(tool.name for tool in tools.TOOLS)
            message = f"no tool `{params.name[:100]}`; there are {known}"
            raise MCPError(INVALID_PARAMS, message) from exc

    async def list_resources(
        context: Context, _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        with _told():
            return ListResourcesResult(
                resources=await resources.listed(handlers, identify(context))
            )

    async def list_templates(
        _context: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(
        context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        with _told():
            found = await resources.read(handlers, identify(context), str(params.uri))
        return ReadResourceResult(contents=[found])

    async def list_prompts(
        _context: Context, _params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=list(resources.PROMPTS))

    async def get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        with _told():
            return await resources.prompt(
                handlers, identify(context), params.name, params.arguments or {}
            )

    return Server(
        "hindsight",
        version=VERSION,
        title="hindsight memory",
        instructions=tools.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


class _told:
    """Turns our errors into MCP errors that say what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, HindsightError):
            text = f"{error.message}; {error.hint}" if error.hint else error.message
            raise MCPError(INVALID_PARAMS, text) from error


def client_name(context: Context) -> str:
    """Return what the client calls itself, as an agent's name."""
    params = context.session.client_params
    return agent_name(params.client_info.name if params is not None else "")
