"""`events.subscribe`: what happens in the daemon, told as it happens."""

from __future__ import annotations

from hindsight_daemon.errors import DaemonUnavailable
from hindsight_daemon.protocol.documents import Ack
from hindsight_daemon.protocol.params import NoParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.services import Services


async def subscribe(s: Services, _params: NoParams, call: Call) -> Ack:
    """Notify the caller until the call is cancelled or its connection ends."""
    if s.read_only:
        raise DaemonUnavailable("nothing is seen or learned without a daemon")
    with s.happenings.listening() as listener:
        await call.notify(s.happenings.happening("watch.started", {"roots": list(s.watching)}))
        while True:
            await call.notify(await listener.take())
