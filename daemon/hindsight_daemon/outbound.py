"""The only door to services elsewhere: JSON out by POST, JSON back; bounded in time and size.

The only importer of httpx, which takes a third of a second to load and is loaded on first use.
Imports errors only. Nothing is sent unless the settings name an endpoint; what may be sent is the
caller's business. Redirects are not followed: a key must not travel to another host.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from hindsight_daemon.errors import ConfigProblem

if TYPE_CHECKING:
    import httpx

MAX_REPLY_BYTES = 32 * 1024 * 1024
LONGEST_PAUSE_S = 30.0
_SAID_CHARS = 300

Reason = Literal["unreachable", "timeout", "denied", "busy", "broken", "rejected", "garbled"]
PASSING: frozenset[Reason] = frozenset({"unreachable", "timeout", "busy", "broken"})
"""Reasons that may be gone at the next try."""


class CallFailed(Exception):
    """An endpoint gave no usable reply.

    `denied` means key or address are wrong, `busy` a rate limit, `broken` an error of the server,
    `rejected` that it refuses this request, `garbled` that its reply is no JSON.
    """

    def __init__(
        self, reason: Reason, message: str, *, status: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s


def pause_s(attempt: int, failure: CallFailed, *, jitter: Callable[[], float]) -> float | None:
    """Return how long to wait after failed attempt number `attempt` (from 0), None: give up.

    Doubles from a second, halved at random so that clients spread; a server that names a time is
    believed, unless it is so long that the call had better be made another day.
    """
    if failure.reason not in PASSING:
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= LONGEST_PAUSE_S else None
    return min(2.0**attempt, LONGEST_PAUSE_S) * (0.5 + jitter() / 2)


class Endpoint:
    """One service below `base_url`; connections are kept open between calls.

    Raises `ConfigProblem` for an address that is no http(s) URL.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        attempts: int = 3,
        secret: str = "",
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigProblem(f"`{base_url}` is no address of a service", hint="https://HOST/v1")
        if parts.username or parts.password:
            raise ConfigProblem(
                "a `base_url` must not hold a name or password", hint="use `key_env` or `key_file`"
            )
        self.base_url = base_url.rstrip("/")
        self.host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        self.is_local = is_local(parts.hostname)
        self._headers = {"user-agent": "hindsight", **headers}
        self._attempts = attempts
        self._secret = secret
        self._blocking: httpx.Client | None = None
        self._making = threading.Lock()
        self._async: httpx.AsyncClient | None = None

    @property
    def sends_key_in_the_clear(self) -> bool:
        """Whether a key leaves this machine without encryption."""
        return bool(self._secret) and not self.is_local and self.base_url.startswith("http:")

    async def ask(
        self,
        path: str,
        body: object,
        *,
        timeout_s: float,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> Any:
        """POST `body` and return the JSON reply; passing failures are tried again.

        `timeout_s` bounds every attempt as a whole. Raises `CallFailed`. Cancelling it drops the
        connection.
        """
        for attempt in range(self._attempts):
            try:
                return await self._ask_once(path, body, timeout_s)
            except CallFailed as failure:
                pause = pause_s(attempt, failure, jitter=random.random)
                if pause is None or attempt + 1 == self._attempts:
                    raise
                await sleep(pause)
        raise AssertionError("attempts is at least one")

    async def _ask_once(self, path: str, body: object, timeout_s: float) -> Any:
        if self._async is None:
            httpx = await asyncio.to_thread(_import_httpx)
            self._async = httpx.AsyncClient(**self._options())
        else:
            httpx = _import_httpx()
        received = bytearray()
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._async.stream(
                    "POST", self._url(path), content=_encoded(body), timeout=timeout_s
                ) as reply,
            ):
                async for piece in reply.aiter_bytes():
                    self._take(received, piece)
        except (TimeoutError, httpx.TimeoutException) as exc:
            raise self._late(timeout_s) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self._unreachable(exc) from exc
        return self._read(reply, bytes(received))

    def ask_blocking(
        self,
        path: str,
        body: object,
        *,
        timeout_s: float,
        sleep: Callable[[float], object],
        attempts: int = 0,
    ) -> Any:
        """As `ask`, for threads; `attempts` overrides those of the endpoint."""
        attempts = attempts or self._attempts
        for attempt in range(attempts):
            try:
                return self._ask_once_blocking(path, body, timeout_s)
            except CallFailed as failure:
                pause = pause_s(attempt, failure, jitter=random.random)
                if pause is None or attempt + 1 == attempts:
                    raise
                sleep(pause)
        raise AssertionError("attempts is at least one")

    def _ask_once_blocking(self, path: str, body: object, timeout_s: float) -> Any:
        httpx = _import_httpx()
        with self._making:
            client = self._blocking
            if client is None:
                client = self._blocking = httpx.Client(**self._options())
        received = bytearray()
        deadline = time.monotonic() + timeout_s
        try:
            with client.stream(
                "POST", self._url(path), content=_encoded(body), timeout=timeout_s
            ) as reply:
                for piece in reply.iter_bytes():
                    self._take(received, piece)
                    if time.monotonic() > deadline:
                        raise self._late(timeout_s)
        except httpx.TimeoutException as exc:
            raise self._late(timeout_s) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self._unreachable(exc) from exc
        return self._read(reply, bytes(received))

    async def close(self) -> None:
        """Let go of all connections."""
        if self._async is not None:
            await self._async.aclose()
            self._async = None
        self.close_blocking()

    def close_blocking(self) -> None:
        """Let go of the connections of blocking calls."""
        with self._making:
            client, self._blocking = self._blocking, None
        if client is not None:
            client.close()

    def _options(self) -> dict[str, Any]:
        # A proxy of the environment must not see what is meant for this machine.
        headers = {**self._headers, "content-type": "application/json"}
        return {"headers": headers, "follow_redirects": False, "trust_env": not self.is_local}

    def _url(self, path: str) -> str:
        return f"{self.base_url}/{path}"

    def _take(self, received: bytearray, piece: bytes) -> None:
        received += piece
        if len(received) > MAX_REPLY_BYTES:
            raise CallFailed("garbled", f"`{self.host}` sent more than {MAX_REPLY_BYTES} bytes")

    def _late(self, timeout_s: float) -> CallFailed:
        return CallFailed("timeout", f"`{self.host}` gave no whole reply within {timeout_s:g} s")

    def _unreachable(self, error: Exception) -> CallFailed:
        why = str(error) or type(error).__name__
        return CallFailed("unreachable", f"`{self.host}` cannot be reached: {self._safe(why)}")

    def _read(self, reply: httpx.Response, body: bytes) -> Any:
        status = reply.status_code
        if status == 200:
            try:
                return json.loads(body)
            except ValueError as exc:
                raise CallFailed("garbled", f"`{self.host}` sent no JSON", status=status) from exc
        said = self._safe(_said(body))
        message = f"`{self.host}` answered {status}{f': {said}' if said else ''}"
        raise CallFailed(
            _reason(status),
            message,
            status=status,
            retry_after_s=_retry_after_s(reply.headers.get("retry-after", "")),
        )

    def _safe(self, text: str) -> str:
        """Servers like to repeat the key they refuse."""
        if self._secret:
            text = text.replace(self._secret, "[key]")
        return " ".join(text.split())[:_SAID_CHARS]

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close_blocking()


def is_local(host: str) -> bool:
    """Tell whether a host name means this very machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _import_httpx() -> Any:
    import httpx

    return httpx


def _encoded(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _reason(status: int) -> Reason:
    if status in (401, 403, 404, 405) or 300 <= status < 400:
        return "denied"
    if status == 429:
        return "busy"
    if status == 408 or status >= 500:
        return "broken"
    return "rejected"


def _retry_after_s(header: str) -> float | None:
    # The form with a date is left to the ordinary pauses: clocks differ.
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _said(body: bytes) -> str:
    """Return the words of an error body: its message where it has one."""
    try:
        found = json.loads(body)
    except ValueError:
        return body[: 4 * _SAID_CHARS].decode("utf-8", "replace")
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
