"""Who is at the other end of a Unix socket, as the kernel knows it.

Both ends ask: the daemon serves its own user only, and a client hands its texts to no daemon of
somebody else who was quicker to put a socket into a shared folder. Imported by the hot path of
the command line: `socket` and `sys` only.
"""

from __future__ import annotations

import socket
import sys

_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def peer_uid(sock: socket.socket) -> int:
    """Return the user id of the process at the other end of a connected socket."""
    if sys.platform == "linux":
        # struct ucred: pid, uid, gid.
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:
        # struct xucred of macOS: version, uid, then groups.
        raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128)
    return int.from_bytes(raw[4:8], sys.byteorder)
