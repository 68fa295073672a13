"""Blocking, typed client of the daemon; starts the daemon when none runs.

Public. One connection, one call at a time; not for sharing between threads. Results are the
documents of `protocol.documents`, readable by attribute or by key.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

import msgspec

from hindsight_daemon.errors import (
    BadFrame,
    DaemonStarting,
    DaemonUnavailable,
    DeadlineExceeded,
    UsageProblem,
)
from hindsight_daemon.launch import connect_socket, ensure_running, probe
from hindsight_daemon.paths import Paths, resolve_paths
from hindsight_daemon.protocol.conflict_documents import ConflictsResult, ResolveResult
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import (
    Ack,
    DoctorResult,
    DropResult,
    ForgetResult,
    Happening,
    HttpResult,
    IngestResult,
    JudgeResult,
    JudgeTryResult,
    ListResult,
    MemoryDocument,
    ModelListResult,
    QuarantineResult,
    RecallResult,
    ReleaseResult,
    RememberResult,
    SearchResult,
    StatsResult,
    StatusResult,
    UnforgetResult,
    WhyResult,
)
from hindsight_daemon.protocol.envelope import Reply, Request, encode_line, raise_error
from hindsight_daemon.protocol.frames import MAX_FRAME_BYTES, LineBuffer
from hindsight_daemon.protocol.handshake import HelloParams, HelloResult
from hindsight_daemon.protocol.methods import METHODS
from hindsight_daemon.protocol.params import Progress
from hindsight_daemon.protocol.session_documents import SessionDocument, SummarizeResult
from hindsight_daemon.protocol.upkeep_documents import (
    ConsolidateResult,
    ReindexResult,
    WorkingResult,
)

R = TypeVar("R", bound=Document)
HELLO_TIMEOUT_S = 10.0
"""A daemon greets at once whatever it does; one that takes this long hangs."""
_STARTING_POLL_S = 0.05
OnProgress = Callable[[Progress], None]


class Transport(Protocol):
    """A byte stream to a daemon."""

    def send(self, data: bytes) -> None:
        """Write all of `data`."""

    def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end of the stream; TimeoutError if none come."""

    def close(self) -> None:
        """Release it."""


class SocketTransport:
    """A connected Unix socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, data: bytes) -> None:
        """Write all of `data`."""
        self._socket.sendall(data)

    def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end of the stream; TimeoutError if none come."""
        self._socket.settimeout(timeout_s)
        return self._socket.recv(1 << 18)

    def close(self) -> None:
        """Release it."""
        self._socket.close()


class _Message(msgspec.Struct):
    # Either a reply (id, result or error) or a notification (method, params).
    id: int | str | None = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = msgspec.UNSET
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Client:
    """A connection to the daemon, opened on first use.

    Args:
        socket: Path of the daemon's socket; found by the environment if None.
        timeout_s: Longest wait for one answer; long calls that report progress renew it.
        autostart: Start a daemon if none runs.
        agent: Identity under which an agent reads and writes; empty for a person.
        transport: A ready byte stream in place of a socket.
    """

    def __init__(
        self,
        *,
        socket: str | os.PathLike[str] | None = None,
        timeout_s: float = 60.0,
        autostart: bool = True,
        hello_timeout_s: float = HELLO_TIMEOUT_S,
        client_name: str = "python",
        agent: str = "",
        transport: Transport | None = None,
        paths: Paths | None = None,
    ) -> None:
        self._socket_path = Path(socket) if socket is not None else None
        self._paths = paths
        self._timeout_s = timeout_s
        self._hello_timeout_s = hello_timeout_s
        self._autostart = autostart
        self._client_name = client_name
        self._agent = agent
        self._transport = transport
        self._buffer = LineBuffer(MAX_FRAME_BYTES + 1)
        self._messages: list[bytes] = []
        self._next_id = 0
        self.hello: HelloResult | None = None

    def __enter__(self) -> Client:
        self.open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> HelloResult:
        """Connect and shake hands; does nothing if that is done."""
        if self.hello is None:
            if self._transport is None:
                self._transport = SocketTransport(self._connect())
            self.hello = self.call(
                "hello",
                msgspec.structs.asdict(
                    HelloParams(
                        client=self._client_name,
                        agent=self._agent,
                        cwd=_folder() if self._agent else "",
                        pid=os.getpid(),
                    )
                ),
                HelloResult,
                timeout_s=min(self._timeout_s, self._hello_timeout_s),
            )
        return self.hello

    def _connect(self) -> socket.socket:
        path = self._socket_path
        if path is None:
            paths = self._paths or resolve_paths()
            path = (ensure_running(paths) if self._autostart else probe(paths)).socket
        try:
            return connect_socket(path, self._timeout_s)
        except OSError as exc:
            raise DaemonUnavailable(
                f"cannot connect to `{path}`: {exc.strerror or exc}",
                hint="`hindsight daemon start`",
            ) from exc

    def close(self) -> None:
        """Close the connection; a call that is under way is given up."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self.hello = None

    def call(
        self,
        method: str,
        params: dict[str, Any],
        result: type[R],
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Carry out one call; raises the `HindsightError` the daemon answers with.

        While a daemon that was just started loads its store, the call is repeated until it is
        accepted or its time is over: `daemon.starting` means that nothing was done.
        """
        give_up = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        while True:
            try:
                return self._call_once(method, params, result, on_progress, timeout_s)
            except DaemonStarting:
                if time.monotonic() > give_up:
                    raise
                select.select([], [], [], _STARTING_POLL_S)

    def _call_once(
        self,
        method: str,
        params: dict[str, Any],
        result: type[R],
        on_progress: OnProgress | None,
        timeout_s: float | None,
    ) -> R:
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        request_id, body = self._request(method, params)
        transport = cast(Transport, self._transport)
        try:
            transport.send(body)
            return self._await(transport, request_id, method, result, on_progress, limit_s)
        except (BrokenPipeError, ConnectionError) as exc:
            self.close()
            raise DaemonUnavailable(f"the daemon went away: {exc}") from exc
        except KeyboardInterrupt:
            self.close()
            raise

    def _request(self, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        # The number and the line of a new request on an open connection.
        if self._transport is None:
            self.open()
        self._next_id += 1
        request_id = self._next_id
        body = encode_line(
            Request(method=method, params=msgspec.Raw(msgspec.json.encode(params)), id=request_id)
        )
        if len(body) > MAX_FRAME_BYTES:
            raise UsageProblem(f"the request is longer than {MAX_FRAME_BYTES} bytes")
        return request_id, body

    def _notified(self, method: str) -> Iterator[Happening]:
        # Events of a stream until the daemon ends it, which is by an error or by going.
        request_id, body = self._request(method, {})
        transport = cast(Transport, self._transport)
        try:
            transport.send(body)
            while True:
                while self._messages:
                    message = _decode(self._messages.pop(0))
                    if message.method == "event":
                        yield msgspec.json.decode(message.params, type=Happening)
                    elif message.id == request_id:
                        _result(message, Ack)
                        return
                with contextlib.suppress(TimeoutError):
                    data = transport.receive(self._timeout_s)
                    if not data:
                        raise DaemonUnavailable("the daemon has stopped")
                    self._messages.extend(self._buffer.feed(data))
        except ConnectionError as exc:
            raise DaemonUnavailable(f"the daemon went away: {exc}") from exc
        finally:
            # Whatever else was under way on this connection would be mixed into later answers.
            self.close()

    def _await(
        self,
        transport: Transport,
        request_id: int,
        method: str,
        result: type[R],
        on_progress: OnProgress | None,
        timeout_s: float,
    ) -> R:
        deadline = time.monotonic() + timeout_s
        while True:
            while self._messages:
                message = _decode(self._messages.pop(0))
                if message.method == "progress":
                    deadline = time.monotonic() + timeout_s
                    if on_progress is not None:
                        on_progress(msgspec.json.decode(message.params, type=Progress))
                elif message.id == request_id or (message.id is None and not message.method):
                    return _result(message, result)
            try:
                data = transport.receive(max(0.001, deadline - time.monotonic()))
            except TimeoutError:
                self.close()
                raise DeadlineExceeded(f"no answer to `{method}` within {timeout_s:g} s") from None
            if not data:
                self.close()
                raise DaemonUnavailable("the daemon closed the connection")
            self._messages.extend(self._buffer.feed(data))

    def _verb(self, method: str, result: type[R], params: dict[str, Any], **options: Any) -> R:
        known = METHODS[method].params.__struct_fields__
        for name in params:
            if name not in known:
                raise UsageProblem(f"`{method}` has no parameter `{name}`")
        return self.call(method, params, result, **options)

    def recall(self, query: str, **params: Any) -> RecallResult:
        """Return ranked memories; see `RecallParams`."""
        return self._verb("memory.recall", RecallResult, {"query": query, **params})

    def remember(self, text: str, **params: Any) -> RememberResult:
        """Keep a memory; see `RememberParams`."""
        return self._verb("memory.remember", RememberResult, {"text": text, **params})

    def show(self, id: str, **params: Any) -> MemoryDocument:
        """Return one memory whole."""
        return self._verb("memory.show", MemoryDocument, {"id": id, **params})

    def list(self, **params: Any) -> ListResult:
        """Return memories newest first; see `ListParams`."""
        return self._verb("memory.list", ListResult, params)

    def why(self, id: str) -> WhyResult:
        """Return where a memory comes from."""
        return self._verb("memory.why", WhyResult, {"id": id})

    def consolidate(
        self, *, on_progress: OnProgress | None = None, **params: Any
    ) -> ConsolidateResult:
        """Close tasks that are over and generalise lessons; see `ConsolidateParams`."""
        return self._verb("memory.consolidate", ConsolidateResult, params, on_progress=on_progress)

    def reindex(self, *, on_progress: OnProgress | None = None, **params: Any) -> ReindexResult:
        """Make derived data anew; see `ReindexParams`."""
        return self._verb("store.reindex", ReindexResult, params, on_progress=on_progress)

    def working(self, session_id: str = "", **params: Any) -> WorkingResult:
        """Return the live state of sessions; see `WorkingParams`."""
        return self._verb("memory.working", WorkingResult, {"session_id": session_id, **params})

    def search(self, text: str, **params: Any) -> SearchResult:
        """Return events that hold a text; see `SearchParams`."""
        return self._verb("event.search", SearchResult, {"text": text, **params})

    def happenings(self) -> Iterator[Happening]:
        """Yield what the daemon sees and learns from now on; raises when the daemon goes.

        The first one, `watch.started`, tells that nothing will be missed from here. The connection
        serves no other call meanwhile and is closed afterwards.
        """
        while True:
            try:
                yield from self._notified("events.subscribe")
                return
            except DaemonStarting:
                select.select([], [], [], _STARTING_POLL_S)

    def forget(self, ids: tuple[str, ...], **params: Any) -> ForgetResult:
        """Remove memories and keep their text out; see `ForgetParams`."""
        return self._verb("memory.forget", ForgetResult, {"ids": tuple(ids), **params})

    def unforget(self, ids: tuple[str, ...], **params: Any) -> UnforgetResult:
        """Lift tombstones; see `UnforgetParams`."""
        return self._verb("memory.unforget", UnforgetResult, {"ids": tuple(ids), **params})

    def quarantine(self, **params: Any) -> QuarantineResult:
        """Return what waits for a person to decide; see `QuarantineParams`."""
        return self._verb("audit.quarantine", QuarantineResult, params)

    def release(self, ids: tuple[str, ...], **params: Any) -> ReleaseResult:
        """Let in what was held; see `HeldParams`."""
        return self._verb("audit.release", ReleaseResult, {"ids": tuple(ids), **params})

    def drop(self, ids: tuple[str, ...], **params: Any) -> DropResult:
        """Refuse what was held for good; see `HeldParams`."""
        return self._verb("audit.drop", DropResult, {"ids": tuple(ids), **params})

    def conflicts(self, **params: Any) -> ConflictsResult:
        """Return pairs of memories that cannot both hold; see `ConflictsParams`."""
        return self._verb("audit.conflicts", ConflictsResult, params)

    def resolve(self, ids: tuple[str, ...], decision: str, **params: Any) -> ResolveResult:
        """Decide the conflicts of memories; see `ResolveParams`."""
        body = {"ids": tuple(ids), "decision": decision, **params}
        return self._verb("audit.resolve", ResolveResult, body)

    def ingest(
        self, paths: tuple[str, ...] = (), *, on_progress: OnProgress | None = None, **params: Any
    ) -> IngestResult:
        """Read transcripts; see `IngestParams`. No paths: the agents' own folders."""
        body = {"paths": tuple(os.fspath(path) for path in paths), **params}
        return self._verb("ingest.run", IngestResult, body, on_progress=on_progress)

    def sync(self, *, on_progress: OnProgress | None = None, **params: Any) -> Ack:
        """Wait for background work; see `SyncParams`."""
        timeout_s = float(params.get("timeout_s", 600.0)) + 5
        return self._verb("daemon.sync", Ack, params, on_progress=on_progress, timeout_s=timeout_s)

    def serve_http(self, *, port: int | None = None) -> HttpResult:
        """Let the daemon serve MCP over HTTP on loopback; returns where and the token's file."""
        return self._verb("mcp.serve_http", HttpResult, {"port": port})

    def session(self, session_id: str) -> SessionDocument:
        """Return one agent session and the memories made of it."""
        return self._verb("session.show", SessionDocument, {"session_id": session_id})

    def summarize(self, session_id: str, **params: Any) -> SummarizeResult:
        """Make episodes of a session as far as it has gone."""
        params = {"session_id": session_id, **params}
        return self._verb("session.summarize", SummarizeResult, params)

    def status(self) -> StatusResult:
        """Return how the daemon is."""
        return self._verb("daemon.status", StatusResult, {})

    def stats(self, **params: Any) -> StatsResult:
        """Counts and sizes; options are the fields of `StatsParams`."""
        return self._verb("store.stats", StatsResult, params)

    def judge(self) -> JudgeResult:
        """The language model that is asked, its queue and its budget."""
        return self._verb("judge.show", JudgeResult, {})

    def judge_try(self, *, on_progress: OnProgress | None = None, **params: Any) -> JudgeTryResult:
        """Ask the language model about a task; nothing is stored."""
        return self._verb("judge.try", JudgeTryResult, params, on_progress=on_progress)

    def judge_check(self, *, on_progress: OnProgress | None = None) -> DoctorResult:
        """Ask the language model whether it answers."""
        return self._verb("judge.check", DoctorResult, {}, on_progress=on_progress)

    def check(self) -> DoctorResult:
        """Scan the store for damage."""
        return self._verb("store.check", DoctorResult, {})

    def sources(self) -> DoctorResult:
        """Return what the transcripts of each source came to, and what is wrong with them."""
        return self._verb("ingest.sources", DoctorResult, {})

    def models(self) -> ModelListResult:
        """Return the models there are."""
        return self._verb("model.list", ModelListResult, {})

    def model_install(
        self, name: str, *, allow_download: bool = False, on_progress: OnProgress | None = None
    ) -> Ack:
        """Make a model usable."""
        params = {"name": name, "allow_download": allow_download}
        return self._verb("model.install", Ack, params, on_progress=on_progress, timeout_s=3600.0)

    def shutdown(self, *, when: str = "now") -> Ack:
        """Ask the daemon to stop."""
        return self._verb("daemon.shutdown", Ack, {"when": when})


def _folder() -> str:
    with contextlib.suppress(OSError):
        return str(Path.cwd())
    return ""


def _decode(line: bytes) -> _Message:
    try:
        return msgspec.json.decode(line, type=_Message)
    except msgspec.MsgspecError as exc:
        raise BadFrame(f"the daemon sent something that is no answer: {exc}") from exc


def _result(message: _Message, result: type[R]) -> R:
    if message.error is not msgspec.UNSET:
        raise_error(msgspec.convert({"id": None, "error": message.error}, Reply).error)  # type: ignore[arg-type]
    return msgspec.json.decode(cast(msgspec.Raw, message.result), type=result)
