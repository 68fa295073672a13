"""Carries out tool calls: arguments checked, mapped onto service calls, answers made readable.

Every answer has a text for the model and the same as structured content. What a caller can mend
comes back as a tool error that says how; only unknown tools are protocol errors.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema
import msgspec
from mcp_types import CallToolResult, TextContent

from hindsight_daemon.errors import HindsightError
from hindsight_daemon.mcp import tools
from hindsight_daemon.mcp.reader import Reader
from hindsight_daemon.model import DISTILLED_KINDS
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import (
    ForgetResult,
    ListResult,
    RecallResult,
    RememberResult,
)
from hindsight_daemon.protocol.params import (
    ForgetParams,
    ListParams,
    RecallParams,
    RememberParams,
    SummarizeParams,
)
from hindsight_daemon.protocol.session_documents import SummarizeResult
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.projects import project_for

Handlers = dict[str, Callable[[Any, Call], Awaitable[Document]]]
Answer = tuple[str, dict[str, Any]]
Body = Callable[[Handlers, dict[str, Any], Call, Reader, str], Awaitable[Answer]]

_log = logging.getLogger("hindsight.mcp")
_VALIDATORS = {
    tool.name: jsonschema.Draft202012Validator(tool.input_schema) for tool in tools.TOOLS
}


def call_of(reader: Reader) -> Call:
    """Return the call context of a reader's request."""
    return Call(
        client=f"mcp:{reader.agent}", agent=reader.agent, project=project_for("", reader.cwd)
    )


async def carry_out(
    handlers: Handlers, name: str, arguments: dict[str, Any], reader: Reader, request_id: str
) -> CallToolResult:
    """Run a tool; raises `KeyError` if there is none of this name."""
    body = BODIES[name]
    if problem := _problem_with(name, arguments):
        return _failed(problem)
    try:
        text, structure = await body(handlers, arguments, call_of(reader), reader, request_id)
    except HindsightError as exc:
        return _failed(f"{exc.message}; {exc.hint}" if exc.hint else exc.message)
    except Exception as exc:
        # As in dispatch: a failing call must not take the connection down.
        incident = uuid.uuid4().hex[:8]
        _log.exception("tool.failed", extra={"facts": {"tool": name, "incident": incident}})
        return _failed(f"{name} failed with {type(exc).__name__} (incident {incident})")
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structure
    )


def _problem_with(name: str, arguments: dict[str, Any]) -> str:
    error = jsonschema.exceptions.best_match(_VALIDATORS[name].iter_errors(arguments))
    if error is None:
        return ""
    where = ".".join(str(part) for part in error.absolute_path)
    return f"argument `{where}`: {error.message}" if where else str(error.message)


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def _search(
    handlers: Handlers, args: dict[str, Any], call: Call, reader: Reader, _request_id: str
) -> Answer:
    params = RecallParams(
        query=args["query"],
        limit=args.get("limit", tools.SEARCH_LIMIT),
        kinds=(args["kind"],) if "kind" in args else (),
        cwd=reader.cwd,
        with_context=True,
    )
    found = await handlers["memory.recall"](params, call)
    assert isinstance(found, RecallResult)
    notes = [f"note: {notice.message}" for notice in found.warnings]
    text = found.context or "nothing relevant is remembered"
    structure = {
        "recall_id": found.recall_id,
        "memories": [_slim(view) for view in found.memories],
        "warnings": [notice.message for notice in found.warnings],
    }
    return "\n".join([text, *notes]), structure


def _slim(view: Any) -> dict[str, Any]:
    """Return what a model needs of a memory; the rest is in its resource."""
    slim = {
        "id": view.id,
        "kind": view.kind,
        "text": view.text,
        "status": view.status,
        "confidence": view.confidence,
        "importance": view.importance,
        "trust": view.trust,
        "project": view.project,
        "created_at": view.created_at,
        "agent": view.source.agent,
        "why": view.verdict_reason,
        "tags": list(view.tags),
    }
    return {key: value for key, value in slim.items() if value not in ("", [])}


async def _write(
    handlers: Handlers, args: dict[str, Any], call: Call, reader: Reader, request_id: str
) -> Answer:
    params = RememberParams(
        text=args["text"],
        kind=args.get("kind", "lesson"),
        importance=args.get("importance", "medium"),
        scope=args.get("scope", "shared"),
        cwd=reader.cwd,
        request_key=_request_key(reader, request_id),
    )
    done = await handlers["memory.remember"](params, call)
    assert isinstance(done, RememberResult)
    told = f"{done.outcome} {done.id}".strip()
    lines = [f"{told}: {done.reason}" if done.reason else told]
    lines.extend(notice.message for notice in done.warnings)
    return "\n".join(lines), {
        "id": done.id,
        "outcome": done.outcome,
        "affected": done.affected,
        "reason": done.reason,
    }


async def _forget(
    handlers: Handlers, args: dict[str, Any], call: Call, reader: Reader, request_id: str
) -> Answer:
    params = ForgetParams(
        ids=tuple(args["ids"]),
        reason=args["reason"],
        request_key=_request_key(reader, request_id),
    )
    gone = await handlers["memory.forget"](params, call)
    assert isinstance(gone, ForgetResult)
    return f"forgotten: {', '.join(gone.forgotten)}", {"forgotten": gone.forgotten}


async def _summarize(
    handlers: Handlers, args: dict[str, Any], call: Call, _reader: Reader, _request_id: str
) -> Answer:
    params = SummarizeParams(session_id=args["session"])
    made = await handlers["session.summarize"](params, call)
    assert isinstance(made, SummarizeResult)
    lines = [f"- [{one['short_id']}] {one['kind']}: {one['text']}" for one in made.memories]
    head = f"{made.episodes} episode(s), {len(made.memories)} memories of session {made.session}"
    return "\n".join([head, *lines]), {
        "session": made.session,
        "episodes": made.episodes,
        "memories": [
            {"id": one["id"], "kind": one["kind"], "text": one["text"]} for one in made.memories
        ],
    }


def _request_key(reader: Reader, request_id: str) -> str:
    return f"mcp:{reader.connection}:{request_id}" if reader.connection and request_id else ""


async def latest(handlers: Handlers, reader: Reader, *, limit: int) -> list[dict[str, Any]]:
    """Return the newest distilled memories this reader may see, of its project."""
    params = ListParams(limit=limit, kinds=tuple(DISTILLED_KINDS), cwd=reader.cwd)
    found = await handlers["memory.list"](params, call_of(reader))
    assert isinstance(found, ListResult)
    return found.memories


def as_json(document: Document) -> str:
    """Return a document as the JSON text of a resource."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


BODIES: dict[str, Body] = {
    "memory_search": _search,
    "memory_write": _write,
    "memory_forget": _forget,
    "memory_summarize": _summarize,
}
