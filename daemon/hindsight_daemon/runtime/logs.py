"""The daemon's log: one JSON object a line, ids and counts but never content."""

from __future__ import annotations

import json
import logging
import logging.handlers
import sys
import traceback
from datetime import UTC, datetime

from hindsight_daemon.paths import Paths

_MAX_BYTES = 5 * 1024 * 1024
_BACKUPS = 5
_SYSLOG_PRIORITY = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


class JsonFormatter(logging.Formatter):
    """Formats a record with its `extra` fields as one JSON object."""

    def __init__(self, *, with_priority: bool) -> None:
        super().__init__()
        self._with_priority = with_priority

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        body: dict[str, object] = {"at": at, "level": record.levelname.lower()}
        body |= {"event": record.getMessage(), "logger": record.name}
        body |= getattr(record, "facts", {})
        if record.exc_info:
            body["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        line = json.dumps(body, ensure_ascii=False, default=str)
        return f"<{_SYSLOG_PRIORITY[record.levelname]}>{line}" if self._with_priority else line


def set_up_logging(paths: Paths, level: str, *, managed: bool) -> None:
    """Log to the rotated file, or to stderr with priorities under a service manager."""
    handler: logging.Handler
    if managed:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.handlers.RotatingFileHandler(
            paths.log_file, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8"
        )
    handler.setFormatter(JsonFormatter(with_priority=managed))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("hindsight").setLevel(level.upper())


def facts(**values: object) -> dict[str, dict[str, object]]:
    """Return the `extra` argument that carries fields into a log line."""
    return {"facts": values}
