"""Keeps one model in memory while it is used, and remembers why it could not be loaded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from hindsight_daemon.errors import EmbedderUnavailable

Model = TypeVar("Model")

RETRY_AFTER_S = 600.0
"""A model that failed to load is not tried again before."""


class Slot(Generic[Model]):
    """A model that is loaded by the first thread that needs it, once; the others wait for it.

    Uses may overlap. `monotonic` gives seconds. A model that is dropped while in use leaves
    memory when the last use ends.
    """

    def __init__(self, load: Callable[[], Model], monotonic: Callable[[], float]) -> None:
        self._load = load
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._model: Model | None = None
        self._uses = 0
        self._used_at = monotonic()
        self._failed_at = 0.0
        self._failure: EmbedderUnavailable | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    @property
    def problem(self) -> str:
        """Why the model could not be loaded at the last attempt; empty if it could."""
        failure = self._failure
        return failure.message if failure else ""

    @contextlib.contextmanager
    def use(self) -> Iterator[Model]:
        """Give the model, loaded if need be; raises `EmbedderUnavailable`, at once if it just did.

        Blocks for as long as loading takes.
        """
        with self._lock:
            model = self._loaded()
            self._uses += 1
        try:
            yield model
        finally:
            with self._lock:
                self._uses -= 1
                self._used_at = self._monotonic()

    def _loaded(self) -> Model:
        if self._model is not None:
            return self._model
        if self._failure is not None and self._monotonic() - self._failed_at < RETRY_AFTER_S:
            raise EmbedderUnavailable(self._failure.message, hint=self._failure.hint)
        try:
            self._model = self._load()
        except EmbedderUnavailable as exc:
            self._failure, self._failed_at = exc, self._monotonic()
            raise
        self._failure = None
        return self._model

    def drop(self) -> bool:
        """Let go of the model; return whether there was one."""
        with self._lock:
            model, self._model = self._model, None
            is_used = self._uses > 0
        _let_go(model, is_used=is_used)
        return model is not None

    def drop_if_idle(self, now: float, idle_s: float) -> bool:
        """Let go of the model if nobody has used it for `idle_s`; return whether that was done."""
        with self._lock:
            if self._model is None or self._uses or now - self._used_at < idle_s:
                return False
            model, self._model = self._model, None
        _let_go(model, is_used=False)
        return True


def _let_go(model: object, *, is_used: bool) -> None:
    """Close a model that holds connections; one still in use is left to its last user's end."""
    close = getattr(model, "close", None)
    if close is not None and not is_used:
        close()
