"""Keeps a write for the next daemon when none can run now."""

from __future__ import annotations

from typing import Any

from hindsight_cli.context import AppContext
from hindsight_daemon import spool
from hindsight_daemon.clock import SystemClock
from hindsight_daemon.errors import DaemonUnavailable
from hindsight_daemon.protocol.document import Notice


def keep_for_later(
    context: AppContext, reason: DaemonUnavailable, method: str, params: dict[str, Any]
) -> Notice:
    """Spool a write durably and return the notice that says so."""
    call = spool.SpooledCall(method=method, params=params, client="cli")
    spool.put(context.paths, call, SystemClock().now())
    if context.options.verbose:
        context.output.note(reason.message)
    text = f"no daemon answers: kept in `{context.paths.spool_dir}` for the next one"
    return Notice(code="spooled", message=text)
