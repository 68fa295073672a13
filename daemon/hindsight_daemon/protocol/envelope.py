"""JSON-RPC 2.0 envelopes: requests, replies, notifications and their error object.

Public. One envelope is one JSON object on one line; batches are not part of the protocol.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from hindsight_daemon.errors import (
    RPC_INVALID_REQUEST,
    RPC_PARSE_ERROR,
    BadFrame,
    Bug,
    HindsightError,
    error_from_wire,
)


class Request(Struct, omit_defaults=True):
    """A call (with `id`) or a notification (without)."""

    method: str
    params: Raw = Raw(b"{}")
    id: int | str | UnsetType | None = UNSET
    jsonrpc: str = "2.0"


class ErrorData(Struct, omit_defaults=True):
    """The stable part of an error; `code` is what scripts may test."""

    code: str
    hint: str = ""
    retryable: bool = False
    exit_code: int = 70
    detail: dict[str, Any] = {}


class ErrorObject(Struct):
    """The `error` member of a reply."""

    code: int
    message: str
    data: ErrorData


class Reply(Struct, omit_defaults=True):
    """The answer to a request: exactly one of `result` and `error` is set."""

    id: int | str | None = None
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


class Notification(Struct):
    """A message that expects no answer, such as `progress`."""

    method: str
    params: Any
    jsonrpc: Literal["2.0"] = "2.0"


_request_decoder = msgspec.json.Decoder(Request)
_encoder = msgspec.json.Encoder()


def decode_request(line: bytes) -> Request:
    """Parse one line; raises `BadFrame` whose detail `rpc` tells syntax from structure errors."""
    try:
        request = _request_decoder.decode(line)
    except msgspec.ValidationError as exc:
        raise BadFrame(f"not a request: {exc}", rpc=RPC_INVALID_REQUEST) from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise BadFrame(f"not JSON: {exc}", rpc=RPC_PARSE_ERROR) from exc
    if request.jsonrpc != "2.0":
        raise BadFrame('`jsonrpc` must be "2.0"', rpc=RPC_INVALID_REQUEST)
    return request


def error_object(exc: BaseException) -> ErrorObject:
    """Describe an exception for the wire; anything but our own errors reads as a bug."""
    error = exc if isinstance(exc, HindsightError) else Bug(f"unexpected {type(exc).__name__}")
    detail = {key: value for key, value in error.detail.items() if key != "rpc"}
    return ErrorObject(
        code=error.detail.get("rpc", error.rpc_code),
        message=error.message,
        data=ErrorData(error.code, error.hint, error.retryable, error.exit_code, detail),
    )


def raise_error(error: ErrorObject) -> None:
    """Raise the error that a reply carried."""
    raise error_from_wire(error.data.code, error.message, error.data.hint, error.data.detail)


def encode_line(message: object) -> bytes:
    """Encode an envelope as one line with its newline."""
    if isinstance(message, Reply):
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": message.id}
        if message.error is not UNSET:
            body["error"] = message.error
        else:
            body["result"] = message.result
        return _encoder.encode(body) + b"\n"
    return _encoder.encode(message) + b"\n"
