"""Who speaks over an MCP connection, and from where.

The identity comes from the connection, never from a tool's arguments: the name the connection
was opened with (`hindsight mcp --agent`, written by `hindsight setup`), else what the client calls
itself in its handshake. It is a label that keeps agents of one user apart, not a barrier against
a program of the same user that lies.
"""

from __future__ import annotations

import re

from hindsight_daemon.model import Record

UNNAMED = "mcp-client"
_UNWANTED = re.compile(r"[^a-z0-9._-]+")


class Reader(Record, frozen=True, kw_only=True):
    """The agent behind a connection; `cwd` tells its project, `connection` names the connection.

    `connection` stays the same when a relay connects anew after a restart of the daemon, so that a
    write that is sent twice is carried out once.
    """

    agent: str
    cwd: str = ""
    connection: str = ""


def agent_name(given: str, fallback: str = UNNAMED) -> str:
    """Return `given` as an agent's name: lower case, no spaces, at most 64 characters.

    An empty name, or one of nothing but wildcards, becomes `fallback`; it never widens anything.
    """
    return _UNWANTED.sub("-", given.lower()).strip("-.")[:64] or fallback
