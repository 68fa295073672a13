"""The life of the daemon from lock to unlock; reads as a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import time
import uuid

from hindsight_daemon.clock import SystemClock
from hindsight_daemon.config import Settings
from hindsight_daemon.errors import DaemonStarting, HindsightError, UsageProblem
from hindsight_daemon.paths import Paths, ensure_private_dir
from hindsight_daemon.process import rss_bytes
from hindsight_daemon.protocol.document import Document, Notice
from hindsight_daemon.protocol.documents import Ack, HttpResult, StatusResult
from hindsight_daemon.protocol.handshake import HelloParams
from hindsight_daemon.protocol.params import HttpParams, NoParams, ShutdownParams
from hindsight_daemon.runtime import background, listener, notify
from hindsight_daemon.runtime.discovery import remove_discovery, write_discovery
from hindsight_daemon.runtime.dispatch import Dispatcher
from hindsight_daemon.runtime.greeting import greet
from hindsight_daemon.runtime.lock import LifetimeLock, acquire_lifetime_lock
from hindsight_daemon.runtime.logs import facts, set_up_logging
from hindsight_daemon.runtime.mcp_side import McpSide
from hindsight_daemon.runtime.server import Server
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.services import Services, open_services
from hindsight_daemon.service.table import handlers_of
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

_log = logging.getLogger("hindsight.daemon")
GRACE_S = 5.0
_IDLE_CHECK_S = 0.25
_REOPEN_S = 2.0


def report_ready(fd: int | None, line: bytes) -> None:
    """Tell whoever spawned us, through the readiness pipe, and close it."""
    if fd is not None:
        with contextlib.suppress(OSError):
            os.write(fd, line + b"\n")
            os.close(fd)


class Daemon:
    """State of the running process that status, hello and shutdown speak of."""

    def __init__(self, paths: Paths, settings: Settings) -> None:
        self.paths = paths
        self.settings = settings
        self.instance = uuid.uuid4().hex
        self.started = time.monotonic()
        self.started_at = SystemClock().now()
        self.managed_by = notify.manager()
        self.dispatcher = Dispatcher()
        self.server = Server(self.dispatcher)
        self.services: Services | None = None
        self.mcp: McpSide | None = None
        self.stop = asyncio.Event()
        self.stop_when_idle = False
        self.socket_path = str(paths.socket)
        self.dispatcher.handlers |= {
            "hello": self.hello,
            "daemon.status": self.status,
            "daemon.shutdown": self.shutdown,
        }

    @property
    def state(self) -> str:
        """`starting`, `ready`, `failed` or `stopping`."""
        if self.stop.is_set() or self.stop_when_idle:
            return "stopping"
        if self.dispatcher.failure is not None:
            return "failed"
        return "starting" if self.services is None else "ready"

    async def hello(self, params: HelloParams, _call: Call) -> Document:
        """Agree on a protocol."""
        return greet(
            params,
            instance=self.instance,
            started_at=self.started_at,
            state=self.state,
            managed_by=self.managed_by,
        )

    async def status(self, _params: NoParams, _call: Call) -> Document:
        """Say how the daemon is; never waits for the store."""
        result = StatusResult(
            pid=os.getpid(),
            state=self.state,
            version=VERSION,
            socket=self.socket_path,
            instance=self.instance,
            protocol=PROTOCOL_VERSIONS[-1],
            uptime_s=round(time.monotonic() - self.started, 3),
            rss_bytes=rss_bytes(),
            managed_by=self.managed_by,
            log=str(self.paths.log_file),
        )
        if self.services is not None:
            await self.services.describe(result)
        elif self.dispatcher.failure is not None:
            failure = self.dispatcher.failure
            result.warnings.append(Notice(code=failure.code, message=failure.message))
        return result

    async def shutdown(self, params: ShutdownParams, _call: Call) -> Document:
        """Stop now, or as soon as no call runs."""
        # The next client must not find a daemon that is about to go.
        remove_discovery(self.paths, self.instance)
        if params.when == "idle":
            self.stop_when_idle = True
        else:
            asyncio.get_running_loop().call_later(0.01, self.stop.set)
        return Ack(message=f"daemon {os.getpid()} is stopping")

    async def open(self) -> None:
        """Load the store and begin to answer; until it opens, calls are answered with the failure.

        Tried again and again: a disk is freed, a mode is mended, and nobody restarts a daemon.
        """
        while self.services is None:
            try:
                self.services = await open_services(self.paths, self.settings, SystemClock())
            except HindsightError as exc:
                former, self.dispatcher.failure = self.dispatcher.failure, exc
                if former is None or former.message != exc.message:
                    _log.error("store.failed", extra=facts(code=exc.code, reason=exc.message))
                await asyncio.sleep(_REOPEN_S)
        self.dispatcher.failure = None
        self.services.stop_when_idle = self._request_idle_stop
        handlers = handlers_of(self.services)
        self.mcp = McpSide(handlers, self.paths, self.settings.mcp)
        self.server.open_tunnel = self.mcp.open_tunnel
        self.dispatcher.handlers["mcp.serve_http"] = self.serve_http
        self.dispatcher.handlers.update(handlers)
        _log.info("daemon.ready", extra=facts(after_s=round(time.monotonic() - self.started, 2)))

    async def serve_http(self, params: HttpParams, _call: Call) -> Document:
        """Serve MCP over HTTP from now on."""
        if params.port is not None and not 0 <= params.port <= 65535:
            raise UsageProblem(f"port {params.port} is not between 0 and 65535")
        if self.mcp is None:
            raise DaemonStarting("the daemon is loading its store")
        side = await self.mcp.serve_http(params.port)
        base = f"http://127.0.0.1:{side.port}"
        return HttpResult(
            url=f"{base}/mcp",
            sse_url=f"{base}/sse",
            port=side.port,
            token_file=str(side.token_file),
        )

    async def serve_configured_http(self) -> None:
        """Open the HTTP endpoint if the settings ask for it; what is wrong shows in the status."""
        if self.mcp is None or self.services is None or not self.settings.mcp.http:
            return
        try:
            await self.mcp.serve_http(None)
        except HindsightError as exc:
            self.services.component_failures["http"] = exc.message
            _log.error("http.failed", extra=facts(code=exc.code, reason=exc.message))

    def _request_idle_stop(self) -> None:
        self.stop_when_idle = True

    async def watch_idle(self) -> None:
        """End the process when it was asked to leave in a quiet moment, or after long silence."""
        limit_s = self.settings.daemon.idle_exit_s
        while not self.stop.is_set():
            await asyncio.sleep(_IDLE_CHECK_S)
            activity = self.server.activity
            silent_s = time.monotonic() - activity.last_call_at
            if activity.calls == 0 and (
                (self.stop_when_idle and silent_s > _IDLE_CHECK_S)
                or (limit_s and silent_s > limit_s and activity.connections == 0)
            ):
                self.stop.set()


async def _keep_alive() -> None:
    interval_s = notify.watchdog_interval_s()
    while interval_s:
        notify.notify("WATCHDOG=1")
        await asyncio.sleep(interval_s)


def _catch_signals(daemon: Daemon) -> None:
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if daemon.stop.is_set():
            # Asked twice: going down at once is safe, every acknowledged write is on disk.
            os._exit(128 + number)
        _log.info("daemon.signal", extra=facts(signal=number))
        daemon.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


async def _live(daemon: Daemon, sock: socket.socket, ready_fd: int | None) -> None:
    _catch_signals(daemon)
    await daemon.server.start(sock)
    discovery = {
        "socket": daemon.socket_path,
        "pid": os.getpid(),
        "instance": daemon.instance,
        "version": VERSION,
        "protocol": PROTOCOL_VERSIONS[-1],
        "managed_by": daemon.managed_by,
    }
    write_discovery(daemon.paths, discovery)
    report_ready(ready_fd, b"ready")
    notify.notify("READY=1", f"STATUS=listening on {daemon.socket_path}")
    tasks = [asyncio.create_task(_keep_alive()), asyncio.create_task(daemon.watch_idle())]
    opening = asyncio.create_task(daemon.open())
    stopping = asyncio.create_task(daemon.stop.wait())
    await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if daemon.services is not None and not daemon.stop.is_set():
        services = daemon.services
        for name, component in background.components(services).items():
            tasks.append(asyncio.create_task(background.supervise(name, component, services)))
        tasks.append(asyncio.create_task(daemon.serve_configured_http()))
    await stopping
    notify.notify("STOPPING=1")
    _log.info("daemon.stopping")
    remove_discovery(daemon.paths, daemon.instance)
    await daemon.server.stop(grace_s=GRACE_S)
    if daemon.mcp is not None:
        await daemon.mcp.close()
    for task in [*tasks, opening]:
        task.cancel()
    await asyncio.gather(*tasks, opening, return_exceptions=True)
    if daemon.services is not None:
        await daemon.services.close()


def _prepare(paths: Paths, settings: Settings) -> LifetimeLock:
    for folder in (paths.data_dir, paths.state_dir, paths.cache_dir):
        ensure_private_dir(folder)
    set_up_logging(paths, settings.daemon.log_level, managed=notify.manager() == "systemd")
    facts_of_holder: dict[str, object] = {"pid": os.getpid(), "version": VERSION}
    return acquire_lifetime_lock(paths.lock_file, facts_of_holder)


def run(paths: Paths, settings: Settings, *, ready_fd: int | None = None) -> int:
    """Be the daemon until asked to stop; returns the exit code.

    Errors before the socket listens go to the readiness pipe as an error object and to stderr.
    """
    try:
        lock = _prepare(paths, settings)
        inherited = listener.inherited_socket()
        sock = inherited or listener.listen(paths.socket)
    except HindsightError as exc:
        told = {"code": exc.code, "message": exc.message, "hint": exc.hint}
        report_ready(ready_fd, json.dumps(told).encode())
        print(f"error: {exc.message}", file=sys.stderr)  # noqa: T201 - no terminal side here
        return exc.exit_code
    inode = 0 if inherited else os.lstat(paths.socket).st_ino
    try:
        asyncio.run(_main(paths, settings, sock, ready_fd))
    finally:
        if inode:
            listener.unlink_own(paths.socket, inode)
        lock.release()
    return 0


async def _main(
    paths: Paths, settings: Settings, sock: socket.socket, ready_fd: int | None
) -> None:
    await _live(Daemon(paths, settings), sock, ready_fd)
