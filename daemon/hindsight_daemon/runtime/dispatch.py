"""From a request line to a reply: method table, validation, error mapping.

One of the places that catch every exception: a failing call must not take the daemon down.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from hindsight_daemon.errors import (
    RPC_INVALID_PARAMS,
    RPC_UNKNOWN_METHOD,
    BadFrame,
    Bug,
    DaemonStarting,
    HindsightError,
    PermissionProblem,
)
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.envelope import Reply, Request, error_object
from hindsight_daemon.protocol.methods import METHODS, Method
from hindsight_daemon.runtime.logs import facts
from hindsight_daemon.service.call import Call

Handler = Callable[[Any, Call], Awaitable[Document]]

_log = logging.getLogger("hindsight.dispatch")


class Dispatcher:
    """Runs requests against a table of handlers that fills up as the daemon gets ready."""

    def __init__(self, *, read_only: bool = False) -> None:
        self.handlers: dict[str, Handler] = {}
        self.failure: HindsightError | None = None
        self._read_only = read_only

    def _find(self, name: str) -> tuple[Method, Handler]:
        method = METHODS.get(name)
        if method is None:
            raise BadFrame(f"no method `{name[:100]}`", rpc=RPC_UNKNOWN_METHOD)
        if method.is_write and self._read_only:
            raise PermissionProblem(
                f"`{name}` writes, and without a daemon the store is read-only",
                hint="`hindsight daemon start`",
            )
        handler = self.handlers.get(name)
        if handler is None:
            raise self.failure or DaemonStarting("the daemon is loading its store")
        return method, handler

    async def reply_to(self, request: Request, call: Call) -> Reply | None:
        """Carry out a request; None for notifications, whose outcome nobody waits for."""
        request_id = None if request.id is UNSET else request.id
        try:
            method, handler = self._find(request.method)
            try:
                params = msgspec.json.decode(request.params, type=method.params)
            except (msgspec.MsgspecError, RecursionError) as exc:
                raise BadFrame(
                    f"parameters of `{request.method}`: {exc}", rpc=RPC_INVALID_PARAMS
                ) from exc
            result = await handler(params, call)
            reply = Reply(id=request_id, result=Raw(msgspec.json.encode(result)))
        except asyncio.CancelledError:
            raise
        except HindsightError as exc:
            reply = Reply(id=request_id, error=error_object(exc))
        except Exception as exc:
            incident = uuid.uuid4().hex[:8]
            _log.exception("call.failed", extra=facts(method=request.method, incident=incident))
            bug = Bug(f"`{request.method}` failed with {type(exc).__name__} (incident {incident})")
            reply = Reply(id=request_id, error=error_object(bug))
        return None if request.id is UNSET else reply
