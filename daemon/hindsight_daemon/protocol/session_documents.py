"""The documents about one agent session, for agents and other programs.

Public. No command prints them; each names its schema, such as `hindsight.session/1`.
"""

from __future__ import annotations

from typing import Any

from hindsight_daemon.protocol.document import Document


class SessionDocument(Document, kw_only=True):
    """hindsight.session/1: what is known of one agent session and the memories made of it."""

    session: dict[str, Any]
    memories: list[dict[str, Any]]
    schema: str = "hindsight.session/1"


class SummarizeResult(Document, kw_only=True):
    """hindsight.summarize/1: what a session came down to so far."""

    session: str
    episodes: int
    memories: list[dict[str, Any]]
    refused: int = 0
    schema: str = "hindsight.summarize/1"
