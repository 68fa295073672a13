"""OpenHands: where its events are and how they are told; reading is `openhands_parser`'s.

Every event is a file of its own (V0 and V1), a line of an event log, or an entry of an exported
trajectory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hindsight_daemon.sources.fields import string
from hindsight_daemon.sources.openhands_parser import (
    AGENT,
    BASE_STATE,
    OpenHandsParser,
    TrajectoryParser,
)
from hindsight_daemon.sources.port import Parser, TranscriptContext
from hindsight_daemon.sources.recognition import FULL, has, line_share

_EVENT_FILE = re.compile(r"(?:event-)?\d+(?:-[\w-]+)?\.json")
_KINDS = ("Event", "Observation", "Action", "Condensation", "Request")


def _weigh(record: dict[str, Any]) -> float:
    if string(record.get("kind")).endswith(_KINDS) and "source" in record:
        return 2
    if isinstance(record.get("history"), list) and {"instruction", "metrics"} & record.keys():
        return 2
    is_old = "action" in record or "observation" in record
    is_own = {"source", "message", "args", "extras", "cause"} & record.keys()
    return float(is_old and bool(is_own) and "role" not in record and "type" not in record)


class OpenHands:
    """Events one a line, or one a file."""

    name = AGENT
    parser_version = 1
    container: Literal["lines", "document"] = "lines"

    def score(self, head: str, path: str) -> float:
        """Rate a beginning by the share of events and of evaluation records."""
        return line_share(head, path, _weigh, hint="/.openhands/")

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folder of conversations and the older one of sessions."""
        if env.get("OPENHANDS_CONVERSATIONS_DIR"):
            return [Path(env["OPENHANDS_CONVERSATIONS_DIR"])]
        base = home / ".openhands"
        return [base / "conversations", base / "sessions", home / ".openhands-state" / "sessions"]

    def matches(self, path: Path) -> bool:
        """Accept files of single events, and logs of them."""
        if path.parent.name == "events":
            return bool(_EVENT_FILE.fullmatch(path.name))
        return path.name in ("events.jsonl", "output.jsonl")

    def side_files(self, path: Path) -> tuple[Path, ...]:
        """Name the state of the conversation."""
        is_event = path.parent.name == "events"
        return ((path.parent if is_event else path).with_name(BASE_STATE),)

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser."""
        return OpenHandsParser(context)


class OpenHandsDocument(OpenHands):
    """Exported trajectories, and files of single events that were formatted over many lines."""

    name = f"{AGENT}-document"
    container: Literal["lines", "document"] = "document"

    def score(self, head: str, path: str) -> float:  # noqa: ARG002 - content decides
        """Accept a list of events, or an event."""
        for at in ("[].", ""):
            if has(head, f"{at}source", f"{at}timestamp") and (
                has(head, f"{at}action") or has(head, f"{at}observation") or has(head, f"{at}kind")
            ):
                return FULL
        return 0.0

    def matches(self, path: Path) -> bool:
        """Accept JSON documents that may be trajectories."""
        return path.suffix == ".json" and path.parent.name in ("events", "trajectories")

    def parser(self, context: TranscriptContext) -> Parser:
        """Return a new parser."""
        return TrajectoryParser(context)


SOURCE = OpenHands()
DOCUMENT = OpenHandsDocument()
