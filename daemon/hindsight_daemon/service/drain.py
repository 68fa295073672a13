"""Carries out the writes that were spooled while no daemon ran."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from hindsight_daemon import spool
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.methods import METHODS
from hindsight_daemon.protocol.params import IngestParams
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.services import Services
from hindsight_daemon.service.table import BODIES

_log = logging.getLogger("hindsight.spool")


async def drain_spool(s: Services) -> int:
    """Carry out every waiting call once, in order; return how many were carried out.

    A call that fails for good is set aside with a warning in the status, one that may succeed
    later (`retryable`) stays where it is.
    """
    done = 0
    for file, call in spool.waiting(s.paths):
        try:
            if call is None or call.method not in BODIES or not METHODS[call.method].is_write:
                raise HindsightError(f"`{file.name}` is not a write")
            params = msgspec.convert(call.params, METHODS[call.method].params)
            await BODIES[call.method](s, params, Call(client=call.client))
        except (HindsightError, msgspec.ValidationError) as exc:
            if isinstance(exc, HindsightError) and exc.retryable:
                continue
            spool.set_aside(file)
            s.component_failures["spool"] = f"`{file.name}` was set aside: {exc}"
            _log.warning("spool.failed", extra={"facts": {"file": file.name}})
            continue
        _remove_piped(s, params)
        file.unlink(missing_ok=True)
        done += 1
    return done


def _remove_piped(s: Services, params: Document) -> None:
    # A transcript that was piped in while no daemon ran lies in the spool itself.
    if isinstance(params, IngestParams):
        for text in params.paths:
            path = Path(text)
            if path.parent == s.paths.spool_dir:
                path.unlink(missing_ok=True)
