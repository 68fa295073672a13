"""The `hello` exchange: protocol range, named capabilities, limits.

Public. `hello` must be the first message of a connection; it may be pipelined with the first
request, so that a call costs one round trip.
"""

from __future__ import annotations

from msgspec import field

from hindsight_daemon.errors import ProtocolMismatch
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.frames import MAX_FRAME_BYTES
from hindsight_daemon.version import PROTOCOL_VERSIONS, VERSION

CAPABILITIES: tuple[str, ...] = ("idempotency", "progress", "cancel", "events")


class ProtocolRange(Document, kw_only=True):
    """Lowest and highest protocol number a client speaks."""

    min: int
    max: int


class HelloParams(Document, kw_only=True):
    """Who calls and what it needs.

    `agent` is the identity of a client that is an agent: it then sees no private memories of
    others and does not speak with a person's authority. `cwd` tells an agent's project.
    """

    client: str
    agent: str = ""
    cwd: str = ""
    version: str = VERSION
    pid: int = 0
    protocol: ProtocolRange = field(
        default_factory=lambda: ProtocolRange(min=PROTOCOL_VERSIONS[0], max=PROTOCOL_VERSIONS[-1])
    )
    required: tuple[str, ...] = ()


class HelloResult(Document, kw_only=True):
    """Who answers and what it can do."""

    protocol: int
    version: str
    instance: str
    pid: int
    started_at: str
    state: str
    capabilities: tuple[str, ...] = CAPABILITIES
    max_frame_bytes: int = MAX_FRAME_BYTES
    managed_by: str = "self"


def choose_protocol(wanted: ProtocolRange, required: tuple[str, ...] = ()) -> int:
    """Return the highest common protocol; raises `ProtocolMismatch` if there is none."""
    common = [n for n in PROTOCOL_VERSIONS if wanted.min <= n <= wanted.max]
    if not common:
        raise ProtocolMismatch(
            f"the client speaks protocol {wanted.min} to {wanted.max}, "
            f"the daemon {PROTOCOL_VERSIONS[0]} to {PROTOCOL_VERSIONS[-1]}"
        )
    missing = sorted(set(required) - set(CAPABILITIES))
    if missing:
        raise ProtocolMismatch(f"the daemon lacks: {', '.join(missing)}")
    return common[-1]
