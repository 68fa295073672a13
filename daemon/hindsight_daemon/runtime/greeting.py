"""The answer to `hello`, the same over the socket and over pipes."""

from __future__ import annotations

import os
from datetime import datetime

from hindsight_daemon.protocol.handshake import HelloParams, HelloResult, choose_protocol
from hindsight_daemon.version import VERSION


def greet(
    params: HelloParams, *, instance: str, started_at: datetime, state: str, managed_by: str
) -> HelloResult:
    """Agree on a protocol and say who answers; raises `ProtocolMismatch`."""
    return HelloResult(
        protocol=choose_protocol(params.protocol, params.required),
        version=VERSION,
        instance=instance,
        pid=os.getpid(),
        started_at=started_at.isoformat(),
        state=state,
        managed_by=managed_by,
    )
