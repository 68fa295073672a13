"""A real HTTP server on this machine that stands where a language model or an embedder would.

Replies are given out in order, the last one again and again; what was asked is kept. A reply may
be late: it then waits until the server closes, so that no test waits for real time.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Reply:
    """What to answer; `never` sends nothing, `stalls` only the beginning of the body."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    stalls: bool = False
    drops: bool = False


Answering = Reply | Callable[[Asked], Reply]


class ModelServer:
    """The running server; `url` is its address."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: list[Answering] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                outer.answer(self, json.loads(self.rfile.read(length) or b"null"))

            def log_message(self, *_: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # Whoever waits in `never` is let go first; closing must not wait for idle connections.
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def will(self, *replies: Answering) -> ModelServer:
        """Set the replies to come; returns itself."""
        with self._lock:
            self.replies = list(replies)
        return self

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        """Carry out the next reply."""
        asked = Asked(handler.path, dict(handler.headers.items()), body)
        with self._lock:
            self.asked.append(asked)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if not isinstance(reply, Reply):
            reply = reply(asked)
        if reply.never:
            self._over.wait(30)
            handler.close_connection = True
            return
        if reply.drops:
            handler.close_connection = True
            return
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        if reply.stalls:
            handler.wfile.write(data[: len(data) // 2])
            handler.wfile.flush()
            self._over.wait(30)
            handler.close_connection = True
            return
        handler.wfile.write(data)

    def close(self) -> None:
        """Let go of whoever waits and end."""
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextlib.contextmanager
def model_server(*replies: Answering) -> Iterator[ModelServer]:
    """Give a server with these replies."""
    server = ModelServer().will(*replies)
    try:
        yield server
    finally:
        server.close()


def chat(content: Any, *, tokens: tuple[int, int] = (100, 20), finish: str = "stop") -> Reply:
    """Return what an OpenAI-compatible endpoint answers when the model says `content`."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Reply(
        {
            "id": "c1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
        }
    )
